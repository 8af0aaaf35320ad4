import type { HashUnitName } from '../../../core/blocks/block-hasher.js';
import type { Matches, VisitBlock } from '../../../core/blocks/prefix-index.js';
import type { Tier } from '../../../core/blocks/tier.js';
import type { CacheView } from '../../../core/contract/wire/cache-view.js';
import type { RankHolding, RankMatch } from './rank-match.js';

/** A prompt as an index is asked. */
export interface AskedPrompt {
  /** Of its whole blocks of the index's width, packed little-endian u64, chained; read during the call alone. */
  readonly sequenceHashes: Uint8Array;
  readonly tokenCount: number;
  /** The same of blocks of other widths; a group whose width is missing here is taken to hold nothing. */
  readonly otherWidths?: ReadonlyMap<number, Uint8Array>;
  /** It came in hashes: tokens may follow its last whole block. */
  readonly isOpenEnded?: boolean;
  /** It is the beginning of a prompt of which nothing more is known, not even its length. */
  readonly isPrefix?: boolean | undefined;
}

/** Is called with blocks that leave the device of a rank, packed little-endian u64; undefined: all of them. */
export type RemovalListener = (target: string, rank: number, sequenceHashes: Uint8Array | undefined) => void;

/** The index of one group in one epoch, as those see it who ask. */
export interface AskedIndex {
  readonly epoch: number;
  readonly tokensPerBlock: number;
  readonly hashUnit: HashUnitName;
  /** Block widths besides `tokensPerBlock` that prompts have to be hashed for; empty unless a hybrid model is served. */
  readonly otherWidths: readonly number[];
  /** Who holds how many leading blocks that its engine would find. Longest first. */
  find(prompt: AskedPrompt): readonly RankMatch[];
  /**
   * The same by holder, in any order, without an object for each of them; all
   * tiers up to `deepest` count. Undefined when nothing lies in that tier itself,
   * which then adds nothing to those above it. Valid until the next look-up.
   */
  match(prompt: AskedPrompt, deepest: Tier): Matches | undefined;
  /** Another one whenever a holder is a rank that it was not before: `holdings` says which it is. */
  readonly holdersVersion: number;
  /** How much is known of what a rank holds. */
  cacheViewOfRank(target: string, rank: number): CacheView;
  /** Every rank that holds something, and its KV cache groups by themselves. */
  holdings(): readonly RankHolding[];
  /** See `RankHolders.scan`. */
  scan(tier: Tier, cursor: number, max: number, visit: VisitBlock): number | undefined;
  /** One listener may hear of what is evicted; absent where nothing is followed. */
  watchRemovals?(listener: RemovalListener | undefined): void;
  /** Learns where a request was sent; false where it learns from KV events alone. */
  record(target: string, rank: number, sequenceHashes: Uint8Array): boolean;
}

/** The indexes that there are: one for each group whose gate is open. */
export interface IndexDirectory {
  of(group: string): AskedIndex | undefined;
}
