import type { ZmqSource } from '../../../core/relay/rank-source.js';
import type { RankStatus } from '../../../core/relay/relay.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import { PublisherLink, type PublisherLinkOptions } from '../sockets/publisher-link.js';
import type { Frames, Sockets } from '../sockets/zmq-sockets.js';
import { readBatchMessage } from './batch-message.js';
import { HeldRank, type HeldRankModules } from './held-rank.js';
import type { RankReader, RankReaderListener } from './rank-reader.js';
import { RankRecovery } from './rank-recovery.js';
import { RankSchedule, type RankScheduleOptions } from './rank-schedule.js';
import type { ReplayLimits } from './replay-client.js';
import { digestOf, type Judgement } from './sequence-watch.js';
import type { StreamCounts } from './stream-counts.js';
import { WorkLoop } from './work-loop.js';

export interface ZmqRankReaderOptions extends ReplayLimits, PublisherLinkOptions, RankScheduleOptions {}

export interface ZmqRankReaderModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sockets: Sockets;
  readonly cache: HeldRankModules['cache'];
  readonly counts: StreamCounts;
  readonly listener: RankReaderListener;
  /** Runs one replay at a time for all ranks of an engine. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Reads one rank's publisher: every batch once and in order, gaps closed by
 * replay. What cannot be closed empties the cache, whose view is then partial
 * until the engine's own replay or a clear of all blocks makes it exact again:
 * late is allowed, wrong is not.
 */
export class ZmqRankReader implements RankReader {
  readonly #source: ZmqSource;
  readonly #modules: ZmqRankReaderModules;
  readonly #schedule: RankSchedule;
  readonly #held: HeldRank;
  readonly #recovery: RankRecovery;
  readonly #link: PublisherLink;
  readonly #closing = new AbortController();
  readonly #loop: WorkLoop;
  #done: Promise<void> | undefined;

  constructor(source: ZmqSource, options: ZmqRankReaderOptions, modules: ZmqRankReaderModules) {
    this.#source = source;
    this.#modules = modules;
    const { signal } = this.#closing;
    this.#link = new PublisherLink(source, options, modules, {
      onWork: () => this.#loop.wakeUp(),
      onUp: () => this.#onUp(),
      onDown: () => this.#onDown(),
      onLost: () => {
        this.#held.trust.onLost();
        this.#held.drop(`the connection to ${source.endpoint} is lost`);
      },
      onUnreadable: (reason) => {
        if (this.status.reason === reason) return;
        modules.logger.warn({ rank: source.rank }, `The KV events of a rank are not read: ${reason}.`);
        this.#held.drop(reason);
      },
    });
    this.#loop = new WorkLoop({
      clock: modules.clock,
      signal,
      next: () => this.#next(),
      onFault: (error) => this.#onFault(error),
    });
    this.#schedule = new RankSchedule(options, {
      clock: modules.clock,
      canReplay: () => this.#recovery.isPossible,
      mayCheck: () => this.#link.isUp && !this.#held.knowledge.isNone,
      wakeUp: () => this.#loop.wakeUp(),
    });
    const common = { ...modules, schedule: this.#schedule, rest: () => this.#loop.rest(), signal };
    this.#held = new HeldRank(source, { ...common, isUp: () => this.#link.isUp });
    this.#recovery = new RankRecovery(source, options, { ...common, held: this.#held });
  }

  get hasRestarted(): boolean {
    return this.#held.hasRestarted;
  }

  get status(): RankStatus {
    return this.#held.status;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  acceptInstance(): void {
    this.#held.acceptInstance();
  }

  startOver(reason: string): void {
    this.#held.acceptInstance();
    this.#held.forget(reason);
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
      { rank: this.#source.rank, error },
      'The KV events of a rank met a fault of this program: its cache view is rebuilt. Please report it.',
    );
    this.#held.drop('this program failed on its KV events; its log has the error');
    this.#schedule.requestRebuild();
  }

  /** Begins one piece of work; undefined when there is none. */
  #next(): Promise<unknown> | undefined {
    if (this.#link.isReopenDue) return this.#link.open();
    switch (this.#link.isUp ? this.#schedule.next : undefined) {
      case 'rebuild':
        return this.#recovery.rebuild();
      case 'heal':
        return this.#recovery.replayAll(true);
      case 'check':
        return this.#recovery.checkPublisher();
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
    this.#held.acceptInstance();
    this.#held.trust.onDown(this.#held.watch.last);
    listener.onStatus();
    listener.onPublisherDown();
  }

  #onUp(): void {
    const { knowledge, trust, watch } = this.#held;
    const { isPossible } = this.#recovery;
    const isReturn = trust.hasBeenUp;
    const isUnknown = watch.last === undefined;
    // The first batches may be read before their connection is reported.
    const isLate = !isReturn && isPossible;
    const isOld = isUnknown || isLate || trust.isLost || knowledge.isNone;
    // A number that is due proves nothing: where no engine can be asked, nothing that is held can be believed.
    if (isOld || (isReturn && !isPossible)) this.#schedule.requestRebuild();
    else if (isReturn) this.#schedule.requestCheck();
    trust.onUp();
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
      logger.debug({ rank: this.#source.rank, frames: frames.length }, message.reason);
    }
    await this.#loop.rest();
  }

  /** A live batch: applied when it follows, and after what is missing before it otherwise. */
  async #follow(sequence: number, payload: Uint8Array): Promise<void> {
    const { counts } = this.#modules;
    const { knowledge, trust, watch } = this.#held;
    const digest = digestOf(payload);
    const { changes } = trust;
    let judgement = watch.judge(sequence, digest);
    if (judgement === 'past') {
      // Older than all that can be compared: the engine's buffer shows whether it is the same publisher.
      const wasAnswered = this.#recovery.isPossible && (await this.#recovery.checkPublisher());
      // Where no replay can show it, what is held may be of a publisher that has gone.
      if (!wasAnswered && !this.#isClosed) this.#held.restarted();
      judgement = this.#judgeAfterReplay(sequence, digest);
    }
    if (judgement === 'restart') {
      this.#held.restarted();
      await this.#recovery.replayAll();
      judgement = this.#judgeAfterReplay(sequence, digest);
    }
    if (judgement === 'gap') {
      const outcome = await this.#recovery.closeGap();
      if (this.#isClosed) return;
      judgement = this.#judgeAfterReplay(sequence, digest);
      const isOpen = judgement === 'gap';
      if (outcome !== 'restarted') {
        counts.gaps[isOpen && outcome === 'replayed' ? 'replay_incomplete' : outcome] += 1;
      }
      if (isOpen) {
        this.#held.drop('batches of the engine were lost and could not be had again');
        if (outcome !== 'no_replay_endpoint') this.#schedule.healLater(false);
        judgement = 'first';
      }
    }
    if (judgement === 'duplicate' || judgement === 'past') {
      counts.duplicates += 1;
      return;
    }
    // It may be of the publisher before; what was missed is asked for.
    if (this.#isClosed || changes !== trust.changes) return;
    if (judgement === 'first') knowledge.beginWith(sequence);
    await this.#held.apply(sequence, digest, payload, true);
  }

  /**
   * A live batch that has waited while the engine was asked. When the engine
   * gave another one under its number, it is of the engine before that.
   */
  #judgeAfterReplay(sequence: number, digest: number): Judgement {
    const judgement = this.#held.watch.judge(sequence, digest);
    return judgement === 'restart' ? 'past' : judgement;
  }
}
