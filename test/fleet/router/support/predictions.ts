import type { Prediction } from '../../../../src/fleet/router/results/prediction.js';
import type { Decision } from '../../../../src/fleet/router/routing.js';
import { anyDecision } from '../../../support/any-decision.js';

/** What is predicted of `anyDecision`. */
export function makePrediction(
  sketch: Partial<Omit<Prediction, 'decision'>> & { readonly decision?: Partial<Decision> } = {},
): Prediction {
  const { decision: about, ...rest } = sketch;
  const decision = anyDecision(about);
  return {
    decision,
    deviceBlocks: decision.cachedBlocks,
    inFlightBlocks: 0,
    bestBlocks: decision.cachedBlocks,
    lostReason: undefined,
    view: 'exact',
    cacheUse: 'plain',
    ...rest,
  };
}
