import { NOTHING_PUBLISHED } from '../../core/contract/cache-view.js';
import type { ZmqSource } from '../../core/relay/rank-source.js';
import type { RankStatus } from '../../core/relay/relay.js';
import { type Clock, sleep, type Timer } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { EngineReplays } from './engine-replays.js';
import { PublisherLink, type PublisherLinkOptions } from './publisher-link.js';
import type { AppliedBatch, RankCache } from './rank-cache.js';
import { RankKnowledge } from './rank-knowledge.js';
import type { RankReader, RankReaderListener } from './rank-reader.js';
import type { ReplayLimits } from './replay-client.js';
import { digestOf, type Judgement, readSequence, SequenceWatch } from './sequence-watch.js';
import type { GapOutcome, StreamCounts } from './stream-counts.js';
import type { Frames, Sockets } from './zmq-sockets.js';

export interface ZmqRankReaderOptions extends ReplayLimits, PublisherLinkOptions {
  /**
   * Milliseconds between two looks at the replay socket for batches that were
   * lost at the end, after which nothing came. Default 30,000.
   */
  readonly auditIntervalMs?: number;
  /** Milliseconds until the first such look, when a connection is new. Default 1,000. */
  readonly firstAuditMs?: number;
  /**
   * Least milliseconds between two attempts to build a picture anew that lacks
   * something. Default 30,000, doubled with each attempt up to 32 times that.
   */
  readonly healIntervalMs?: number;
}

export interface ZmqRankReaderModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sockets: Sockets;
  readonly picture: Pick<
    RankCache,
    'applyInSteps' | 'clear' | 'size' | 'flaw' | 'approximation' | 'cacheGroups'
  >;
  readonly counts: StreamCounts;
  readonly listener: RankReaderListener;
  /** Runs one replay at a time for all ranks of an engine. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

const AUDIT_INTERVAL_MS = 30_000;
const FIRST_AUDIT_MS = 1_000;
const HEAL_INTERVAL_MS = 30_000;
const MAX_HEAL_DOUBLINGS = 5;

/** Milliseconds between two lines of the log that tell of a restart. */
const RESTART_TOLD_EVERY_MS = 10_000;

/** Milliseconds between a fault of this program and the next attempt. */
const RECOVERY_MS = 1_000;

/** Milliseconds of work after which others get their turn. */
const WORK_SLICE_MS = 5;

/** What is left of a batch of which nothing counts. */
const NOTHING_APPLIED: AppliedBatch = { changes: [], orphans: 0 };

/** A publisher that was never heard gives no batch. Its first one proves which it is. */

const TOO_OLD = 'the engine does not keep the batches that were lost any more';

/**
 * Follows one rank's publisher: every batch once and in order, gaps closed by
 * replay. What cannot be closed empties the picture, which is then partial
 * until the engine's own replay or a clear of all blocks makes it exact again:
 * late is allowed, wrong is not.
 */
export class ZmqRankReader implements RankReader {
  readonly #source: ZmqSource;
  readonly #options: ZmqRankReaderOptions;
  readonly #modules: ZmqRankReaderModules;
  readonly #watch = new SequenceWatch();
  readonly #standing: RankKnowledge;
  readonly #link: PublisherLink;
  readonly #replays: EngineReplays;
  readonly #closing = new AbortController();
  #done: Promise<void> | undefined;
  #onWork: (() => void) | undefined;
  #appliedSequence: number | undefined;
  #hadLink = false;
  /** How often the connection came or went. */
  #linkChanges = 0;
  #wasLost = false;
  /** The last batch at the moment at which the connection was lost: surely of the old publisher. */
  #anchor: number | undefined;
  #isCheckDue = false;
  #isRebuildDue = false;
  #isHealDue = false;
  /** Why batches may have been missed, or be of another engine start, until a replay proves otherwise. */
  #suspicion: string | undefined;
  #healAtMs = 0;
  #heals = 0;
  #hasRestarted = false;
  #restartToldAtMs = Number.NEGATIVE_INFINITY;
  #hasToldRank = false;
  #busySinceMs = 0;
  /** How often the picture was dropped: what is being applied is of the picture before then. */
  #drops = 0;
  /** What spoke against the picture before the batch that is being applied: readers have nothing of that batch yet. */
  #flawBefore: string | undefined;
  #auditTimer: Timer | undefined;
  /** When `#auditTimer` fires, by the monotonic clock. */
  #auditAtMs = 0;
  #healTimer: Timer | undefined;

