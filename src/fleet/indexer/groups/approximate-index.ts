import type { MemberView } from '../../../core/agreement/view/snapshot.js';
import type { HashUnitName } from '../../../core/blocks/block-hasher.js';
import {
  type Matches,
  PrefixIndex,
  PrefixIndexError,
  type VisitBlock,
} from '../../../core/blocks/prefix-index.js';
import { TIERS, type Tier } from '../../../core/blocks/tier.js';
import type { CacheView } from '../../../core/contract/wire/cache-view.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import type { AskedPrompt } from '../index/asked-index.js';
import { byLength, type Churn, MAX_RANKS, type RankHolding, type RankMatch } from '../index/rank-match.js';
import { ExpiryQueue } from './expiry-queue.js';
import type { GroupIndex } from './group-index.js';
import type { QueuedTask, WorkQueue } from './work-queue.js';
import type { FollowerStateName } from './worker-follower.js';

/** How long guesses are believed and how many are kept; the settings' defaults are those of Dynamo's KV router. */
export interface ApproximateOptions {
  /** A block that was last sent to a worker so long ago is not expected there any more. */
  readonly ttlMs: number;
  /** (block, rank) pairs that are kept. */
  readonly maxBlocks: number;
  /** When there are more, the oldest go until this part of `maxBlocks` is left. Above 0, at most 1. */
  readonly pruneTargetRatio: number;
}

interface ApproximateIndexOptions extends ApproximateOptions {
  readonly epoch: number;
  readonly tokensPerBlock: number;
  readonly hashUnit: HashUnitName;
}

const NO_CHURN: Churn = { stored: 0, removed: 0 };

/** Hashes that are recorded between two looks at the bound. */
const PIECE_HASHES = 4_096;

const SWEEP_SEGMENTS = 8;

/**
 * `--no-kv-events`: guesses which worker holds what from where requests were
 * sent. What was not sent anywhere for the time to live is taken for evicted,
 * and the oldest go when there are too many.
 */
export class ApproximateIndex implements GroupIndex {
  readonly epoch: number;
  readonly tokensPerBlock: number;
  readonly hashUnit: HashUnitName;
  readonly followerStates: readonly FollowerStateName[] = [];
  /** What was sent somewhere is known, and nothing of KV cache groups. */
  readonly otherWidths: readonly number[] = [];
  readonly #options: ApproximateOptions;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #index = new PrefixIndex();
  readonly #expiries = new ExpiryQueue();
  /** By target, then by rank. */
  readonly #holders = new Map<string, Map<number, number>>();
  readonly #names = new Map<number, { readonly target: string; readonly rank: number }>();
  #holdersVersion = 0;
  readonly #sweeping: QueuedTask = { step: () => !this.#index.sweep(SWEEP_SEGMENTS) };
  readonly #one = new Uint32Array(2);
  #timer: Timer | undefined;

  constructor(
    options: ApproximateIndexOptions,
    modules: { readonly clock: Clock; readonly queue: WorkQueue },
  ) {
    this.epoch = options.epoch;
    this.tokensPerBlock = options.tokensPerBlock;
    this.hashUnit = options.hashUnit;
    this.#options = options;
    this.#clock = modules.clock;
    this.#queue = modules.queue;
  }

  get blocks(): number {
    return this.#index.blocks;
  }

  get memoryBytes(): number {
    return this.#index.memoryBytes;
  }

