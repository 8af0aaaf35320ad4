import type { HashUnitName } from '../blocks/block-hasher.js';
import type { Matches } from '../blocks/prefix-index.js';
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
  /**
   * The same by holder, in any order, without an object for each of them; all
   * tiers up to `deepest` count. Undefined when nothing lies in that tier itself,
   * which then adds nothing to those above it. Valid until the next look-up.
   */
  match(sequenceHashes: Uint8Array, deepest: Tier): Matches | undefined;
  /** Another one whenever a holder is a rank that it was not before: `holdings` tells which it is. */
  readonly holdersVersion: number;
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
