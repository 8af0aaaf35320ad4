import { type Matches, PrefixIndexError, type VisitBlock } from '../../../core/blocks/prefix-index.js';
import type { Tier } from '../../../core/blocks/tier.js';
import type { CacheView } from '../../../core/contract/wire/cache-view.js';
import type { BlockChange, RankStatus, RelayMessage, RelayPosition } from '../../../core/relay/relay.js';
import type { AskedPrompt, RemovalListener } from './asked-index.js';
import type { EventType, IndexTally } from './index-tally.js';
import { groupFlaw, type Rank, type ReasonedCacheView } from './known-rank.js';
import { cacheViewOfWorker, cacheViewOfWorkerRank, type KnownWorker } from './known-worker.js';
import { holderOf, RankHolders } from './rank-holders.js';
import { type Churn, MAX_RANKS, type RankHolding, type RankMatch } from './rank-match.js';
import { isOtherMain, type ReportedHits, rankRules } from './rank-rules.js';

/**
 * Blocks that one worker may hold, over all its ranks and tiers: 16 million
 * tokens a GiB of nothing but hashes, far beyond any cache, and the bound of
 * what a hostile sidecar can make this process keep.
 */
const MAX_BLOCKS_PER_WORKER = 64 * 1024 * 1024;

export interface FleetIndexOptions {
  /** The epoch's; stores of another width are never applied (V3). */
  readonly tokensPerBlock: number;
  /** Bound of the whole index in memory; default that of `PrefixIndex`. */
  readonly maxBytes?: number;
  /** Default 64 Mi. */
  readonly maxBlocksPerWorker?: number;
}

export interface FleetIndexModules {
  readonly tally: IndexTally;
  /** V3: one more store of `tokensPerBlock` came, and was not applied. */
  onOtherWidth(target: string, instanceId: string, tokensPerBlock: number): void;
  /** Some of what a worker reported was not applied: its cache view is another one. */
  onRefused(target: string): void;
  /** Entries of a worker that has gone wait for `sweep`. */
  onSweepDue(): void;
}

/**
 * Which blocks each worker of one group holds, in one epoch (G2): the messages of
 * its workers' relays, applied to one prefix index. Each rank of each worker is a
 * holder of it.
 */
export class FleetIndex {
  readonly tokensPerBlock: number;
  readonly #maxBlocksPerWorker: number;
  readonly #modules: FleetIndexModules;
  readonly #workers = new Map<string, KnownWorker>();
  readonly #holders: RankHolders;
  /** What reports say of hits, by target. */
  readonly #reported = new Map<string, ReportedHits>();
  /** Workers of whose events only the width counts. */
  readonly #watched = new Set<string>();
  /** Is called with what leaves a device. */
  #removals: RemovalListener | undefined;

  constructor(options: FleetIndexOptions, modules: FleetIndexModules) {
    this.tokensPerBlock = options.tokensPerBlock;
    this.#maxBlocksPerWorker = options.maxBlocksPerWorker ?? MAX_BLOCKS_PER_WORKER;
    this.#modules = modules;
    this.#holders = new RankHolders(options, { workers: this.#workers });
  }

  /** Different blocks that any rank holds. */
  get blocks(): number {
    return this.#holders.blocks;
  }

  get memoryBytes(): number {
    return this.#holders.memoryBytes;
  }

  /** See `GroupIndex`. */
  get churn(): Churn {
    return this.#holders.churn;
  }

  /** See `GroupIndex`. */
  churnOf(target: string): Churn | undefined {
    return this.#workers.get(target);
  }

  /** See `AskedIndex`. */
  get holdersVersion(): number {
    return this.#holders.version;
  }

  /** See `AskedIndex`. */
  get otherWidths(): readonly number[] {
    return this.#holders.otherWidths;
  }

  /** What a worker's report says of how its engine finds hits; undefined when it says nothing. */
  setReported(target: string, reported: ReportedHits | undefined): void {
    if (reported === undefined) this.#reported.delete(target);
    else this.#reported.set(target, reported);
    const worker = this.#workers.get(target);
    if (worker !== undefined) for (const rank of worker.ranks.values()) this.#setRules(worker, rank);
  }

  /** See `AskedIndex`. */
  watchRemovals(listener: RemovalListener | undefined): void {
    this.#removals = listener;
  }

  /** Where the stream of a worker can go on; undefined when it has to begin again. */
  positionOf(target: string): RelayPosition | undefined {
    const worker = this.#workers.get(target);
    if (worker?.sequence === undefined) return undefined;
    return { streamId: worker.streamId, sequence: worker.sequence };
  }

  /** The instance whose entries are held; undefined when nothing is. */
  instanceOf(target: string): string | undefined {
    return this.#workers.get(target)?.instanceId;
  }

