import { NOTHING_PUBLISHED } from '../../../core/contract/cache-view.js';
import type { ZmqSource } from '../../../core/relay/rank-source.js';
import type { RankStatus } from '../../../core/relay/relay.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import { readBatchMessage } from './batch-message.js';
import { BatchWriter } from './batch-writer.js';
import { EngineReplays } from './engine-replays.js';
import { PublisherLink, type PublisherLinkOptions } from '../sockets/publisher-link.js';
import { PublisherTrust } from './publisher-trust.js';
import type { AppliedBatch, RankCache } from '../cache/rank-cache.js';
import { RankKnowledge } from './rank-knowledge.js';
import type { RankReader, RankReaderListener } from './rank-reader.js';
import { RankSchedule, type RankScheduleOptions } from './rank-schedule.js';
import type { ReplayLimits } from './replay-client.js';
import { digestOf, type Judgement, SequenceWatch } from './sequence-watch.js';
import type { GapOutcome, StreamCounts } from './stream-counts.js';
import { WorkLoop } from './work-loop.js';
import type { Frames, Sockets } from '../sockets/zmq-sockets.js';

export interface ZmqRankReaderOptions extends ReplayLimits, PublisherLinkOptions, RankScheduleOptions {}

export interface ZmqRankReaderModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sockets: Sockets;
  readonly cache: Pick<
    RankCache,
    'applyInSteps' | 'clear' | 'size' | 'flaw' | 'approximation' | 'cacheGroups'
  >;
  readonly counts: StreamCounts;
  readonly listener: RankReaderListener;
  /** Runs one replay at a time for all ranks of an engine. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Milliseconds between two lines of the log about restarts of publishers. */
const RESTART_LOG_EVERY_MS = 10_000;

const TOO_OLD = 'the engine does not keep the batches that were lost any more';

/**
 * Reads one rank's publisher: every batch once and in order, gaps closed by
 * replay. What cannot be closed empties the cache, whose view is then partial
 * until the engine's own replay or a clear of all blocks makes it exact again:
 * late is allowed, wrong is not.
 */
export class ZmqRankReader implements RankReader {
  readonly #source: ZmqSource;
  readonly #modules: ZmqRankReaderModules;
  readonly #watch = new SequenceWatch();
  readonly #knowledge: RankKnowledge;
  readonly #trust: PublisherTrust;
  readonly #schedule: RankSchedule;
  readonly #writer: BatchWriter;
  readonly #link: PublisherLink;
  readonly #replays: EngineReplays;
  readonly #closing = new AbortController();
  readonly #loop: WorkLoop;
  #done: Promise<void> | undefined;
  #appliedSequence: number | undefined;
  #hasRestarted = false;
  #restartLoggedAtMs = Number.NEGATIVE_INFINITY;
  #hasLoggedRank = false;

