import { type Clock, sleep, type Timer } from '../platform/clock.js';
import { describeError } from '../platform/describe-error.js';
import type { Logger } from '../platform/logger.js';
import type { FeedCounts, GapOutcome } from './feed-counts.js';
import type { ZmqSource } from './feed-source.js';
import type { AppliedBatch, RankPicture } from './rank-picture.js';
import type { RankStatus } from './relay.js';
import { ReplayError, type ReplayLimits, replay } from './replay-client.js';
import { digestOf, readSequence, SequenceWatch } from './sequence-watch.js';
import type { Frames, Sockets, Subscription } from './zmq-sockets.js';

/** What a rank's feed does with what the rank holds. */
export type FedPicture = Pick<RankPicture, 'apply' | 'clear' | 'size' | 'flaw'>;

/** The feed of one rank, whatever it reads. */
export interface Feed {
  readonly status: RankStatus;
  /** Whether the publisher was seen to begin anew since `acceptInstance`. */
  readonly hasRestarted: boolean;
  /** Starts to follow; never throws. */
  start(): void;
  /** The new engine start has a name now; what was built since its restart stays. */
  acceptInstance(): void;
  /** Another engine start: all that is known is of the old one. */
  beginAnew(reason: string): void;
  close(): Promise<void>;
}

/** Who is told what a rank's feed finds. */
export interface RankFeedListener {
  onApplied(applied: AppliedBatch): void;
  /** The rank's picture was emptied, and not by the engine. */
  onDropped(reason: string): void;
  /** Where the rank stands may have changed. */
  onStatus(): void;
  onPublisherRestart(): void;
}

export interface RankFeedOptions extends ReplayLimits {
  /** Milliseconds without a connection until the picture is dropped. Default 10,000. */
  readonly lostAfterMs?: number;
  /** Milliseconds without a connection until the socket is opened anew. Default 3,000. */
  readonly reopenAfterMs?: number;
  /**
   * Milliseconds between two looks at the replay socket for batches that were
   * lost at the end, after which nothing came. Default 30,000.
   */
  readonly auditIntervalMs?: number;
  /** Milliseconds until the first such look, when a connection is new. Default 1,000. */
  readonly firstAuditMs?: number;
  /** Least milliseconds between two attempts to build a picture anew that lacks something. Default 30,000, doubled with each that does not help. */
  readonly healIntervalMs?: number;
}

export interface RankFeedModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sockets: Sockets;
  readonly picture: FedPicture;
  readonly counts: FeedCounts;
  readonly listener: RankFeedListener;
  /** Runs one replay at a time for all ranks of an engine. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

const LOST_AFTER_MS = 10_000;
const REOPEN_AFTER_MS = 3_000;
const AUDIT_INTERVAL_MS = 30_000;
const FIRST_AUDIT_MS = 1_000;
const HEAL_INTERVAL_MS = 30_000;
const MAX_HEAL_DOUBLINGS = 5;

/** Live messages between the socket and the picture; the socket's own queue holds the rest. */
const MAX_INBOX = 64;

/** Milliseconds between two lines of the log that tell of a restart. */
const RESTART_TOLD_EVERY_MS = 10_000;

/** Milliseconds of work after which others get their turn. */
const WORK_SLICE_MS = 5;

/** Batches before the last one that a replay is asked for too, to be compared with what was applied. */
const OVERLAP = 16;

/** Replays in a row for one gap: a busy ROUTER may drop replies in the middle. */
const MAX_ROUNDS = 20;

/** What a replay from known ground came to. */
type CatchUp =
  | { readonly outcome: 'caught_up' | 'restarted' | 'lost' }
  | { readonly outcome: 'failed'; readonly failure: GapOutcome; readonly reason: string };

/** What the rank's picture is worth, flaws aside. */
type Knowledge =
  | { readonly picture: 'exact' }
  | { readonly picture: 'partial'; readonly reason: string; readonly unknownBefore?: number }
  | { readonly picture: 'none'; readonly reason: string };

/**
 * Follows one rank's publisher: every batch once and in order, gaps closed by
 * replay. What cannot be closed empties the picture, which is then partial
 * until the engine's own replay or a clear of all blocks makes it exact again:
 * late is allowed, wrong is not.
 */
