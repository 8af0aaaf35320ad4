/** How much what lies where is worth. */
export interface CostWeights {
  /** `kv_overlap_score_weight`: what computing a block of the prompt costs against holding one. Not negative; default 1. */
  readonly overlapScoreWeight: number;
  /** What of a block's computing a copy in the host's memory saves, 0 to 1; default 0.75. */
  readonly hostCacheHitWeight: number;
  /** The same of a copy on disk; default 0.25. */
  readonly diskCacheHitWeight: number;
}

/** Those of Dynamo's KV router. */
export const DEFAULT_COST_WEIGHTS: CostWeights = {
  overlapScoreWeight: 1,
  hostCacheHitWeight: 0.75,
  diskCacheHitWeight: 0.25,
};

/** Blocks that need not be computed, of those on the device, with the host, and with a disk as well. Shared storage is not credited: what fetching from there costs is not known. */
export function overlapCredit(
  deviceBlocks: number,
  hostBlocks: number,
  diskBlocks: number,
  weights: CostWeights,
): number {
  return (
    deviceBlocks +
    weights.hostCacheHitWeight * (hostBlocks - deviceBlocks) +
    weights.diskCacheHitWeight * (diskBlocks - hostBlocks)
  );
}

/** Blocks of a prompt that would have to be computed, a part of one counted as such; never below 0. */
export function potentialPrefillBlocks(
  tokenCount: number,
  overlapBlocks: number,
  tokensPerBlock: number,
): number {
  return Math.max(0, tokenCount - overlapBlocks * tokensPerBlock) / tokensPerBlock;
}

/** What a choice costs, in blocks; lower is better. */
export function logitOf(
  overlapScoreWeight: number,
  prefillBlocks: number,
  potentialActiveBlocks: number,
): number {
  return overlapScoreWeight * prefillBlocks + potentialActiveBlocks;
}