  constructor(source: ZmqSource, options: ZmqRankReaderOptions, modules: ZmqRankReaderModules) {
    this.#source = source;
    this.#modules = modules;
    this.#knowledge = new RankKnowledge(`no connection to ${source.endpoint} yet`);
    this.#trust = new PublisherTrust(source.endpoint);
    this.#link = new PublisherLink(source, options, modules, {
      onWork: () => this.#loop.wakeUp(),
      onUp: () => this.#onUp(),
      onDown: () => this.#onDown(),
      onLost: () => {
        this.#trust.onLost();
        this.#drop(`the connection to ${source.endpoint} is lost`);
      },
      onUnreadable: (reason) => {
        if (this.status.reason === reason) return;
        modules.logger.warn({ rank: this.#rank }, `The KV events of a rank are not read: ${reason}.`);
        this.#drop(reason);
      },
    });
    const { signal } = this.#closing;
    this.#loop = new WorkLoop({
      clock: modules.clock,
      signal,
      next: () => this.#next(),
      onFault: (error) => this.#onFault(error),
    });
    const common = { ...modules, rest: () => this.#loop.rest(), signal };
    this.#writer = new BatchWriter(common);
    this.#replays = new EngineReplays(
      source,
      options,
      { ...common, watch: this.#watch },
      {
        knownFrom: () => this.#knowledge.knownFrom,
        apply: (sequence, digest, payload) => this.#apply(sequence, digest, payload, false),
        begin: () => {
          this.#knowledge.building(true);
          this.#drop('the cache view is rebuilt from the batches that the engine keeps');
          this.#knowledge.drop('');
          this.#watch.rewind();
        },
        beginWith: (sequence) => this.#knowledge.beginWith(sequence),
        onNothingPublished: (isProved) => {
          this.#watch.acceptNone();
          if (isProved) this.#knowledge.complete();
          else this.#knowledge.awaitFirstBatch(NOTHING_PUBLISHED);
        },
        onRestart: () => this.#onRestart(),
        isDoubted: () => this.#doubt !== undefined,
      },
    );
    this.#schedule = new RankSchedule(options, {
      clock: modules.clock,
      canReplay: () => this.#replays.isPossible,
      mayCheck: () => this.#link.isUp && !this.#knowledge.isNone,
      wakeUp: () => this.#loop.wakeUp(),
    });
  }

  get #rank(): number {
    return this.#source.rank;
  }

  get hasRestarted(): boolean {
    return this.#hasRestarted;
  }

  get status(): RankStatus {
    const { cache } = this.#modules;
    return {
      rank: this.#rank,
      ...this.#knowledge.describe(this.#doubt, this.#writer.flaw, cache.approximation),
      ...(this.#appliedSequence === undefined ? {} : { engineSequence: this.#appliedSequence }),
      blockCount: cache.size,
      ...(cache.cacheGroups.length === 0 ? {} : { cacheGroups: cache.cacheGroups }),
    };
  }

  /** Why the engine may hold something else than was read. */
  get #doubt(): string | undefined {
    return this.#trust.doubt(this.#link.isUp);
  }

  start(): void {
    this.#done ??= this.#run();
  }

  acceptInstance(): void {
    this.#hasRestarted = false;
  }

  startOver(reason: string): void {
    this.#hasRestarted = false;
    this.#schedule.forgetHeals();
    this.#watch.forgetPublisher();
    this.#drop(reason);
    this.#schedule.requestRebuild();
    this.#loop.wakeUp();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#schedule.close();
    await this.#link.close();
    this.#loop.wakeUp();
    await this.#done;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #run(): Promise<void> {
    await this.#link.open();
    await this.#loop.run();
  }

  /** What an engine sends ends no process: the cache view is rebuilt. */
  #onFault(error: unknown): void {
    const { counts, logger } = this.#modules;
    counts.refused.fault += 1;
    logger.error(
      { rank: this.#rank, error },
      'The KV events of a rank met a fault of this program: its cache view is rebuilt. Please report it.',
    );
    this.#drop('this program failed on its KV events; its log has the error');
    this.#schedule.requestRebuild();
  }

  /** Begins one piece of work; undefined when there is none. */
  #next(): Promise<unknown> | undefined {
    if (this.#link.isReopenDue) return this.#link.open();
    switch (this.#link.isUp ? this.#schedule.next : undefined) {
      case 'rebuild':
        return this.#rebuild();
      case 'heal':
        return this.#replayAll(true);
      case 'check':
        return this.#checkPublisher();
      case undefined: {
        const frames = this.#link.take();
        return frames === undefined ? undefined : this.#take(frames);
      }
    }
  }

  #onDown(): void {
    const { counts, listener } = this.#modules;
    counts.disconnects += 1;
    // The publisher that comes back may be another one again.
    this.#hasRestarted = false;
    this.#trust.onDown(this.#watch.last);
    listener.onStatus();
    listener.onPublisherDown();
  }

  #onUp(): void {
    const isReturn = this.#trust.hasBeenUp;
    const isUnknown = this.#watch.last === undefined;
    // The first batches may be read before their connection is reported.
    const isLate = !isReturn && this.#replays.isPossible;
    const isOld = isUnknown || isLate || this.#trust.isLost || this.#knowledge.isNone;
    // A number that is due proves nothing: where no engine can be asked, nothing that is held can be believed.
    if (isOld || (isReturn && !this.#replays.isPossible)) this.#schedule.requestRebuild();
    else if (isReturn) this.#schedule.requestCheck();
    this.#trust.onUp();
    this.#modules.listener.onStatus();
    this.#schedule.auditSoon();
    this.#loop.wakeUp();
  }

  /** One message of the publisher. */
  async #take(frames: Frames): Promise<void> {
    const message = readBatchMessage(frames);
    if (message.type === 'batch') await this.#follow(message.sequence, message.payload);
    else {
      const { counts, logger } = this.#modules;
      counts.refused[message.cause] += 1;
      logger.debug({ rank: this.#rank, frames: frames.length }, message.reason);
    }
    await this.#loop.rest();
  }

  /** A live batch: applied when it follows, and after what is missing before it otherwise. */
  async #follow(sequence: number, payload: Uint8Array): Promise<void> {
    const { counts } = this.#modules;
    const digest = digestOf(payload);
    const { changes } = this.#trust;
    let judgement = this.#watch.judge(sequence, digest);
    if (judgement === 'past') {
      // Older than all that can be compared: the engine's buffer shows whether it is the same publisher.
      const wasAnswered = this.#replays.isPossible && (await this.#checkPublisher());
      // Where no replay can show it, what is held may be of a publisher that has gone.
      if (!wasAnswered && !this.#isClosed) this.#onRestart();
      judgement = this.#judgeAfterReplay(sequence, digest);
    }
    if (judgement === 'restart') {
      this.#onRestart();
      await this.#replayAll();
      judgement = this.#judgeAfterReplay(sequence, digest);
    }
    if (judgement === 'gap') {
      const outcome = await this.#closeGap();
      if (this.#isClosed) return;
      judgement = this.#judgeAfterReplay(sequence, digest);
      const isOpen = judgement === 'gap';
      if (outcome !== 'restarted') {
        counts.gaps[isOpen && outcome === 'replayed' ? 'replay_incomplete' : outcome] += 1;
      }
      if (isOpen) {
        this.#drop('batches of the engine were lost and could not be had again');
        if (outcome !== 'no_replay_endpoint') this.#schedule.healLater(false);
        judgement = 'first';
      }
    }
    if (judgement === 'duplicate' || judgement === 'past') {
      counts.duplicates += 1;
      return;
    }
    // It may be of the publisher before; what was missed is asked for.
    if (this.#isClosed || changes !== this.#trust.changes) return;
    if (judgement === 'first') this.#knowledge.beginWith(sequence);
    await this.#apply(sequence, digest, payload, true);
  }

  /**
   * A live batch that has waited while the engine was asked. When the engine
   * gave another one under its number, it is of the engine before that.
   */
  #judgeAfterReplay(sequence: number, digest: number): Judgement {
    const judgement = this.#watch.judge(sequence, digest);
    return judgement === 'restart' ? 'past' : judgement;
  }

  /** Asks for what is missing before a live batch. */
  async #closeGap(): Promise<GapOutcome | 'restarted'> {
    if (!this.#replays.isPossible) return 'no_replay_endpoint';
    const { changes } = this.#trust;
    const result = await this.#replays.catchUp(this.#trust.anchor);
    if (result.outcome === 'failed') return result.failure;
    if (result.outcome === 'caught_up') {
      this.#confirm(changes);
      return 'replayed';
    }
    if (result.outcome === 'restarted') this.#onRestart();
    else this.#drop(TOO_OLD);
    await this.#replayAll();
    return result.outcome === 'lost' ? 'replay_incomplete' : 'restarted';
  }

  /**
   * After a connection came back, and now and then: is it the same publisher,
   * and did it publish more than was read? False when the engine gave no answer.
   */
  async #checkPublisher(): Promise<boolean> {
    this.#schedule.beginCheck();
    const { counts } = this.#modules;
    const before = this.#watch.last;
    if (before === undefined || !this.#watch.isPlaced) return this.#replayAll();
    const { changes } = this.#trust;
    const result = await this.#replays.catchUp(this.#trust.anchor);
    if (this.#isClosed) return false;
    if (result.outcome === 'failed') {
      // Live batches come first; one that does not follow asks for what is missing by itself.
      this.#schedule.beginCheck();
      // A check that finds no publisher proves nothing; after an interruption it leaves the question open.
      if (this.#trust.suspicion !== undefined) this.#suspect(result.reason);
      return false;
    }
    if (result.outcome === 'caught_up') {
      this.#confirm(changes);
      if (this.#watch.last !== before) counts.gaps.replayed += 1;
      return true;
    }
    if (result.outcome === 'restarted') this.#onRestart();
    else {
      counts.gaps.replay_incomplete += 1;
      this.#drop(TOO_OLD);
    }
    await this.#replayAll();
    return true;
  }

  /** Builds the cache view from the oldest batch that the engine keeps, or from the next one. */
  async #rebuild(): Promise<void> {
    if (this.#replays.isPossible) {
      await this.#replayAll();
      return;
    }
    this.#schedule.beginRebuild();
    const { interruption, suspicion } = this.#trust;
    const reason = `${suspicion === undefined ? '' : `${interruption}, and `}the source has no replay endpoint`;
    this.#drop(reason);
    this.#knowledge.awaitFirstBatch(reason);
    this.#modules.listener.onStatus();
  }

  /** False when the engine gave no answer from which the cache view could be built. */
  async #replayAll(isHeal = false): Promise<boolean> {
    if (!this.#replays.isPossible) return false;
    this.#schedule.beginRebuild();
    const { changes } = this.#trust;
    const result = await this.#replays.rebuild(isHeal);
    if (this.#isClosed) return false;
    const wasBegun = this.#knowledge.isBuilding;
    this.#knowledge.building(false);
    if (result.outcome !== 'failed') {
      if (!wasBegun) return true;
      this.#modules.counts.rebuilds += 1;
      this.#confirm(changes);
      return true;
    }
    if (this.#knowledge.isNone) {
      this.#knowledge.limit(result.reason);
      this.#modules.listener.onStatus();
    } else if (wasBegun) {
      // It ended in the middle: what came after is asked for again.
      this.#suspect(result.reason);
    }
    this.#schedule.healLater(false);
    return false;
  }

  /** The publisher proved to be the same and gave what was missed, unless the connection changed meanwhile. */
  #confirm(changes: number): void {
    if (this.#trust.confirm(changes)) this.#modules.listener.onStatus();
  }

  /** Batches may have been missed, and could not be asked for. */
  #suspect(reason: string): void {
    this.#trust.suspect(reason);
    this.#modules.listener.onStatus();
    this.#schedule.auditSoon();
  }

  #apply(sequence: number, digest: number, payload: Uint8Array, isLive: boolean): Promise<void> {
    const { clock, counts } = this.#modules;
    return this.#writer.write(payload, (applied) => {
      this.#watch.accept(sequence, digest);
      counts.batches += 1;
      counts.bytes += payload.length;
      if (!isLive) counts.replayedBatches += 1;
      else if (applied.publishedAtMs !== undefined) counts.countLag(clock.wallMs() - applied.publishedAtMs);
      this.#publish(sequence, applied, isLive);
    });
  }

  /** The batch is in the cache: readers get it. */
  #publish(sequence: number, applied: AppliedBatch, isLive: boolean): void {
    const { listener, logger } = this.#modules;
    // All that the publisher stored is known from its first batch on.
    if (sequence === 0) this.#knowledge.beginWith(0);
    this.#appliedSequence = sequence;
    if (applied.problem !== undefined) {
      logger.debug(
        { rank: this.#rank, sequence },
        `A batch of KV events could not be read in full: ${applied.problem}.`,
      );
    }
    if (applied.rank !== undefined && applied.rank !== this.#rank) this.#logRank(applied.rank);
    const isCleared = applied.changes.some(({ type }) => type === 'cleared');
    if (isCleared && applied.isRepeated !== true) this.#knowledge.complete();
    if (applied.orphans > 0) {
      this.#knowledge.orphaned();
      if (isLive && this.#knowledge.isWhole) this.#schedule.healLater(true);
    }
    listener.onApplied(applied);
    this.#writer.published();
    listener.onStatus();
  }

  #logRank(named: number): void {
    if (this.#hasLoggedRank) return;
    this.#hasLoggedRank = true;
    this.#modules.logger.warn(
      { rank: this.#rank, named_rank: named },
      `The batches of ${this.#source.endpoint} name rank ${named}; they count as those of rank ${this.#rank}.`,
    );
  }

  #onRestart(): void {
    const { clock, counts, listener, logger } = this.#modules;
    counts.publisherRestarts += 1;
    // What is left over of a connection that is lost says nothing about the publisher that comes back.
    this.#hasRestarted = this.#link.isUp;
    this.#schedule.forgetHeals();
    this.#watch.forgetPublisher();
    const nowMs = clock.monotonicMs();
    // Two publishers at one address would be logged as restarts without end.
    const level = nowMs - this.#restartLoggedAtMs < RESTART_LOG_EVERY_MS ? 'debug' : 'info';
    if (level === 'info') this.#restartLoggedAtMs = nowMs;
    logger[level](
      { rank: this.#rank },
      `The publisher of ${this.#source.endpoint} restarted: its sequence numbers stand for other batches.`,
    );
    this.#drop('the engine was restarted');
    listener.onPublisherRestart();
  }

  #drop(reason: string): void {
    const { cache, listener } = this.#modules;
    const hadSomething = this.#appliedSequence !== undefined || cache.size > 0;
    this.#writer.drop();
    this.#watch.forgetPlace();
    this.#appliedSequence = undefined;
    // What is built next may be of the publisher before, as long as the one that came has not been asked.
    this.#trust.drop(this.#schedule.isCheckDue);
    this.#knowledge.drop(reason);
    if (hadSomething) listener.onDropped(reason);
    listener.onStatus();
  }
}
