import type { ZmqSource } from '../../../core/relay/rank-source.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Sockets } from '../sockets/zmq-sockets.js';
import { ReplayError, type ReplayLimits, replay } from './replay-client.js';
import { digestOf, type SequenceWatch } from './sequence-watch.js';
import type { GapOutcome } from './stream-counts.js';

/** What a replay came to. `lost`: the engine does not keep what is missing any more. */
export type ReplayResult =
  | { readonly outcome: 'caught_up' | 'restarted' | 'lost' }
  | { readonly outcome: 'failed'; readonly failure: GapOutcome; readonly reason: string };

/** What happens with what a replay gives. */
export interface ReplayTarget {
  apply(sequence: number, digest: number, payload: Uint8Array): Promise<void>;
  /** The cache view is rebuilt from here; all that was in it is dropped. */
  begin(): void;
  /** The cache view begins with this batch. */
  beginWith(sequence: number): void;
  /**
   * The engine gives no batch. `isProved`: it gave some before, so it keeps
   * what it publishes, and has published nothing.
   */
  onNothingPublished(isProved: boolean): void;
  onRestart(): void;
  /** Whether another publisher may have come since the last batch that is surely of this one. */
  isDoubted(): boolean;
  /** The cache view would gain from a replay that begins before this batch. */
  knownFrom(): number;
}

export interface EngineReplaysModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sockets: Sockets;
  readonly watch: SequenceWatch;
  /** Runs one replay at a time for all ranks of an engine. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Lets others work when there was much to do. */
  readonly rest: () => Promise<void>;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** Batches before the last one that a replay is asked for too, to be compared with what was applied. */
const OVERLAP = 16;

/** Replays in a row for one purpose: a busy ROUTER may drop replies in the middle. */
const MAX_ROUNDS = 20;

/** How one conversation with the engine's ROUTER ended. */
interface Round {
  readonly answers: number;
  /** Replies were missing in the middle. */
  readonly hasHole: boolean;
  /** Why it ended early. */
  readonly end: ReplayResult | undefined;
}

/** What one engine gives again, as far as it goes on with what is known, or from its oldest batch. */
export class EngineReplays {
  readonly #endpoint: string | undefined;
  readonly #rank: number;
  readonly #limits: ReplayLimits;
  readonly #modules: EngineReplaysModules;
  readonly #target: ReplayTarget;
  /** Whether this endpoint ever gave a batch. One of an engine that keeps none (`buffer_steps` 0) answers as one of an engine that published none. */
  #hasGiven = false;

  constructor(source: ZmqSource, limits: ReplayLimits, modules: EngineReplaysModules, target: ReplayTarget) {
    this.#endpoint = source.replayEndpoint;
    this.#rank = source.rank;
    this.#limits = limits;
    this.#modules = modules;
    this.#target = target;
  }

  /** Whether the source has a replay endpoint. */
  get isPossible(): boolean {
    return this.#endpoint !== undefined;
  }

