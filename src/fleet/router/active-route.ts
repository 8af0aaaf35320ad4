import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { DecisionNote } from '../../core/view/recent-decisions.js';
import type { UnorderedMember } from '../../edge/platform/data/unordered-set.js';
import type { Reservation } from './choice/reserved-request.js';
import type { Amendment, Reported } from './results/compare.js';
import type { Prediction } from './results/prediction.js';
import type { Stored } from './results/store-gauge.js';
import type { Decision, Route, SeenTransfer, Usage } from './routing.js';
import type { Due, Settled } from './settling.js';

/** How a request ended. */
export interface RouteEnd {
  readonly prediction: Prediction;
  /** Whether its first token came. */
  readonly hadFirstToken: boolean;
  /** What its engine said of it; undefined when it did not. */
  readonly usage: Usage | undefined;
}

/** Who is notified of the ends of routes. */
export interface RouteListener {
  /** Its prompt was computed, by the first token or a usage; called at most once. */
  onComputed(route: ActiveRoute): void;
  /** The index must have heard of its blocks. */
  onSettled(route: ActiveRoute): void;
  /** It does not count as active any more: it was released, or its worker or epoch has ended. */
  onEnded(route: ActiveRoute): void;
  /** It was released; called once, also where it had ended before. */
  onReleased(end: RouteEnd, route: ActiveRoute): void;
  /** Its worker answered, at least with a first piece; called at most once. */
  onAnswered(route: ActiveRoute): void;
  /** Its worker failed the request. */
  onFailed(fault: WorkerFault, route: ActiveRoute): void;
  /** What became of the blocks between its two workers; called at most once. */
  onTransferred(seen: SeenTransfer, route: ActiveRoute): void;
}

/** A request on its way. */
export class ActiveRoute implements Route, UnorderedMember, Settled {
  place = -1;
  readonly decision: Decision;
  /** When its worker was chosen, on the monotonic clock. */
  readonly decidedMs: number;
  readonly #prediction: Prediction;
  readonly #reservation: Reservation;
  readonly #listener: RouteListener;
  #hadFirstToken = false;
  #isActive = true;
  #isReleased = false;
  #isComputed = false;
  /** Its place in the line of those that are on their way. */
  due: Due | undefined;
  /** Whether the index must have heard of its blocks. */
  isSettled = false;
  /** What its engine reported and the view of the decision does not explain: what the view says once it is settled may. */
  parked: Reported | undefined;
  /** What is shown of it; undefined where it is not shown. */
  note: DecisionNote | undefined;
  /** The part of the worker that computes its prompt; it ends with this one at the latest. */
  prefill: ActiveRoute | undefined;
  #isTransferred = false;
  /** Calls its holder, when it ends. */
  onEnded: (() => void) | undefined;

  constructor(prediction: Prediction, reservation: Reservation, decidedMs: number, listener: RouteListener) {
    this.decision = prediction.decision;
    this.#prediction = prediction;
    this.#reservation = reservation;
    this.decidedMs = decidedMs;
    this.#listener = listener;
  }

  prefillDone(): void {
    if (this.#hadFirstToken) return;
    this.#hadFirstToken = true;
    this.#listener.onAnswered(this);
    if (this.#isActive) this.#reservation.prefillDone();
    this.#computed();
  }

  progress(outputTokens: number): void {
    if (this.#isActive) this.#reservation.progress(outputTokens);
  }

  partDone(): void {
    this.prefillDone();
    this.#stop();
  }

  release(usage?: Usage): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.prefill?.release();
    if (usage !== undefined) this.#computed();
    if (!this.#isComputed) this.#land();
    this.#stop();
    this.#listener.onReleased(
      { prediction: this.#prediction, hadFirstToken: this.#hadFirstToken, usage },
      this,
    );
  }

  transferred(seen: SeenTransfer): void {
    if (this.prefill === undefined || this.#isTransferred) return;
    this.#isTransferred = true;
    this.#listener.onTransferred(seen, this);
  }

  failed(fault: WorkerFault): void {
    this.#listener.onFailed(fault, this);
  }

  /** Counts it as active no more. Its result may still be given with `release`. */
  end(): void {
    this.#land();
    this.#stop();
  }

  /** What was known of it at its decision. */
  get prediction(): Prediction {
    return this.#prediction;
  }

  /** What the cache of its rank turned out to be since the decision; to be asked when it is settled. */
  amendment(): Amendment {
    return { keptBlocks: this.#reservation.flight?.keptBlocks, foundBlocks: this.#reservation.find()?.here };
  }

  /** Whether its blocks are followed by the index. */
  get isFollowed(): boolean {
    return this.#reservation.flight !== undefined;
  }

  /**
   * What became of the blocks that its rank had to compute, to be asked when it
   * is settled; undefined where there were none, or that cannot be known.
   */
  stored(): Stored | undefined {
    const { decision, bestBlocks } = this.#prediction;
    const { promptTokens = 0, tokensPerBlock, cachedBlocks } = decision;
    const { flight } = this.#reservation;
    // The last block is computed in full only where the prompt fills it.
    if (flight === undefined || Math.floor(promptTokens / tokensPerBlock) <= cachedBlocks) return undefined;
    const found = flight.wasEvicted ? undefined : this.#reservation.find();
    if (found === undefined) return undefined;
    if (found.here > cachedBlocks) return 'here';
    return found.elsewhere > bestBlocks ? 'elsewhere' : 'nowhere';
  }

  onSettled(): void {
    this.isSettled = true;
    this.#land();
    this.#listener.onSettled(this);
  }

  /** Whatever holds it up there, its blocks may not be expected any longer. */
  onOverdue(): void {
    if (!this.#isComputed) this.#land();
  }

  /** Its blocks are not expected where it goes any longer. */
  #land(): void {
    this.#reservation.flight?.end();
    if (this.due !== undefined) this.due.what = undefined;
    this.due = undefined;
  }

  #computed(): void {
    if (this.#isComputed) return;
    this.#isComputed = true;
    this.#listener.onComputed(this);
  }

  #stop(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    this.prefill?.end();
    this.#reservation.release();
    this.#listener.onEnded(this);
    this.onEnded?.();
  }
}
