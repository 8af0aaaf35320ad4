import type { PairLookup } from '../../../core/pairs/pair-lookup.js';

/** What a choice asks of the pairs of one model. */
export type PairKnowledge = Pick<
  PairLookup,
  'classOf' | 'decodeNumbersVersion' | 'decodeNumberOf' | 'linksOf'
>;
