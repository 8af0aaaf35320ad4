import { linkCodeOf, NO_LINK } from '../../../../src/core/pairs/pair-links.js';
import type { PairClass } from '../../../../src/core/pairs/pair-words.js';
import type { PairKnowledge } from '../../../../src/fleet/router/pairs/pair-knowledge.js';

/** What a test says of each pair. Default: it may be used, and nothing else is known. */
export interface PairSayings {
  readonly mayUse?: (prefill: string, decode: string) => boolean;
  readonly classOf?: (prefill: string, decode: string) => PairClass;
  readonly millisecondsPerMebibyte?: (prefill: string, decode: string) => number;
}

/** Pairs of which all is known that a test says. */
export function knownPairs(
  targets: readonly string[],
  {
    mayUse = () => true,
    classOf = () => 'unknown',
    millisecondsPerMebibyte = () => Number.NaN,
  }: PairSayings = {},
): PairKnowledge {
  return {
    classOf,
    decodeNumbersVersion: 1,
    decodeNumberOf: (target) => (targets.includes(target) ? targets.indexOf(target) : undefined),
    linksOf: (prefill) => ({
      classes: Uint8Array.from(targets, (decode) =>
        mayUse(prefill, decode) ? linkCodeOf(classOf(prefill, decode)) : NO_LINK,
      ),
      millisecondsPerMebibyte: Float64Array.from(targets, (decode) =>
        millisecondsPerMebibyte(prefill, decode),
      ),
    }),
  };
}