  setMembers(members: readonly MemberView[]): void {
    const offered = new Set(members.flatMap(({ target, offer }) => (offer === 'full' ? [target] : [])));
    for (const target of [...this.#holders.keys()]) if (!offered.has(target)) this.forget(target);
  }

  setSource(): void {
    // Nothing is read from any worker.
  }

  forget(target: string): void {
    const ranks = this.#holders.get(target);
    if (ranks === undefined) return;
    this.#holders.delete(target);
    this.#holdersVersion += 1;
    for (const holder of ranks.values()) {
      this.#expiries.dropHolder(holder);
      this.#names.delete(holder);
      this.#index.dropHolder(holder);
    }
    this.#queue.add(this.#sweeping);
  }

  find({ sequenceHashes }: AskedPrompt): readonly RankMatch[] {
    this.#expire();
    const { count, holders, depths } = this.#index.find(sequenceHashes, 'device');
    const matches: RankMatch[] = [];
    for (let at = 0; at < count; at += 1) {
      const name = this.#names.get(holders[at] ?? 0);
      const depth = depths[at] ?? 0;
      if (name !== undefined) matches.push({ ...name, blocks: TIERS.map(() => depth) });
    }
    return matches.sort(byLength);
  }

  match({ sequenceHashes }: AskedPrompt, deepest: Tier): Matches | undefined {
    if (deepest !== 'device') return undefined;
    this.#expire();
    return this.#index.find(sequenceHashes, deepest);
  }

  get holdersVersion(): number {
    return this.#holdersVersion;
  }

  /** A guess is no knowledge. */
  cacheViewOfRank(): CacheView {
    return 'none';
  }

  /** Nothing is stored by events here, and what is expected somewhere expires. */
  get churn(): Churn {
    return NO_CHURN;
  }

  churnOf(): undefined {
    return undefined;
  }

  holdings(): readonly RankHolding[] {
    return [...this.#names].map(([holder, name]) => ({
      holder,
      ...name,
      blocks: TIERS.map((tier) => this.#index.blocksOf(holder, tier)),
    }));
  }

  scan(tier: Tier, cursor: number, max: number, visit: VisitBlock): number | undefined {
    return this.#index.scan(tier, cursor, max, visit);
  }

  record(target: string, rank: number, sequenceHashes: Uint8Array): boolean {
    this.#expire();
    const holder = this.#holderOf(target, rank);
    if (holder === undefined) return false;
    const atMs = this.#clock.monotonicMs() + this.#options.ttlMs;
    const view = new DataView(sequenceHashes.buffer, sequenceHashes.byteOffset, sequenceHashes.length);
    for (let from = 0; from < sequenceHashes.length; from += 8 * PIECE_HASHES) {
      const piece = sequenceHashes.subarray(from, from + 8 * PIECE_HASHES);
      try {
        this.#index.store(holder, 'device', piece);
      } catch (error) {
        if (!(error instanceof PrefixIndexError)) throw error;
        this.#prune();
        return false;
      }
      for (let at = from; at < from + piece.length; at += 8) {
        this.#expiries.touch(holder, view.getUint32(at, true), view.getUint32(at + 4, true), atMs);
      }
      if (this.#expiries.size > this.#options.maxBlocks) this.#prune();
    }
    this.#setTimer();
    return true;
  }

  close(): void {
    this.#timer?.clear();
    this.#timer = undefined;
    this.#queue.delete(this.#sweeping);
  }

  /** Undefined when there is no room for another. */
  #holderOf(target: string, rank: number): number | undefined {
    const ranks = this.#holders.get(target) ?? new Map<number, number>();
    const known = ranks.get(rank);
    if (known !== undefined) return known;
    if (ranks.size >= MAX_RANKS) return undefined;
    try {
      const holder = this.#index.addHolder();
      ranks.set(rank, holder);
      this.#holders.set(target, ranks);
      this.#names.set(holder, { target, rank });
      this.#holdersVersion += 1;
      return holder;
    } catch (error) {
      if (!(error instanceof PrefixIndexError)) throw error;
      return undefined;
    }
  }

  #expire(): void {
    const nowMs = this.#clock.monotonicMs();
    for (
      let oldest = this.#expiries.oldest;
      oldest !== undefined && oldest.atMs <= nowMs;
      oldest = this.#expiries.oldest
    ) {
      this.#dropOldest();
    }
  }

  #prune(): void {
    const target = Math.floor(this.#options.maxBlocks * this.#options.pruneTargetRatio);
    while (this.#expiries.size > target) this.#dropOldest();
  }

  #dropOldest(): void {
    const { oldest } = this.#expiries;
    if (oldest === undefined) return;
    this.#expiries.dropOldest();
    this.#one[0] = oldest.low;
    this.#one[1] = oldest.high;
    try {
      this.#index.remove(oldest.holder, 'device', new Uint8Array(this.#one.buffer));
    } catch (error) {
      if (!(error instanceof PrefixIndexError)) throw error;
      // No room even to note that one is gone: of that rank nothing is guessed any more.
      const name = this.#names.get(oldest.holder);
      if (name !== undefined) this.forget(name.target);
    }
  }

  /** One timer, for the oldest: memory comes back also when no request asks. */
  #setTimer(): void {
    const { oldest } = this.#expiries;
    if (this.#timer !== undefined || oldest === undefined) return;
    this.#timer = this.#clock.setTimer(oldest.atMs - this.#clock.monotonicMs(), () => {
      this.#timer = undefined;
      this.#expire();
      this.#setTimer();
    });
  }
}