  /** How much is known of what a worker holds, as long as its stream stands. */
  cacheViewOf(target: string): ReasonedCacheView {
    return cacheViewOfWorker(this.#workers.get(target));
  }

  /** The cache view of one rank. */
  cacheViewOfRank(target: string, rank: number): CacheView {
    return cacheViewOfWorkerRank(this.#workers.get(target), rank);
  }

  /**
   * Applies a message of a worker's relay. Returns what is wrong when the message does
   * not fit to what came before: nothing of it was applied then, and the relay has
   * to begin again.
   */
  apply(target: string, message: RelayMessage): string | undefined {
    if (message.type === 'start') return this.#start(target, message);
    const worker = this.#workers.get(target);
    if (worker === undefined) return `a ${message.type} came before any start`;
    switch (message.type) {
      case 'snapshot_part':
        if (worker.sequence !== undefined) return 'a snapshot_part came outside a snapshot';
        return this.#changeRank(worker, message.rank, (rank) =>
          this.#store(worker, rank, 'snapshot', message),
        );
      case 'snapshot_end':
        if (worker.sequence !== undefined) return 'a snapshot_end came outside a snapshot';
        worker.sequence = message.sequence;
        return undefined;
      case 'changes':
        return this.#change(worker, message);
      case 'rank_state':
        return this.#changeRank(worker, message.status.rank, (rank) =>
          this.#setStatus(worker, rank, message.status),
        );
    }
  }

  /**
   * A7: whether the events of a worker that differs are only looked at. Their
   * widths are counted (V3), and nothing of them is applied. Not to be changed
   * while something is held of it.
   */
  watchOnly(target: string, isWatched: boolean): void {
    if (isWatched) this.#watched.add(target);
    else this.#watched.delete(target);
  }

  /** What is known of the worker's stream is not trusted any more: it begins again. Entries stay until then. */
  distrust(target: string): void {
    const worker = this.#workers.get(target);
    if (worker !== undefined) worker.sequence = undefined;
  }

  /** Drops all that is held of a worker, and nothing else. */
  forget(target: string): void {
    const worker = this.#workers.get(target);
    if (worker === undefined) return;
    this.#workers.delete(target);
    for (const rank of worker.ranks.values()) this.#drop(worker, rank);
  }

  /** Takes a slice of what those left behind who have gone; true while there is more. */
  sweep(): boolean {
    return this.#holders.sweep();
  }

  /** See `AskedIndex`. */
  find(prompt: AskedPrompt): RankMatch[] {
    return this.#holders.find(prompt);
  }

  /** See `AskedIndex`. */
  match(prompt: AskedPrompt, deepest: Tier): Matches | undefined {
    return this.#holders.match(prompt, deepest);
  }

  /** See `AskedIndex`. */
  holdings(): RankHolding[] {
    return this.#holders.holdings();
  }

  /** See `AskedIndex`. */
  scan(tier: Tier, cursor: number, max: number, visit: VisitBlock): number | undefined {
    return this.#holders.scan(tier, cursor, max, visit);
  }

