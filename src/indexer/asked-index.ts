import type { HashUnitName } from '../blocks/block-hasher.js';
import type { Tier } from '../blocks/tier.js';
import type { Picture } from '../contract/picture.js';
import type { RankHolding, RankMatch } from './fleet-index.js';

/** The index of one group in one epoch, as those see it who ask. */
export interface AskedIndex {
  readonly epoch: number;
  readonly tokensPerBlock: number;
  readonly hashUnit: HashUnitName;
  /** Who holds how many leading blocks; packed little-endian u64, chained. Longest first. */
  find(sequenceHashes: Uint8Array): readonly RankMatch[];
  /** How much is known of what a rank holds. */
  pictureOfRank(target: string, rank: number): Picture;
  /** Every rank that holds something. */
  holdings(): readonly RankHolding[];
  /** See `FleetIndex.scan`. */
  scan(
    tier: Tier,
    cursor: number,
    max: number,
    visit: (low: number, high: number, holders: readonly number[]) => void,
  ): number | undefined;
  /** Learns where a request was sent; false where it learns from KV events alone. */
  record(target: string, rank: number, sequenceHashes: Uint8Array): boolean;
}

/** The indexes that there are: one for each group whose gate is open. */
export interface IndexDirectory {
  of(group: string): AskedIndex | undefined;
}
