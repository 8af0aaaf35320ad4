import type { PairLookup } from '../../../core/pairs/pair-lookup.js';

/** What a choice asks of the pairs of one model; for every candidate of a decision. */
export type PairKnowledge = Pick<PairLookup, 'mayUse' | 'classOf' | 'millisecondsPerMebibyte'>;

/** Before anything is known: every pair may be used. */
export const EVERY_PAIR: PairKnowledge = {
  mayUse: () => true,
  classOf: () => 'unknown',
  millisecondsPerMebibyte: () => Number.NaN,
};
