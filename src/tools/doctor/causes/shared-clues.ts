import type { ClueAgainst, ClueFor } from '../confidence.js';
import { counted } from '../counted.js';
import { blindness, engineReuses, findsBlocks } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';

/** `82.0 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** A router that finds blocks speaks against whatever would blind it. */
export function workingRouter(measurements: Measurements): readonly ClueAgainst[] {
  const found = findsBlocks(measurements);
  return found === undefined
    ? []
    : [
        {
          says: `The router finds blocks: ${percent(found.share)} over ${counted(found.count, 'decision')}.`,
          origin: found.origin,
          weight: 'refutes',
        },
      ];
}

/** The router finds nothing, and the engines had it: the plainest outside sign that the router cannot see what is there. */
export function blindRouter(measurements: Measurements, weight: ClueFor['weight']): readonly ClueFor[] {
  const blind = blindness(measurements);
  if (blind === undefined) return [];
  const found: ClueFor = {
    says: `The router found no cached block in ${counted(blind.count, 'decision')}.`,
    origin: blind.origin,
    weight: 'sign',
    symptom: 'router_blind',
  };
  const reused = engineReuses(measurements);
  return reused === undefined
    ? [found]
    : [
        found,
        {
          says:
            reused.promptTokens === 0
              ? `Engines had up to ${percent(reused.share)} of prompts in their caches.`
              : `Engines had ${reused.cachedTokens} of ${reused.promptTokens} prompt tokens in their caches (${percent(reused.share)}): what the router looks for is there, and it cannot see it.`,
          origin: reused.origin,
          weight,
          symptom: 'router_blind',
        },
      ];
}

/** Share of stores whose parent the router did not know, by counters; undefined without any. */
export function missingShare({ stores }: Measurements): number | undefined {
  if (stores === undefined) return undefined;
  const all = stores.applied + stores.parentMissing;
  return all === 0 ? undefined : stores.parentMissing / all;
}

/** ` (the router goes by 16)`, where one number of it was seen. */
export function routersNumber({ sizes }: Measurements): string {
  const numbers = sizes.rows
    .filter(({ side, basis }) => side !== 'worker' && basis === 'in_use')
    .map(({ tokensPerBlock }) => tokensPerBlock);
  const [first] = numbers;
  return first !== undefined && numbers.every((number) => number === first)
    ? ` (the router goes by ${first})`
    : '';
}