  constructor(source: ZmqSource, options: ZmqRankReaderOptions, modules: ZmqRankReaderModules) {
    this.#source = source;
    this.#options = options;
    this.#modules = modules;
    this.#standing = new RankKnowledge(`no connection to ${source.endpoint} yet`);
    this.#link = new PublisherLink(source, options, modules, {
      onWork: () => this.#wakeUp(),
      onUp: () => this.#onUp(),
      onDown: () => this.#onDown(),
      onLost: () => {
        this.#wasLost = true;
        this.#drop(`the connection to ${source.endpoint} is lost`);
      },
      onUnreadable: (reason) => {
        if (this.status.reason === reason) return;
        modules.logger.warn({ rank: this.#rank }, `The KV events of a rank are not read: ${reason}.`);
        this.#drop(reason);
      },
    });
    const replayModules = {
      ...modules,
      watch: this.#watch,
      rest: () => this.#rest(),
      signal: this.#closing.signal,
    };
    this.#replays = new EngineReplays(source, options, replayModules, {
      knownFrom: () => this.#standing.knownFrom,
      apply: (sequence, digest, payload) => this.#apply(sequence, digest, payload, false),
      begin: () => {
        this.#standing.building(true);
        this.#drop('the picture is built anew from the batches that the engine keeps');
        this.#standing.drop('');
        this.#watch.rewind();
      },
      beginWith: (sequence) => this.#standing.beginWith(sequence),
      onNothingPublished: (isProved) => {
        this.#watch.acceptNone();
        if (isProved) this.#standing.complete();
        else this.#standing.awaitFirstBatch(NOTHING_PUBLISHED);
      },
      onRestart: () => this.#onRestart(),
      isDoubted: () => this.#doubt !== undefined,
    });
  }

  get #rank(): number {
    return this.#source.rank;
  }

  get hasRestarted(): boolean {
    return this.#hasRestarted;
  }

  get status(): RankStatus {
    const { picture } = this.#modules;
    return {
      rank: this.#rank,
      ...this.#standing.describe(this.#doubt, this.#flawBefore ?? picture.flaw, picture.approximation),
      ...(this.#appliedSequence === undefined ? {} : { engineSequence: this.#appliedSequence }),
      blockCount: picture.size,
      ...(picture.cacheGroups.length === 0 ? {} : { cacheGroups: picture.cacheGroups }),
    };
  }

  /** Why the engine may hold something else than is in the picture: from the moment in which the connection breaks. */
  get #doubt(): string | undefined {
    const isBroken = this.#hadLink && !this.#link.isUp;
    return isBroken ? `the connection to ${this.#source.endpoint} is interrupted` : this.#suspicion;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  acceptInstance(): void {
    this.#hasRestarted = false;
  }

  beginAnew(reason: string): void {
    this.#hasRestarted = false;
    this.#heals = 0;
    this.#watch.forgetPublisher();
    this.#drop(reason);
    this.#isRebuildDue = true;
    this.#wakeUp();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#auditTimer?.clear();
    this.#healTimer?.clear();
    await this.#link.close();
    this.#wakeUp();
    await this.#done;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #run(): Promise<void> {
    await this.#link.open();
    this.#busySinceMs = this.#modules.clock.monotonicMs();
    while (!this.#isClosed) {
      try {
        await this.#step();
      } catch (error) {
        await this.#recover(error);
      }
    }
  }

  /** What an engine sends ends no process: the picture is built anew, after a pause, so that a fault that stays costs little. */
  async #recover(error: unknown): Promise<void> {
    const { clock, counts, logger } = this.#modules;
    counts.refused.fault += 1;
    logger.error(
      { rank: this.#rank, error },
      'The KV events of a rank met a fault of this program: its picture is built anew. Please report it.',
    );
    this.#drop('this program failed on its KV events; its log has the error');
    this.#isRebuildDue = true;
    await sleep(clock, RECOVERY_MS, this.#closing.signal);
  }

  /** One piece of work; waits when there is none. */
  async #step(): Promise<void> {
    const { isUp } = this.#link;
    if (this.#link.isReopenDue) return this.#link.open();
    if (isUp && this.#isRebuildDue) return this.#rebuild();
    if (isUp && (this.#isHealDue || this.#isCheckDue)) {
      await (this.#isHealDue ? this.#replayAll(true) : this.#checkPublisher());
      return;
    }
    const frames = this.#link.take();
    if (frames !== undefined) {
      await this.#take(frames);
      return this.#rest();
    }
    await new Promise<void>((resolve) => {
      this.#onWork = resolve;
      if (this.#isClosed) resolve();
    });
    this.#onWork = undefined;
    this.#busySinceMs = this.#modules.clock.monotonicMs();
  }

  #wakeUp(): void {
    this.#onWork?.();
  }

  /** Lets others work when this feed did for a while. */
  async #rest(): Promise<void> {
    const { clock } = this.#modules;
    if (clock.monotonicMs() - this.#busySinceMs < WORK_SLICE_MS) return;
    await sleep(clock, 0, this.#closing.signal);
    this.#busySinceMs = clock.monotonicMs();
  }

  #onDown(): void {
    const { counts, listener } = this.#modules;
    counts.disconnects += 1;
    this.#linkChanges += 1;
    // Whoever comes back may be another one again.
    this.#hasRestarted = false;
    this.#anchor ??= this.#watch.last;
    listener.onStatus();
    listener.onPublisherDown();
  }

  #onUp(): void {
    this.#linkChanges += 1;
    const isUnknown = this.#watch.last === undefined;
    // The first batches may be read before their connection is told.
    const isLate = !this.#hadLink && this.#replays.isPossible;
    const isOld = isUnknown || isLate || this.#wasLost || this.#standing.isNone;
    // A number that is due proves nothing: where nobody can be asked, nothing that is held can be believed.
    if (isOld || (this.#hadLink && !this.#replays.isPossible)) this.#isRebuildDue = true;
    else if (this.#hadLink) this.#isCheckDue = true;
    if (this.#hadLink) this.#suspicion ??= this.#interrupted;
    this.#hadLink = true;
    this.#wasLost = false;
    this.#modules.listener.onStatus();
    this.#auditSoon(this.#options.firstAuditMs ?? FIRST_AUDIT_MS);
    this.#wakeUp();
  }

  /** One message of the publisher. */
  async #take(frames: Frames): Promise<void> {
    const { counts, logger } = this.#modules;
    const [, number, payload] = frames;
    if (frames.length !== 3 || number === undefined || payload === undefined) {
      counts.refused.frame_count += 1;
      logger.debug(
        { rank: this.#rank, frames: frames.length },
        'A message of a publisher is no batch of KV events.',
      );
      return;
    }
    const sequence = readSequence(number);
    if (sequence === undefined) {
      counts.refused.sequence += 1;
      logger.debug(
        { rank: this.#rank },
        'A batch of KV events has no sequence number that can be counted with.',
      );
      return;
    }
    await this.#follow(sequence, payload);
  }

  /** A live batch: applied when it follows, and after what is missing before it otherwise. */
  async #follow(sequence: number, payload: Uint8Array): Promise<void> {
    const { counts } = this.#modules;
    const digest = digestOf(payload);
    const linkChanges = this.#linkChanges;
    let judgement = this.#watch.judge(sequence, digest);
    if (judgement === 'past') {
      // Older than all that can be compared: the engine's buffer tells whether it is the same publisher.
      const wasAnswered = this.#replays.isPossible && (await this.#checkPublisher());
      // Where nobody can tell, what is held may be of a publisher that has gone.
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
        if (outcome !== 'no_replay_endpoint') this.#healLater(false);
        judgement = 'first';
      }
    }
    if (judgement === 'duplicate' || judgement === 'past') {
      counts.duplicates += 1;
      return;
    }
    // It may be of the publisher before; what was missed is asked for.
    if (this.#isClosed || linkChanges !== this.#linkChanges) return;
    if (judgement === 'first') this.#standing.beginWith(sequence);
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
    const linkChanges = this.#linkChanges;
    const result = await this.#replays.catchUp(this.#anchor);
    if (result.outcome === 'failed') return result.failure;
    if (result.outcome === 'caught_up') {
      this.#confirm(linkChanges);
      return 'replayed';
    }
    if (result.outcome === 'restarted') this.#onRestart();
    else this.#drop(TOO_OLD);
    await this.#replayAll();
    return result.outcome === 'lost' ? 'replay_incomplete' : 'restarted';
  }

  /**
   * After a connection came back, and now and then: is it the same publisher,
   * and did it say more than was heard? False when nobody could tell.
   */
  async #checkPublisher(): Promise<boolean> {
    this.#isCheckDue = false;
    const { counts } = this.#modules;
    const before = this.#watch.last;
    if (before === undefined || !this.#watch.isPlaced) return this.#replayAll();
    const linkChanges = this.#linkChanges;
    const result = await this.#replays.catchUp(this.#anchor);
    if (this.#isClosed) return false;
    if (result.outcome === 'failed') {
      // Live batches come first; one that does not follow asks for what is missing by itself.
      this.#isCheckDue = false;
      // A look that finds nobody proves nothing; after an interruption it leaves the question open.
      if (this.#suspicion !== undefined) this.#suspect(result.reason);
      return false;
    }
    if (result.outcome === 'caught_up') this.#confirm(linkChanges);
    if (result.outcome === 'caught_up') {
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

  /** Builds the picture from the oldest batch that the engine keeps, or from the next one. */
  async #rebuild(): Promise<void> {
    this.#isRebuildDue = false;
    this.#isCheckDue = false;
    if (this.#replays.isPossible) {
      await this.#replayAll();
      return;
    }
    const isAgain = this.#suspicion !== undefined;
    const reason = `${isAgain ? `${this.#interrupted}, and ` : ''}the source has no replay endpoint`;
    this.#drop(reason);
    this.#standing.awaitFirstBatch(reason);
    this.#modules.listener.onStatus();
  }

  /** False when the engine gave no answer from which the picture could be built. */
  async #replayAll(isHeal = false): Promise<boolean> {
    if (!this.#replays.isPossible) return false;
    this.#isRebuildDue = false;
    this.#isHealDue = false;
    const linkChanges = this.#linkChanges;
    const result = await this.#replays.rebuild(isHeal);
    if (this.#isClosed) return false;
    const wasBegun = this.#standing.isBuilding;
    this.#standing.building(false);
    if (result.outcome !== 'failed') {
      if (!wasBegun) return true;
      this.#modules.counts.rebuilds += 1;
      this.#confirm(linkChanges);
      return true;
    }
    if (this.#standing.isNone) {
      this.#standing.limit(result.reason);
      this.#modules.listener.onStatus();
    } else if (wasBegun) {
      // It ended in the middle: what came after is asked for again.
      this.#suspect(result.reason);
    }
    this.#healLater(false);
    return false;
  }

  get #interrupted(): string {
    return `the connection to ${this.#source.endpoint} was interrupted`;
  }

  /** The publisher has proved to be the same and told what was missed, unless the connection changed meanwhile. */
  #confirm(linkChanges: number): void {
    if (linkChanges !== this.#linkChanges) return;
    this.#anchor = undefined;
    this.#suspicion = undefined;
    this.#modules.listener.onStatus();
  }

  /** Batches may have been missed, and could not be asked for. */
  #suspect(reason: string): void {
    this.#suspicion = `what may have been missed could not be asked for: ${reason}`;
    this.#modules.listener.onStatus();
    this.#auditSoon(this.#options.firstAuditMs ?? FIRST_AUDIT_MS);
  }

  async #apply(sequence: number, digest: number, payload: Uint8Array, isLive: boolean): Promise<void> {
    const { clock, counts, listener, logger } = this.#modules;
    const applied = await this.#applyInTurns(payload);
    if (applied === undefined) return;
    // All that the publisher stored is known from its first batch on.
    if (sequence === 0) this.#standing.beginWith(0);
    this.#watch.accept(sequence, digest);
    this.#appliedSequence = sequence;
    counts.batches += 1;
    counts.bytes += payload.length;
    if (!isLive) counts.replayedBatches += 1;
    else if (applied.publishedAtMs !== undefined) counts.countLag(clock.wallMs() - applied.publishedAtMs);
    if (applied.problem !== undefined) {
      logger.debug(
        { rank: this.#rank, sequence },
        `A batch of KV events could not be read in full: ${applied.problem}.`,
      );
    }
    if (applied.rank !== undefined && applied.rank !== this.#rank) this.#tellRank(applied.rank);
    const isCleared = applied.changes.some(({ type }) => type === 'cleared');
    if (isCleared && applied.isRetold !== true) this.#standing.complete();
    if (applied.orphans > 0) {
      this.#standing.orphaned();
      if (isLive && this.#standing.isWhole) this.#healLater(true);
    }
    listener.onApplied(applied);
    this.#flawBefore = undefined;
    listener.onStatus();
  }

  /**
   * Applies a batch in as many turns of the event loop as it takes. Undefined when the picture was dropped meanwhile, or
   * this feed closed: the rest counts for nothing then.
   */
  async #applyInTurns(payload: Uint8Array): Promise<AppliedBatch | undefined> {
    const { picture } = this.#modules;
    const drops = this.#drops;
    this.#flawBefore = picture.flaw;
    const steps = picture.applyInSteps(payload);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await this.#rest();
      if (drops === this.#drops && !this.#isClosed) continue;
      steps.return(NOTHING_APPLIED);
      return undefined;
    }
  }

  #tellRank(named: number): void {
    if (this.#hasToldRank) return;
    this.#hasToldRank = true;
    this.#modules.logger.warn(
      { rank: this.#rank, named_rank: named },
      `The batches of ${this.#source.endpoint} name rank ${named}; they count as those of rank ${this.#rank}.`,
    );
  }

  /** Builds the picture anew, not at once and less and less often: it costs every reader a snapshot. */
  #healLater(isUrgent: boolean): void {
    if (!this.#replays.isPossible || this.#healTimer !== undefined || this.#isClosed) return;
    const { clock } = this.#modules;
    const nowMs = clock.monotonicMs();
    const intervalMs = this.#options.healIntervalMs ?? HEAL_INTERVAL_MS;
    const pauseMs = intervalMs * 2 ** Math.min(this.#heals, MAX_HEAL_DOUBLINGS);
    const earliestMs = isUrgent && this.#heals === 0 ? nowMs : Math.max(this.#healAtMs, nowMs + intervalMs);
    this.#heals += 1;
    this.#healAtMs = earliestMs + pauseMs;
    this.#healTimer = clock.setTimer(earliestMs - nowMs, () => {
      this.#healTimer = undefined;
      this.#isHealDue = true;
      this.#wakeUp();
    });
  }

  /** A look at the replay socket after `delayMs`, or before when one is due earlier: no number of causes postpones it. */
  #auditSoon(delayMs: number): void {
    if (!this.#replays.isPossible || this.#isClosed) return;
    const { clock } = this.#modules;
    const atMs = clock.monotonicMs() + delayMs;
    if (this.#auditTimer !== undefined && this.#auditAtMs <= atMs) return;
    this.#auditTimer?.clear();
    this.#auditAtMs = atMs;
    this.#auditTimer = clock.setTimer(delayMs, () => {
      this.#auditTimer = undefined;
      if (this.#link.isUp && !this.#standing.isNone) this.#isCheckDue = true;
      this.#auditSoon(this.#options.auditIntervalMs ?? AUDIT_INTERVAL_MS);
      this.#wakeUp();
    });
  }

  #onRestart(): void {
    const { clock, counts, listener, logger } = this.#modules;
    counts.publisherRestarts += 1;
    // What is only left over of a connection that is lost tells nothing of who comes back.
    this.#hasRestarted = this.#link.isUp;
    this.#heals = 0;
    this.#watch.forgetPublisher();
    const nowMs = clock.monotonicMs();
    // Two publishers at one address would be told as restarts without end.
    const level = nowMs - this.#restartToldAtMs < RESTART_TOLD_EVERY_MS ? 'debug' : 'info';
    if (level === 'info') this.#restartToldAtMs = nowMs;
    logger[level](
      { rank: this.#rank },
      `The publisher of ${this.#source.endpoint} began anew: its sequence numbers stand for other batches.`,
    );
    this.#drop('the engine was started anew');
    listener.onPublisherRestart();
  }

  #drop(reason: string): void {
    const { listener, picture } = this.#modules;
    const hadSomething = this.#appliedSequence !== undefined || picture.size > 0;
    picture.clear();
    this.#drops += 1;
    this.#flawBefore = undefined;
    this.#watch.forgetPlace();
    this.#appliedSequence = undefined;
    this.#anchor = undefined;
    // What is built next may be of the publisher before, as long as the one that came has not been asked.
    if (!this.#isCheckDue) this.#suspicion = undefined;
    this.#standing.drop(reason);
    if (hadSomething) listener.onDropped(reason);
    listener.onStatus();
  }
}
