import type { Origin } from '../evidence.js';
import type { LogSummary, ModelTally } from '../logs/log-summary.js';
import { totalOf } from './measure.js';

/** A model of which a router that finds blocks of others finds none, although its engines have them. */
export interface BlindModel {
  readonly model: string;
  readonly decisions: number;
  /** Part of its prompt tokens that engines had cached, 0 to 1. */
  readonly reused: number;
  /** What was found of the other models, 0 to 1. */
  readonly others: number;
  readonly origin: Origin;
}

/** Fewer decisions without a block may be those of first prompts alone. */
const MANY_DECISIONS = 30;
/** Where less is found of the other models, it may be chance. */
const OTHERS_FIND = 0.2;
/** Where engines had less, there was little to find. */
const REUSED = 0.05;

/** Cards are those of a model: a wrong one blinds the router for that model alone. */
export function blindModelsOf(logs: readonly LogSummary[]): readonly BlindModel[] {
  return logs.flatMap(({ decisions: tally }) => {
    if (tally?.byModel === undefined) return [];
    const models = [...tally.byModel].filter(([model]) => model !== '');
    const blind = models.filter(([, one]) => isBlind(one));
    const others = models.filter(([, one]) => !isBlind(one)).map(([, one]) => one);
    const served = totalOf(others, ({ decisions }) => decisions);
    const found = totalOf(others, (one) => one.found) / Math.max(1, served);
    if (served < MANY_DECISIONS || found < OTHERS_FIND) return [];
    return blind.map(([model, { decisions, promptTokens, cachedTokens }]) => ({
      model,
      decisions,
      reused: cachedTokens / promptTokens,
      others: found,
      origin: tally.last,
    }));
  });
}

function isBlind({ decisions, found, promptTokens, cachedTokens }: ModelTally): boolean {
  return (
    decisions >= MANY_DECISIONS && found === 0 && promptTokens > 0 && cachedTokens >= promptTokens * REUSED
  );
}