  #start(target: string, message: RelayMessage & { type: 'start' }): string | undefined {
    if (message.ranks.length > MAX_RANKS) return tooManyRanks(message.ranks.length);
    const held = this.#workers.get(target);
    if (message.resumed) {
      if (held?.sequence === undefined || held.streamId !== message.streamId)
        return 'it resumes a stream that was not asked for';
      held.instanceId = message.instanceId;
    } else this.forget(target);
    const worker: KnownWorker = message.resumed
      ? (held as KnownWorker)
      : {
          target,
          instanceId: message.instanceId,
          streamId: message.streamId,
          startReason: message.reason,
          sequence: undefined,
          ranks: new Map(),
          blocks: 0,
          stored: 0,
          removed: 0,
          refusal: '',
        };
    this.#workers.set(target, worker);
    for (const status of message.ranks) this.#setStatus(worker, this.#rankOf(worker, status.rank), status);
    return undefined;
  }

  #change(worker: KnownWorker, message: RelayMessage & { type: 'changes' }): string | undefined {
    if (worker.sequence === undefined) return 'changes came before the end of the snapshot';
    // Reported again: it is applied already, and blocks may have gone since.
    if (message.sequence <= worker.sequence) return undefined;
    if (message.sequence !== worker.sequence + 1)
      return `changes ${worker.sequence + 1} to ${message.sequence - 1} are missing`;
    const problem = this.#changeRank(worker, message.rank, (rank) => {
      for (const change of message.changes) this.#changeBlocks(worker, rank, change);
    });
    if (problem === undefined) worker.sequence = message.sequence;
    return problem;
  }

  #changeRank(worker: KnownWorker, number: number, apply: (rank: Rank) => void): string | undefined {
    if (!worker.ranks.has(number) && worker.ranks.size >= MAX_RANKS) return tooManyRanks(MAX_RANKS + 1);
    apply(this.#rankOf(worker, number));
    return undefined;
  }

  #setStatus(worker: KnownWorker, rank: Rank, status: RankStatus): void {
    // What it holds has other names from now on; all of it comes again.
    if (isOtherMain(rank.status?.cacheGroups, status.cacheGroups)) this.#drop(worker, rank);
    rank.status = status;
    this.#setRules(worker, rank);
  }

  /** Takes what is known of the rank's groups now. */
  #setRules(worker: KnownWorker, rank: Rank): void {
    rank.rules = rankRules(rank.status?.cacheGroups, this.#reported.get(worker.target), this.tokensPerBlock);
    this.#holders.setHybrid(rank);
  }

  #changeBlocks(worker: KnownWorker, rank: Rank, change: BlockChange): void {
    switch (change.type) {
      case 'stored':
        this.#store(worker, rank, 'stored', change);
        return;
      case 'removed':
        this.#remove(worker, rank, change);
        return;
      case 'cleared':
        this.#removals?.(worker.target, rank.rank, undefined);
        this.#drop(worker, rank);
        this.#modules.tally.countEvent('cleared', 'applied');
        return;
    }
  }

  #store(
    worker: KnownWorker,
    rank: Rank,
    type: EventType,
    stored: Omit<BlockChange & { type: 'stored' }, 'type'>,
  ): void {
    const { tally } = this.#modules;
    const { tokensPerBlock, sequenceHashes, group } = stored;
    const isWatched = this.#watched.has(worker.target);
    // What it held before was counted when it came.
    if (isWatched && type === 'snapshot') return;
    if (group === undefined && tokensPerBlock !== this.tokensPerBlock) {
      tally.countEvent(type, 'other_width');
      const epochs = this.tokensPerBlock;
      this.#refuse(
        worker,
        `its KV events are ${tokensPerBlock} tokens wide, the epoch's ${epochs}: they are not applied`,
      );
      this.#modules.onOtherWidth(worker.target, worker.instanceId, tokensPerBlock);
      return;
    }
    if (isWatched) {
      tally.countEvent(type, 'dissenting');
      return;
    }
    if (worker.blocks + sequenceHashes.length / 8 > this.#maxBlocksPerWorker) {
      tally.countEvent(type, 'no_room');
      const most = this.#maxBlocksPerWorker;
      this.#refuse(worker, `it reports more than ${most} blocks: further ones are not applied`);
      return;
    }
    const flaw = group === undefined ? '' : groupFlaw(rank, group, tokensPerBlock);
    if (flaw !== '') {
      tally.countEvent(type, 'other_width');
      this.#refuse(worker, flaw);
      return;
    }
    try {
      this.#holders.store(worker, rank, stored);
      tally.countEvent(type, 'applied');
    } catch (error) {
      if (!(error instanceof PrefixIndexError)) throw error;
      // A part of them may have found room: what a worker holds is credited, and what is missing is said.
      this.#holders.recount(worker);
      tally.countEvent(type, 'no_room');
      this.#refuse(worker, `the index is full (${error.message}): some of its blocks are missing`);
    }
  }

  #remove(worker: KnownWorker, rank: Rank, removed: BlockChange & { type: 'removed' }): void {
    const { tally } = this.#modules;
    const { tier, sequenceHashes, group } = removed;
    const holder = holderOf(rank, group);
    if (holder === undefined) {
      tally.countEvent('removed', 'applied');
      return;
    }
    if (tier === 'device') this.#removals?.(worker.target, rank.rank, sequenceHashes);
    try {
      this.#holders.remove(worker, holder, removed);
      tally.countEvent('removed', 'applied');
    } catch (error) {
      if (!(error instanceof PrefixIndexError)) throw error;
      // No rank is credited with what is gone: rather the rank is known of no more.
      this.#holders.recount(worker);
      this.#drop(worker, rank);
      tally.countEvent('removed', 'no_room');
      this.#refuse(
        worker,
        `the index is full (${error.message}): all of rank ${rank.rank} had to be left out`,
      );
    }
  }

  #refuse(worker: KnownWorker, reason: string): void {
    if (worker.refusal === reason) return;
    worker.refusal = reason;
    this.#modules.onRefused(worker.target);
  }

  #rankOf(worker: KnownWorker, number: number): Rank {
    let rank = worker.ranks.get(number);
    if (rank === undefined) {
      rank = {
        rank: number,
        holder: undefined,
        groupHolders: new Map(),
        rules: undefined,
        status: undefined,
      };
      worker.ranks.set(number, rank);
      this.#setRules(worker, rank);
    }
    return rank;
  }

  #drop(worker: KnownWorker, rank: Rank): void {
    if (this.#holders.drop(worker, rank)) this.#modules.onSweepDue();
  }
}

function tooManyRanks(count: number): string {
  return `it has ${count} ranks or more, at most ${MAX_RANKS} are taken`;
}
