import type { Tier } from '../blocks/tier.js';
import type { CacheGroup } from '../contract/evidence/cache-groups.js';
import type { CacheView } from '../contract/wire/cache-view.js';

/** One change of what a data-parallel rank holds; a batch of the engine becomes several, in order. */
export type BlockChange =
  | {
      readonly type: 'stored';
      readonly tier: Tier;
      /** The event's own `block_size`; never worked out from tokens and hashes. */
      readonly tokensPerBlock: number;
      /** Packed little-endian u64, chained over blocks of this width. */
      readonly sequenceHashes: Uint8Array;
      /** `CacheGroup.index`; absent for the main group (see `mainGroupOf`). */
      readonly group?: number;
    }
  | {
      readonly type: 'removed';
      readonly tier: Tier;
      readonly sequenceHashes: Uint8Array;
      /** As in `stored`. */
      readonly group?: number;
    }
  /** Every block of the rank is gone, in all tiers. */
  | { readonly type: 'cleared' };

/** How much is known of one data-parallel rank, and why not more. */
export interface RankStatus {
  readonly rank: number;
  readonly picture: CacheView;
  /** The engine's sequence number before which nothing is known; absent when that is not why. */
  readonly unknownBeforeSequence?: number;
  /** The engine's own sequence number of the last batch in the cache view; absent before the first. */
  readonly engineSequence?: number;
  /** For an operator; empty when the cache view is exact. */
  readonly reason: string;
  /** Blocks in the cache view, all tiers. */
  readonly blockCount: number;
  /**
   * The KV cache groups that the events have shown, by index; absent while the rank has shown one group of full
   * attention alone. A change of them is sent before the first block that depends on it.
   */
  readonly cacheGroups?: readonly CacheGroup[];
  /**
   * True when nothing but a first batch is missing: nothing is known to be wrong, and an idle engine stays like this.
   * Not sent to readers.
   */
  readonly awaitsFirstBatch?: boolean;
}

/**
 * What is said of one worker's cache, in the order of `kv_events.proto`. The
 * same messages reach the index whether they crossed a wire or not. Applying
 * one twice changes nothing.
 */
export type RelayMessage =
  /** Unless `resumed`, all that is held of this worker is dropped, and a snapshot follows. */
  | {
      readonly type: 'start';
      readonly instanceId: string;
      readonly streamId: string;
      readonly resumed: boolean;
      readonly reason: string;
      readonly ranks: readonly RankStatus[];
      /** Of the blocks that follow, where they are re-hashed; absent where they are the engine's own. */
      readonly tokensPerBlock?: number;
    }
  | {
      readonly type: 'snapshot_part';
      readonly rank: number;
      readonly tier: Tier;
      readonly tokensPerBlock: number;
      readonly sequenceHashes: Uint8Array;
      /** `CacheGroup.index`; absent for the main group. */
      readonly group?: number;
    }
  /** The changes after `sequence` follow. */
  | { readonly type: 'snapshot_end'; readonly sequence: number }
  | {
      readonly type: 'changes';
      /** Of this stream; grows by one. An integer up to 2^53-1. */
      readonly sequence: number;
      readonly rank: number;
      readonly changes: readonly BlockChange[];
      /** Wall-clock milliseconds since 1970, as the engine reports them; absent when it does not. */
      readonly publishedAtMs?: number;
    }
  | { readonly type: 'rank_state'; readonly status: RankStatus };

/** Where a reader left off. */
export interface RelayPosition {
  readonly streamId: string;
  readonly sequence: number;
}

/**
 * One reader of a relay, with a cursor of its own and nothing buffered for it:
 * it pulls at its own pace, and one that falls behind the bounded history is
 * sent a reset.
 */
export interface RelayReader {
  /** The next message; undefined when there is none now. The first is always a `start`. */
  next(): RelayMessage | undefined;
  /** Ends it; nothing more follows. */
  close(): void;
}

/** Everything known about one worker's cache, for any number of readers. */
export interface Relay {
  /**
   * Opens a reader. `onReadable` is called when `next` has something again
   * after it had nothing; it must not throw.
   */
  open(position: RelayPosition | undefined, onReadable: () => void): RelayReader;
  /** Where each rank stands now, in the order of ranks. */
  readonly ranks: readonly RankStatus[];
}