export class RankFeed implements Feed {
  readonly #source: ZmqSource;
  readonly #options: RankFeedOptions;
  readonly #modules: RankFeedModules;
  readonly #watch = new SequenceWatch();
  readonly #closing = new AbortController();
  readonly #inbox: Frames[] = [];
  #subscription: Subscription | undefined;
  #receiving: Promise<void> = Promise.resolve();
  /** Of the socket: what an older one tells late does not count. */
  #generation = 0;
  #done: Promise<void> | undefined;
  #onWork: (() => void) | undefined;
  #onRoom: (() => void) | undefined;
  #knowledge: Knowledge;
  #appliedSequence: number | undefined;
  #linksUp = 0;
  #hadLink = false;
  #wasLost = false;
  /** A replay from 0 is under way, and the picture lacks what it has not given yet. */
  #isBuilding = false;
  /** The last batch at the moment at which the connection was lost: surely of the old publisher. */
  #anchor: number | undefined;
  #isCheckDue = false;
  #isRebuildDue = false;
  #isHealDue = false;
  #isReopenDue = false;
  /** A connection was lost and came back, and nobody has told yet what was missed. */
  #isSuspect = false;
  /** Blocks that were refused because what they follow is not known. */
  #orphans = 0;
  #doubt: string | undefined;
  #healAtMs = 0;
  #heals = 0;
  #hasRestarted = false;
  #toldRank = false;
  #restartToldAtMs = -Infinity;
  #busySinceMs = 0;
  #lostTimer: Timer | undefined;
  #reopenTimer: Timer | undefined;
  #auditTimer: Timer | undefined;
  #healTimer: Timer | undefined;

  constructor(source: ZmqSource, options: RankFeedOptions, modules: RankFeedModules) {
    this.#source = source;
    this.#options = options;
    this.#modules = modules;
    this.#knowledge = { picture: 'none', reason: `no connection to ${source.endpoint} yet` };
  }

