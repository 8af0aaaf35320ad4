import type { MemberOffer } from '../../../core/agreement/state/judgement.js';
import type { SplitServing } from '../../../core/contract/serving.js';

/** Parts of requests that a worker can compute, as bits. */
export const PARTS = {
  /** All of a request. */
  whole: 1,
  /** Its prompt, whose blocks another worker goes on from. */
  prefill: 2,
  /** What follows the prompt, from the blocks of another worker. */
  decode: 4,
  /** All of it, as a worker that does nothing else. */
  aggregated: 8,
} as const;

/** What a worker computes that has no part of its own. */
export const AGGREGATED_PARTS: number = PARTS.whole | PARTS.aggregated;

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
  /** What of a request it can compute, bits of `PARTS`. Default `AGGREGATED_PARTS`. */
  readonly parts?: number | undefined;
  /** How a part of a request is sent to it; absent for a worker that computes whole ones. */
  readonly split?: SplitServing | undefined;
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
