import { NOTHING_PUBLISHED } from '../../../core/contract/wire/cache-view.js';
import type { ZmqSource } from '../../../core/relay/rank-source.js';
import { EngineReplays, type EngineReplaysModules } from './engine-replays.js';
import type { HeldRank } from './held-rank.js';
import type { RankReaderListener } from './rank-reader.js';
import type { RankSchedule } from './rank-schedule.js';
import type { ReplayLimits } from './replay-client.js';
import type { GapOutcome, StreamCounts } from './stream-counts.js';

export interface RankRecoveryModules extends Omit<EngineReplaysModules, 'watch'> {
  readonly held: HeldRank;
  readonly schedule: RankSchedule;
  readonly counts: StreamCounts;
  readonly listener: Pick<RankReaderListener, 'onStatus'>;
}

const TOO_OLD = 'the engine does not keep the batches that were lost any more';

/**
 * Asks an engine for batches that it published before: what is missing before a live one, whether its publisher is still
 * the same, or all that it keeps. Where it does not give what is asked for, what is held is dropped, and built from what
 * it does give.
 */
export class RankRecovery {
  readonly #modules: RankRecoveryModules;
  readonly #replays: EngineReplays;

  constructor(source: ZmqSource, limits: ReplayLimits, modules: RankRecoveryModules) {
    this.#modules = modules;
    const { held } = modules;
    const { knowledge, watch } = held;
    this.#replays = new EngineReplays(
      source,
      limits,
      { ...modules, watch },
      {
        knownFrom: () => knowledge.knownFrom,
        apply: (sequence, digest, payload) => held.apply(sequence, digest, payload, false),
        begin: () => {
          knowledge.building(true);
          held.drop('the cache view is rebuilt from the batches that the engine keeps');
          knowledge.drop('');
          watch.rewind();
        },
        beginWith: (sequence) => knowledge.beginWith(sequence),
        onNothingPublished: (isProved) => {
          watch.acceptNone();
          if (isProved) knowledge.complete();
          else knowledge.awaitFirstBatch(NOTHING_PUBLISHED);
        },
        onRestart: () => held.restarted(),
        isDoubted: () => held.doubt !== undefined,
      },
    );
  }

  /** Whether there is somebody to ask. */
  get isPossible(): boolean {
    return this.#replays.isPossible;
  }

  get #isClosed(): boolean {
    return this.#modules.signal.aborted;
  }

  /** Asks for what is missing before a live batch. */
  async closeGap(): Promise<GapOutcome | 'restarted'> {
    if (!this.isPossible) return 'no_replay_endpoint';
    const { held } = this.#modules;
    const { changes } = held.trust;
    const result = await this.#replays.catchUp(held.trust.anchor);
    if (result.outcome === 'failed') return result.failure;
    if (result.outcome === 'caught_up') {
      held.confirm(changes);
      return 'replayed';
    }
    if (result.outcome === 'restarted') held.restarted();
    else held.drop(TOO_OLD);
    await this.replayAll();
    return result.outcome === 'lost' ? 'replay_incomplete' : 'restarted';
  }

  /**
   * After a connection came back, and now and then: is it the same publisher,
   * and did it publish more than was read? False when the engine gave no answer.
   */
  async checkPublisher(): Promise<boolean> {
    const { counts, held, schedule } = this.#modules;
    const { trust, watch } = held;
    schedule.beginCheck();
    const before = watch.last;
    if (before === undefined || !watch.isPlaced) return this.replayAll();
    const { changes } = trust;
    const result = await this.#replays.catchUp(trust.anchor);
    if (this.#isClosed) return false;
    if (result.outcome === 'failed') {
      // Live batches come first; one that does not follow asks for what is missing by itself.
      schedule.beginCheck();
      // A check that finds no publisher proves nothing; after an interruption it leaves the question open.
      if (trust.suspicion !== undefined) held.suspect(result.reason);
      return false;
    }
    if (result.outcome === 'caught_up') {
      held.confirm(changes);
      if (watch.last !== before) counts.gaps.replayed += 1;
      return true;
    }
    if (result.outcome === 'restarted') held.restarted();
    else {
      counts.gaps.replay_incomplete += 1;
      held.drop(TOO_OLD);
    }
    await this.replayAll();
    return true;
  }

  /** Builds the cache view from the oldest batch that the engine keeps, or from the next one. */
  async rebuild(): Promise<void> {
    if (this.isPossible) {
      await this.replayAll();
      return;
    }
    const { held, listener, schedule } = this.#modules;
    schedule.beginRebuild();
    const { interruption, suspicion } = held.trust;
    const reason = `${suspicion === undefined ? '' : `${interruption}, and `}the source has no replay endpoint`;
    held.drop(reason);
    held.knowledge.awaitFirstBatch(reason);
    listener.onStatus();
  }

  /**
   * The same from what the engine keeps. `isHeal`: only when something is won by that. False when the engine gave no answer
   * from which the cache view could be built.
   */
  async replayAll(isHeal = false): Promise<boolean> {
    if (!this.isPossible) return false;
    const { counts, held, listener, schedule } = this.#modules;
    const { knowledge, trust } = held;
    schedule.beginRebuild();
    const { changes } = trust;
    const result = await this.#replays.rebuild(isHeal);
    if (this.#isClosed) return false;
    const wasBegun = knowledge.isBuilding;
    knowledge.building(false);
    if (result.outcome !== 'failed') {
      if (!wasBegun) return true;
      counts.rebuilds += 1;
      held.confirm(changes);
      return true;
    }
    if (knowledge.isNone) {
      knowledge.limit(result.reason);
      listener.onStatus();
    } else if (wasBegun) {
      // It ended in the middle: what came after is asked for again.
      held.suspect(result.reason);
    }
    schedule.healLater(false);
    return false;
  }
}
