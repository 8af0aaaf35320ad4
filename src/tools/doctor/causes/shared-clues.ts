import { counted } from '../counted.js';
import { blindness, engineReuses, findsBlocks, type Picture } from '../picture.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';

/** `82.0 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** A router that finds blocks speaks against whatever would blind it. */
export function workingRouter(picture: Picture): readonly ClueAgainst[] {
  const found = findsBlocks(picture);
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
export function blindRouter(picture: Picture, weight: ClueFor['weight']): readonly ClueFor[] {
  const blind = blindness(picture);
  if (blind === undefined) return [];
  const found: ClueFor = {
    says: `The router found no cached block in ${counted(blind.count, 'decision')}.`,
    origin: blind.origin,
    weight: 'sign',
    symptom: 'router_blind',
  };
  const reused = engineReuses(picture);
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
export function missingShare({ stores }: Picture): number | undefined {
  if (stores === undefined) return undefined;
  const all = stores.applied + stores.parentMissing;
  return all === 0 ? undefined : stores.parentMissing / all;
}

/** ` (the router goes by 16)`, where one number of it was seen. */
export function routersNumber({ sizes }: Picture): string {
  const numbers = sizes.rows
    .filter(({ side, basis }) => side !== 'worker' && basis === 'in_use')
    .map(({ tokensPerBlock }) => tokensPerBlock);
  const [first] = numbers;
  return first !== undefined && numbers.every((number) => number === first)
    ? ` (the router goes by ${first})`
    : '';
}
