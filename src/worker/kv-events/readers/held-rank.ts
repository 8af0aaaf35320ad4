import type { ZmqSource } from '../../../core/relay/rank-source.js';
import type { RankStatus } from '../../../core/relay/relay.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { AppliedBatch, RankCache } from '../cache/rank-cache.js';
import { BatchWriter } from './batch-writer.js';
import { PublisherTrust } from './publisher-trust.js';
import { RankKnowledge } from './rank-knowledge.js';
import type { RankReaderListener } from './rank-reader.js';
import type { RankSchedule } from './rank-schedule.js';
import { SequenceWatch } from './sequence-watch.js';
import type { StreamCounts } from './stream-counts.js';

export interface HeldRankModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: Pick<
    RankCache,
    'applyInSteps' | 'clear' | 'size' | 'flaw' | 'approximation' | 'cacheGroups'
  >;
  readonly counts: StreamCounts;
  readonly listener: RankReaderListener;
  readonly schedule: RankSchedule;
  /** Whether the connection to the publisher stands. */
  readonly isUp: () => boolean;
  /** Lets others work when there was much to do. */
  readonly rest: () => Promise<void>;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** Milliseconds between two lines of the log about restarts of publishers. */
const RESTART_LOG_EVERY_MS = 10_000;

/**
 * What is held of one rank: its cache, up to which batch, and how sure it is that the engine holds the same. What cannot be
 * believed is dropped: late is allowed, wrong is not.
 */
export class HeldRank {
  /** Which batch comes next. */
  readonly watch: SequenceWatch = new SequenceWatch();
  /** What the batches alone say. */
  readonly knowledge: RankKnowledge;
  /** Whether they are surely of the publisher that is connected. */
  readonly trust: PublisherTrust;
  readonly #source: ZmqSource;
  readonly #modules: HeldRankModules;
  readonly #writer: BatchWriter;
  #appliedSequence: number | undefined;
  #hasRestarted = false;
  #restartLoggedAtMs = Number.NEGATIVE_INFINITY;
  #hasLoggedRank = false;

  constructor(source: ZmqSource, modules: HeldRankModules) {
    this.#source = source;
    this.#modules = modules;
    this.knowledge = new RankKnowledge(`no connection to ${source.endpoint} yet`);
    this.trust = new PublisherTrust(source.endpoint);
    this.#writer = new BatchWriter(modules);
  }

  /** The publisher was restarted, and nobody has heard of it yet. */
  get hasRestarted(): boolean {
    return this.#hasRestarted;
  }

  acceptInstance(): void {
    this.#hasRestarted = false;
  }

  /** Why the engine may hold something else than was read; undefined where nothing says so. */
  get doubt(): string | undefined {
    return this.trust.doubt(this.#modules.isUp());
  }

  get status(): RankStatus {
    const { cache } = this.#modules;
    return {
      rank: this.#source.rank,
      ...this.knowledge.describe(this.doubt, this.#writer.flaw, cache.approximation),
      ...(this.#appliedSequence === undefined ? {} : { engineSequence: this.#appliedSequence }),
      blockCount: cache.size,
      ...(cache.cacheGroups.length === 0 ? {} : { cacheGroups: cache.cacheGroups }),
    };
  }

  /** Writes a batch into the cache, and gives readers what it changes. `isLive`: the publisher sent it by itself. */
  apply(sequence: number, digest: number, payload: Uint8Array, isLive: boolean): Promise<void> {
    const { clock, counts } = this.#modules;
    return this.#writer.write(payload, (applied) => {
      this.watch.accept(sequence, digest);
      counts.batches += 1;
      counts.bytes += payload.length;
      if (!isLive) counts.replayedBatches += 1;
      else if (applied.publishedAtMs !== undefined) counts.countLag(clock.wallMs() - applied.publishedAtMs);
      this.#publish(sequence, applied, isLive);
    });
  }

  /** The batch is in the cache: readers get it. */
  #publish(sequence: number, applied: AppliedBatch, isLive: boolean): void {
    const { listener, logger, schedule } = this.#modules;
    const { rank } = this.#source;
    // All that the publisher stored is known from its first batch on.
    if (sequence === 0) this.knowledge.beginWith(0);
    this.#appliedSequence = sequence;
    if (applied.problem !== undefined) {
      logger.debug({ rank, sequence }, `A batch of KV events could not be read in full: ${applied.problem}.`);
    }
    if (applied.rank !== undefined && applied.rank !== rank) this.#logRank(applied.rank);
    const isCleared = applied.changes.some(({ type }) => type === 'cleared');
    if (isCleared && applied.isRepeated !== true) this.knowledge.complete();
    if (applied.orphans > 0) {
      this.knowledge.orphaned();
      if (isLive && this.knowledge.isWhole) schedule.healLater(true);
    }
    listener.onApplied(applied);
    this.#writer.published();
    listener.onStatus();
  }

  #logRank(named: number): void {
    if (this.#hasLoggedRank) return;
    this.#hasLoggedRank = true;
    const { endpoint, rank } = this.#source;
    this.#modules.logger.warn(
      { rank, named_rank: named },
      `The batches of ${endpoint} name rank ${named}; they count as those of rank ${rank}.`,
    );
  }

  /** The publisher proved to be the same and gave what was missed, unless the connection changed meanwhile. */
  confirm(changes: number): void {
    if (this.trust.confirm(changes)) this.#modules.listener.onStatus();
  }

  /** Batches may have been missed, and could not be asked for. */
  suspect(reason: string): void {
    const { listener, schedule } = this.#modules;
    this.trust.suspect(reason);
    listener.onStatus();
    schedule.auditSoon();
  }

  /** The sequence numbers of the publisher stand for other batches. */
  restarted(): void {
    const { clock, counts, isUp, listener, logger } = this.#modules;
    const { endpoint, rank } = this.#source;
    counts.publisherRestarts += 1;
    // What is left over of a connection that is lost says nothing about the publisher that comes back.
    this.#hasRestarted = isUp();
    const nowMs = clock.monotonicMs();
    // Two publishers at one address would be logged as restarts without end.
    const level = nowMs - this.#restartLoggedAtMs < RESTART_LOG_EVERY_MS ? 'debug' : 'info';
    if (level === 'info') this.#restartLoggedAtMs = nowMs;
    logger[level](
      { rank },
      `The publisher of ${endpoint} restarted: its sequence numbers stand for other batches.`,
    );
    this.forget('the engine was restarted');
    listener.onPublisherRestart();
  }

  /** Drops all, with what is known of the publisher. */
  forget(reason: string): void {
    this.#modules.schedule.forgetHeals();
    this.watch.forgetPublisher();
    this.drop(reason);
  }

  /** Empties the cache, and its readers' view of it. */
  drop(reason: string): void {
    const { cache, listener, schedule } = this.#modules;
    const hadSomething = this.#appliedSequence !== undefined || cache.size > 0;
    this.#writer.drop();
    this.watch.forgetPlace();
    this.#appliedSequence = undefined;
    // What is built next may be of the publisher before, as long as the one that came has not been asked.
    this.trust.drop(schedule.isCheckDue);
    this.knowledge.drop(reason);
    if (hadSomething) listener.onDropped(reason);
    listener.onStatus();
  }
}
