import { TIERS } from '../../../core/blocks/tier.js';

/** Data-parallel ranks that one worker may have: four times the largest deployment that is known. */
export const MAX_RANKS = 1_024;

/** Leading blocks of a prompt that one rank of one worker holds. */
export interface RankMatch {
  readonly target: string;
  readonly rank: number;
  /** By tier, in the order of `TIERS`; each counts those above it as well. */
  readonly blocks: readonly number[];
}

/** One rank of one worker, and what it holds in one KV cache group. */
export interface RankHolding {
  readonly holder: number;
  readonly target: string;
  readonly rank: number;
  /** `CacheGroup.index`; absent for the main group, by whose blocks prompts are found. */
  readonly cacheGroup?: number;
  /** By tier, in the order of `TIERS`. */
  readonly blocks: readonly number[];
}

/** How many blocks were stored and removed: how fast a cache grows, and how fast its blocks are replaced. */
export interface Churn {
  readonly stored: number;
  readonly removed: number;
}

/** The longest match first, all tiers together, then the nearest; then by name, so that answers do not jump. */
export function byLength(a: RankMatch, b: RankMatch): number {
  const all = TIERS.length - 1;
  const longer = (b.blocks[all] ?? 0) - (a.blocks[all] ?? 0);
  if (longer !== 0) return longer;
  for (const [tier, blocks] of a.blocks.entries()) {
    const nearer = (b.blocks[tier] ?? 0) - blocks;
    if (nearer !== 0) return nearer;
  }
  return a.target === b.target ? a.rank - b.rank : a.target < b.target ? -1 : 1;
}
