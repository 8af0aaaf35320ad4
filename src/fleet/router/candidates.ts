import type { MemberOffer } from '../../core/agreement/judgement.js';

/** One rank of one worker that may be chosen. */
export interface Candidate {
  readonly target: string;
  readonly workerId: string;
  readonly instanceId: string;
  readonly rank: number;
  /** How many ranks the worker has. */
  readonly rankCount: number;
  /** `load_only`: nothing is expected of its cache (A6, A7). */
  readonly offer: Exclude<MemberOffer, 'none'>;
}

/**
 * What a choice would cost on one candidate:
 * `logit = overlapScoreWeight * potentialPrefillBlocks + potentialActiveBlocks`, lower is better.
 */
export interface CandidateCost {
  readonly candidate: Candidate;
  readonly logit: number;
  readonly overlapScoreWeight: number;
  readonly potentialPrefillBlocks: number;
  readonly potentialActiveBlocks: number;
  /** Leading blocks that it holds, by tier in the order of `TIERS`; each counts those above it as well. */
  readonly cachedBlocks: readonly number[];
  /** The chance to be chosen. */
  readonly probability: number;
}