  /**
   * Asks for what came after the last batch, and a few before `anchor`, which
   * must be the ones that were applied; applies what is new. Only a batch up to
   * `anchor`, or the first of the cache view, proves that the publisher is the
   * same: those after it may be of another one.
   */
  catchUp(anchor: number | undefined): Promise<ReplayResult> {
    const { inTurn, watch } = this.#modules;
    return inTurn(async () => {
      for (let round = 1; ; round += 1) {
        const { last } = watch;
        if (last === undefined) return { outcome: 'lost' };
        const surely = Math.min(anchor ?? last, last);
        const from = Math.max(watch.first, surely - OVERLAP);
        const { answers, hasHole, end } = await this.#catchUpOnce(from, Math.max(watch.first, surely));
        // A reply that was dropped on the way is asked for again, as long as that brings more.
        if ((hasHole || end?.outcome === 'failed') && this.#mayGoOn(round, last)) continue;
        if (end !== undefined) return end;
        if (answers === 0 && last >= 0)
          return this.#isAnother ? { outcome: 'restarted' } : this.#keepsNothing();
        return { outcome: hasHole ? 'lost' : 'caught_up' };
      }
    });
  }

  /** Rebuilds the cache view; `isHeal`: only when something is won by that. */
  rebuild(isHeal: boolean): Promise<ReplayResult> {
    const { inTurn, watch } = this.#modules;
    return inTurn(async () => {
      const state = { isBegun: false };
      for (let round = 1; ; round += 1) {
        const { last } = watch;
        const from = state.isBegun ? Math.max(0, last ?? 0) : 0;
        const { answers, hasHole, end } = await this.#rebuildOnce(from, isHeal, state);
        if (end === undefined && answers === 0 && !state.isBegun) {
          // It publishes nothing yet; when batches of it were seen, it restarted, or keeps none.
          const wasHeard = last !== undefined && last >= 0;
          if (wasHeard && !this.#isAnother) return this.#keepsNothing();
          if (wasHeard) this.#target.onRestart();
          this.#target.begin();
          this.#target.onNothingPublished(this.#hasGiven);
        }
        if (end === undefined && !hasHole) return { outcome: 'caught_up' };
        if (end?.outcome === 'caught_up') return end;
        if (this.#mayGoOn(round, last)) continue;
        return end ?? this.#failed(new ReplayError('replay_incomplete', 'leaves out batches'));
      }
    });
  }

  #mayGoOn(round: number, last: number | undefined): boolean {
    const { signal, watch } = this.#modules;
    return watch.last !== last && round < MAX_ROUNDS && !signal.aborted;
  }

  /** Whether a publisher that was heard and gives no batch is another one: the same one would give some, unless it keeps none. */
  get #isAnother(): boolean {
    return this.#hasGiven || this.#target.isDoubted();
  }

  #keepsNothing(): ReplayResult {
    return this.#failed(
      new ReplayError('replay_incomplete', 'gives no batch although the engine published some'),
    );
  }

  /** `proof`: the last batch that can prove that the publisher is the same. */
  async #catchUpOnce(from: number, proof: number): Promise<Round> {
    const { watch } = this.#modules;
    let isConfirmed = watch.last === -1;
    const round = await this.#ask(from, async (sequence, digest, payload) => {
      const judgement = watch.judge(sequence, digest);
      if (judgement === 'restart') return { outcome: 'restarted' };
      if (judgement === 'duplicate') {
        if (sequence <= proof) isConfirmed = true;
        else if (!isConfirmed) return { outcome: 'lost' };
      } else if (judgement === 'first' || (judgement !== 'past' && !isConfirmed)) return { outcome: 'lost' };
      else if (judgement === 'gap') return 'hole';
      else if (judgement === 'next') await this.#target.apply(sequence, digest, payload);
      return undefined;
    });
    const isOpen = round.end === undefined && round.answers > 0 && !isConfirmed;
    return isOpen ? { ...round, end: { outcome: 'lost' } } : round;
  }

  #rebuildOnce(from: number, isHeal: boolean, state: { isBegun: boolean }): Promise<Round> {
    const { watch } = this.#modules;
    const target = this.#target;
    return this.#ask(from, async (sequence, digest, payload) => {
      // What it keeps begins no earlier than what is known: nothing would be won.
      if (!state.isBegun && isHeal && sequence >= target.knownFrom()) return { outcome: 'caught_up' };
      const isOther = watch.judge(sequence, digest) === 'restart';
      if (isOther) target.onRestart();
      if (isOther && state.isBegun) {
        // What came before it counts too, and is dropped: from the start, with nothing old to compare with.
        state.isBegun = false;
        return { outcome: 'restarted' };
      }
      if (!state.isBegun) target.begin();
      state.isBegun = true;
      const judgement = watch.judge(sequence, digest);
      if (judgement === 'first') target.beginWith(sequence);
      if (judgement === 'first' || judgement === 'next') await target.apply(sequence, digest, payload);
      return judgement === 'gap' ? 'hole' : undefined;
    });
  }

  /** One conversation; `take` ends it early with a result. */
  async #ask(
    from: number,
    take: (
      sequence: number,
      digest: number,
      payload: Uint8Array,
    ) => Promise<ReplayResult | 'hole' | undefined>,
  ): Promise<Round> {
    const { rest, signal } = this.#modules;
    let answers = 0;
    let hasHole = false;
    try {
      for await (const batch of replay(this.#endpoint ?? '', from, this.#limits, this.#modules, signal)) {
        if (signal.aborted) return { answers, hasHole, end: { outcome: 'caught_up' } };
        answers += 1;
        this.#hasGiven = true;
        const result = await take(batch.sequence, digestOf(batch.payload), batch.payload);
        if (result === 'hole') hasHole = true;
        else if (result !== undefined) return { answers, hasHole, end: result };
        await rest();
      }
      return { answers, hasHole, end: undefined };
    } catch (error) {
      return { answers, hasHole, end: this.#failed(error) };
    }
  }

  #failed(error: unknown): ReplayResult {
    const { logger, signal } = this.#modules;
    const failure = error instanceof ReplayError ? error.failure : 'replay_unreachable';
    const reason = `the replay endpoint ${this.#endpoint} ${describeError(error)}`;
    if (!signal.aborted) logger.debug({ rank: this.#rank, failure }, `A replay failed: ${reason}.`);
    return { outcome: 'failed', failure, reason };
  }
}