  get #rank(): number {
    return this.#source.rank;
  }

  get hasRestarted(): boolean {
    return this.#hasRestarted;
  }

  get status(): RankStatus {
    const knowledge = this.#knowledge;
    const flaw = knowledge.picture === 'exact' ? this.#flaw() : undefined;
    return {
      rank: this.#rank,
      picture: flaw === undefined ? knowledge.picture : 'partial',
      ...(knowledge.picture === 'partial' && knowledge.unknownBefore !== undefined
        ? { unknownBeforeSequence: knowledge.unknownBefore }
        : {}),
      ...(this.#appliedSequence === undefined ? {} : { engineSequence: this.#appliedSequence }),
      reason: flaw ?? (knowledge.picture === 'exact' ? '' : knowledge.reason),
      blockCount: this.#modules.picture.size,
    };
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
    this.#requestRebuild();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#lostTimer?.clear();
    this.#reopenTimer?.clear();
    this.#auditTimer?.clear();
    this.#healTimer?.clear();
    this.#subscription?.close();
    this.#wakeUp();
    this.#onRoom?.();
    await this.#done;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #run(): Promise<void> {
    await this.#open();
    this.#busySinceMs = this.#modules.clock.monotonicMs();
    while (!this.#isClosed) await this.#step();
    this.#subscription?.close();
    await this.#receiving;
  }

  /**
   * Opens the socket, for the first time or again. libzmq comes back by itself
   * after a connection broke, but never after a peer broke the protocol, as
   * one does that announces too large a message.
   */
  async #open(): Promise<void> {
    const { clock, logger, sockets } = this.#modules;
    this.#subscription?.close();
    this.#onRoom?.();
    await this.#receiving;
    this.#generation += 1;
    const generation = this.#generation;
    this.#linksUp = 0;
    try {
      this.#subscription = await sockets.subscribe(this.#source, (isUp) => {
        if (generation === this.#generation) this.#onLink(isUp);
      });
      this.#receiving = this.#receive(this.#subscription);
    } catch (error) {
      const reason = `cannot read ${this.#source.endpoint}: ${describeError(error)}`;
      if (this.status.reason !== reason) {
        logger.warn({ rank: this.#rank, error }, 'The KV events of a rank cannot be read.');
        this.#know({ picture: 'none', reason });
      }
    }
    if (!this.#isClosed)
      this.#reopenTimer ??= clock.setTimer(this.#options.reopenAfterMs ?? REOPEN_AFTER_MS, this.#look);
  }

  /** Now and then: is there a connection? */
  readonly #look = (): void => {
    const { clock } = this.#modules;
    this.#reopenTimer = clock.setTimer(this.#options.reopenAfterMs ?? REOPEN_AFTER_MS, this.#look);
    // One that binds waits for its publishers.
    const waits = this.#source.endpoint.startsWith('@') && this.#subscription !== undefined;
    if (this.#linksUp > 0 || waits) return;
    this.#isReopenDue = true;
    this.#wakeUp();
  };

  /** One piece of work; waits when there is none. */
  async #step(): Promise<void> {
    if (this.#isReopenDue) {
      this.#isReopenDue = false;
      if (this.#linksUp === 0) await this.#open();
    } else if (this.#isRebuildDue && this.#linksUp > 0) {
      this.#isRebuildDue = false;
      this.#isCheckDue = false;
      await this.#rebuild();
    } else if (this.#isHealDue && this.#linksUp > 0) {
      await this.#rebuildNow(true);
    } else if (this.#isCheckDue && this.#linksUp > 0) {
      this.#isCheckDue = false;
      await this.#checkPublisher();
    } else if (this.#inbox.length > 0) {
      const frames = this.#inbox.shift() as Frames;
      this.#onRoom?.();
      await this.#take(frames);
      await this.#rest();
    } else {
      await new Promise<void>((resolve) => {
        this.#onWork = resolve;
        if (this.#isClosed) resolve();
      });
      this.#onWork = undefined;
      this.#busySinceMs = this.#modules.clock.monotonicMs();
    }
  }

  /** Moves messages from the socket to the inbox, which is small: while a replay runs, they wait in the socket. */
  async #receive(subscription: Subscription): Promise<void> {
    try {
      for (;;) {
        const frames = await subscription.receive();
        if (frames === undefined) return;
        this.#inbox.push(frames);
        this.#wakeUp();
        if (this.#inbox.length >= MAX_INBOX && !this.#isClosed) {
          await new Promise<void>((resolve) => {
            this.#onRoom = resolve;
          });
          this.#onRoom = undefined;
        }
      }
    } catch (error) {
      this.#modules.logger.warn(
        { rank: this.#rank, error },
        'The KV events of a rank cannot be read any more.',
      );
      this.#drop(`cannot read ${this.#source.endpoint}: ${describeError(error)}`);
      this.#linksUp = 0;
    }
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

  readonly #onLink = (isUp: boolean): void => {
    if (this.#isClosed) return;
    const { clock, counts } = this.#modules;
    this.#linksUp = Math.max(0, this.#linksUp + (isUp ? 1 : -1));
    if (isUp) {
      this.#lostTimer?.clear();
      this.#lostTimer = undefined;
      const last = this.#watch.last;
      // The first batches may be read before their connection is told.
      const isFirst = !this.#hadLink && (last === undefined || this.#hasReplay());
      if (isFirst || last === undefined || this.#wasLost || this.#knowledge.picture === 'none') {
        this.#isRebuildDue = true;
      } else if (this.#hadLink) {
        this.#isCheckDue = true;
        this.#isSuspect = true;
      }
      this.#hadLink = true;
      this.#wasLost = false;
      this.#auditSoon(this.#options.firstAuditMs ?? FIRST_AUDIT_MS);
      this.#wakeUp();
      return;
    }
    counts.disconnects += 1;
    if (this.#linksUp > 0) return;
    this.#anchor ??= this.#watch.last;
    this.#lostTimer ??= clock.setTimer(this.#options.lostAfterMs ?? LOST_AFTER_MS, () => {
      this.#lostTimer = undefined;
      this.#wasLost = true;
      this.#drop(`the connection to ${this.#source.endpoint} is lost`);
    });
  };

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
    let judgement = this.#watch.judge(sequence, digest);
    if (judgement === 'past') {
      // Older than all that can be compared: the engine's buffer tells whether it is the same publisher.
      if (this.#hasReplay()) await this.#checkPublisher();
      else this.#onRestart();
      judgement = this.#watch.judge(sequence, digest);
      if (judgement === 'past') judgement = 'duplicate';
    }
    if (judgement === 'restart') {
      this.#onRestart();
      await this.#rebuildNow();
      judgement = this.#watch.judge(sequence, digest);
    }
    if (judgement === 'gap') {
      const outcome = await this.#closeGap();
      if (this.#isClosed) return;
      judgement = this.#watch.judge(sequence, digest);
      const isOpen = judgement === 'gap' || judgement === 'restart';
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
    if (this.#isClosed) return;
    if (judgement === 'first') this.#knowFrom(sequence);
    else if (!this.#hasReplay()) this.#doubt = undefined;
    this.#apply(sequence, digest, payload, true);
  }

  /** The picture begins with this batch. */
  #knowFrom(sequence: number): void {
    if (sequence === 0) this.#know({ picture: 'exact' });
    else {
      const before = `what the engine stored before its batch ${sequence} is unknown`;
      const known = this.#knowledge;
      const why = known.picture === 'exact' || known.reason === '' ? '' : ` (${bare(known.reason)})`;
      this.#know({ picture: 'partial', reason: `${before}${why}`, unknownBefore: sequence });
    }
  }

  /** Asks for what is missing before a live batch. */
  async #closeGap(): Promise<GapOutcome | 'restarted'> {
    if (!this.#hasReplay()) return 'no_replay_endpoint';
    const result = await this.#catchUp();
    if (result.outcome === 'failed') return result.failure;
    if (result.outcome === 'caught_up') return 'replayed';
    if (result.outcome === 'restarted') this.#onRestart();
    else this.#drop('the engine does not keep the batches that were lost any more');
    await this.#rebuildNow();
    return result.outcome === 'lost' ? 'replay_incomplete' : 'restarted';
  }

  /** After a connection came back, and now and then: is it the same publisher, and did it say more than was heard? */
  async #checkPublisher(): Promise<void> {
    const { counts } = this.#modules;
    if (this.#watch.last === undefined) return this.#rebuildNow();
    if (!this.#hasReplay()) {
      this.#setDoubt(
        `the connection to ${this.#source.endpoint} was interrupted, and there is no replay endpoint to ask what was missed`,
      );
      return;
    }
    const before = this.#watch.last;
    const result = await this.#catchUp();
    if (this.#isClosed) return;
    if (result.outcome === 'failed') {
      // A look that finds nobody proves nothing; after an interruption it leaves the question open.
      // Live batches come first; one that does not follow asks for what is missing by itself.
      this.#isCheckDue = false;
      if (!this.#isSuspect) return;
      this.#setDoubt(`what may have been missed could not be asked for: ${result.reason}`);
      this.#auditSoon(this.#options.firstAuditMs ?? FIRST_AUDIT_MS);
      return;
    }
    this.#confirm();
    if (result.outcome === 'caught_up') {
      if (this.#watch.last !== before) counts.gaps.replayed += 1;
      return;
    }
    if (result.outcome === 'restarted') this.#onRestart();
    else {
      counts.gaps.replay_incomplete += 1;
      this.#drop('the engine does not keep the batches that were lost any more');
    }
    await this.#rebuildNow();
  }

  /**
   * Asks for what came after the last batch, and a few before it, which must
   * be the ones that were applied; applies what is new.
   */
  #catchUp(): Promise<CatchUp> {
    return this.#modules.inTurn(async () => {
      for (let round = 1; ; round += 1) {
        const last = this.#watch.last;
        if (last === undefined) return { outcome: 'lost' };
        const from = Math.max(this.#watch.first, Math.min(this.#anchor ?? last, last) - OVERLAP);
        const result = await this.#catchUpOnce(from);
        // A reply that was dropped on the way is asked for again, as long as that brings more.
        const hasMoved = this.#watch.last !== last;
        if (result === 'hole' || (typeof result === 'object' && result.outcome === 'failed')) {
          if (hasMoved && round < MAX_ROUNDS && !this.#isClosed) continue;
        }
        return result === 'hole' ? { outcome: 'lost' } : result;
      }
    });
  }

  async #catchUpOnce(from: number): Promise<CatchUp | 'hole'> {
    let answers = 0;
    const hadNone = this.#watch.last === -1;
    let isConfirmed = hadNone;
    let hasHole = false;
    try {
      for await (const { sequence, payload } of this.#ask(from)) {
        if (this.#isClosed) return { outcome: 'caught_up' };
        answers += 1;
        const digest = digestOf(payload);
        const judgement = this.#watch.judge(sequence, digest);
        if (judgement === 'restart') return { outcome: 'restarted' };
        if (judgement === 'first') return { outcome: 'lost' };
        if (judgement === 'duplicate') isConfirmed = true;
        else if (judgement !== 'past' && !isConfirmed) return { outcome: 'lost' };
        else if (judgement === 'gap') hasHole = true;
        else if (judgement === 'next') this.#apply(sequence, digest, payload, false);
        await this.#rest();
      }
    } catch (error) {
      return this.#failed(error);
    }
    if (answers === 0 && !hadNone) return { outcome: 'restarted' };
    return hasHole ? 'hole' : { outcome: 'caught_up' };
  }

  /** Builds the picture from the oldest batch that the engine keeps. */
  async #rebuild(): Promise<void> {
    if (this.#hasReplay()) {
      await this.#rebuildNow();
      return;
    }
    this.#drop('the source has no replay endpoint', 'partial');
  }

  async #rebuildNow(isHeal = false): Promise<void> {
    if (!this.#hasReplay()) return;
    this.#isRebuildDue = false;
    this.#isHealDue = false;
    const { counts } = this.#modules;
    const result = await this.#modules.inTurn(() => this.#rebuildOnce(isHeal));
    if (this.#isClosed) return;
    const wasBegun = this.#isBuilding;
    this.#isBuilding = false;
    if (result.outcome !== 'failed') {
      counts.rebuilds += 1;
      this.#confirm();
      this.#modules.listener.onStatus();
      return;
    }
    if (this.#knowledge.picture === 'none') {
      this.#know({ picture: 'partial', reason: result.reason });
    } else if (wasBegun) {
      // It ended in the middle: what came after is asked for again.
      this.#isSuspect = true;
      this.#setDoubt(result.reason);
      this.#auditSoon(this.#options.firstAuditMs ?? FIRST_AUDIT_MS);
    }
    this.#healLater(false);
  }

  /** The publisher has told what was missed. */
  #confirm(): void {
    this.#anchor = undefined;
    this.#isSuspect = false;
    this.#setDoubt(undefined);
  }

  async #rebuildOnce(isHeal: boolean): Promise<CatchUp> {
    let isBegun = false;
    const begin = (): void => {
      isBegun = true;
      this.#isBuilding = true;
      this.#drop('the picture is built anew from the batches that the engine keeps');
      this.#knowledge = { picture: 'none', reason: '' };
      this.#watch.forgetPlace();
    };
    for (let round = 1; ; round += 1) {
      const from = isBegun ? Math.max(0, this.#watch.last ?? 0) : 0;
      const last = this.#watch.last;
      let answers = 0;
      let hasHole = false;
      let failed: CatchUp | undefined;
      try {
        for await (const { sequence, payload } of this.#ask(from)) {
          if (this.#isClosed) return { outcome: 'caught_up' };
          answers += 1;
          const digest = digestOf(payload);
          if (!isBegun) {
            // What it keeps begins no earlier than what is known: nothing would be won.
            if (isHeal && sequence >= this.#knownFrom()) return { outcome: 'caught_up' };
            if (this.#watch.judge(sequence, digest) === 'restart') this.#onRestart();
            begin();
          }
          let judgement = this.#watch.judge(sequence, digest);
          if (judgement === 'restart') {
            this.#onRestart();
            begin();
            judgement = 'first';
          }
          if (judgement === 'first') this.#knowFrom(sequence);
          if (judgement === 'gap') hasHole = true;
          if (judgement === 'first' || judgement === 'next') this.#apply(sequence, digest, payload, false);
          await this.#rest();
        }
      } catch (error) {
        failed = this.#failed(error);
      }
      if (failed === undefined && answers === 0 && !isBegun) {
        // It publishes nothing yet; when batches of it were seen, it began anew.
        if (last !== undefined && last >= 0) this.#onRestart();
        begin();
        this.#watch.acceptNone();
        this.#know({ picture: 'exact' });
      }
      if (failed === undefined && !hasHole) return { outcome: 'caught_up' };
      if (this.#watch.last !== last && round < MAX_ROUNDS && !this.#isClosed) continue;
      return (
        failed ?? {
          outcome: 'failed',
          failure: 'replay_incomplete',
          reason: `the replay endpoint ${this.#source.replayEndpoint} leaves out batches`,
        }
      );
    }
  }

  /** The oldest batch that is in the picture, or would be if the engine had told of it. */
  #knownFrom(): number {
    const known = this.#knowledge;
    if (known.picture === 'exact') return 1;
    return known.picture === 'partial' ? (known.unknownBefore ?? Infinity) : Infinity;
  }

  #ask(from: number): ReturnType<typeof replay> {
    return replay(
      this.#source.replayEndpoint ?? '',
      from,
      this.#options,
      this.#modules,
      this.#closing.signal,
    );
  }

  #failed(error: unknown): CatchUp {
    const failure = error instanceof ReplayError ? error.failure : 'replay_unreachable';
    const reason = `the replay endpoint ${this.#source.replayEndpoint} ${describeError(error)}`;
    if (!this.#isClosed) {
      this.#modules.logger.debug({ rank: this.#rank, failure }, `A replay failed: ${reason}.`);
    }
    return { outcome: 'failed', failure, reason };
  }

  #hasReplay(): boolean {
    return this.#source.replayEndpoint !== undefined;
  }

  #apply(sequence: number, digest: number, payload: Uint8Array, isLive: boolean): void {
    const { clock, counts, listener, logger, picture } = this.#modules;
    const applied = picture.apply(payload);
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
    if (applied.rank !== undefined && applied.rank !== this.#rank && !this.#toldRank) {
      this.#toldRank = true;
      logger.warn(
        { rank: this.#rank, named_rank: applied.rank },
        `The batches of ${this.#source.endpoint} name rank ${applied.rank}; they count as those of rank ${this.#rank}.`,
      );
    }
    if (applied.changes.some(({ type }) => type === 'cleared')) {
      this.#orphans = 0;
      this.#doubt = undefined;
      this.#knowledge = { picture: 'exact' };
    }
    if (applied.orphans > 0) {
      this.#orphans += applied.orphans;
      if (isLive && this.#knowledge.picture === 'exact') this.#healLater(true);
    }
    listener.onApplied(applied);
    listener.onStatus();
  }

  /** Builds the picture anew, not at once and less and less often: it costs every reader a snapshot. */
  #healLater(isUrgent: boolean): void {
    if (!this.#hasReplay() || this.#healTimer !== undefined || this.#isClosed) return;
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

  #requestRebuild(): void {
    this.#isRebuildDue = true;
    this.#wakeUp();
  }

  #auditSoon(delayMs: number): void {
    if (!this.#hasReplay() || this.#isClosed) return;
    this.#auditTimer?.clear();
    this.#auditTimer = this.#modules.clock.setTimer(delayMs, () => {
      if (this.#linksUp > 0 && this.#knowledge.picture !== 'none') this.#isCheckDue = true;
      this.#auditSoon(this.#options.auditIntervalMs ?? AUDIT_INTERVAL_MS);
      this.#wakeUp();
    });
  }

  #onRestart(): void {
    const { clock, counts, listener, logger } = this.#modules;
    counts.publisherRestarts += 1;
    this.#hasRestarted = true;
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

  #drop(reason: string, picture: 'none' | 'partial' = 'none'): void {
    const { listener } = this.#modules;
    const hadSomething = this.#appliedSequence !== undefined || this.#modules.picture.size > 0;
    this.#modules.picture.clear();
    this.#watch.forgetPlace();
    this.#appliedSequence = undefined;
    this.#orphans = 0;
    this.#anchor = undefined;
    this.#isSuspect = false;
    this.#doubt = undefined;
    this.#knowledge = { picture, reason };
    if (hadSomething) listener.onDropped(reason);
    listener.onStatus();
  }

  #know(knowledge: Knowledge): void {
    this.#knowledge = knowledge;
    this.#modules.listener.onStatus();
  }

  #setDoubt(doubt: string | undefined): void {
    if (this.#doubt === doubt) return;
    this.#doubt = doubt;
    this.#modules.listener.onStatus();
  }

  #flaw(): string | undefined {
    if (this.#isBuilding) return 'it is being built from the batches that the engine keeps';
    if (this.#doubt !== undefined) return this.#doubt;
    if (this.#orphans > 0) return 'blocks were told that follow one that is not known';
    return this.#modules.picture.flaw;
  }
}

/** A reason without what was put behind it in parentheses. */
function bare(reason: string): string {
  return reason.replace(/ \(.*\)$/, '');
}
