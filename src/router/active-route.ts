import type { InBag } from '../platform/bag.js';
import type { Reservation } from './group-router.js';
import type { Prediction } from './results/prediction.js';
import type { Decision, Route, Usage } from './routing.js';

/** How a request ended. */
export interface RouteEnd {
  readonly prediction: Prediction;
  /** Whether its first token came. */
  readonly hadFirstToken: boolean;
  /** What its engine said of it; undefined when it did not. */
  readonly usage: Usage | undefined;
}

/** Who is told of the ends of routes. */
export interface RouteListener {
  /** It does not count as active any more: it was released, or its worker or epoch has ended. */
  onEnded(route: ActiveRoute): void;
  /** It was released; called once, also where it had ended before. */
  onReleased(end: RouteEnd): void;
}

/** A request on its way. */
export class ActiveRoute implements Route, InBag {
  place = -1;
  readonly decision: Decision;
  readonly #prediction: Prediction;
  readonly #reservation: Reservation;
  readonly #listener: RouteListener;
  #hadFirstToken = false;
  #isActive = true;
  #isReleased = false;
  /** Calls whoever holds it by a name of its own, when it ends. */
  onEnded: (() => void) | undefined;

  constructor(prediction: Prediction, reservation: Reservation, listener: RouteListener) {
    this.decision = prediction.decision;
    this.#prediction = prediction;
    this.#reservation = reservation;
    this.#listener = listener;
  }

  prefillDone(): void {
    if (this.#hadFirstToken) return;
    this.#hadFirstToken = true;
    if (this.#isActive) this.#reservation.prefillDone();
  }

  progress(outputTokens: number): void {
    if (this.#isActive) this.#reservation.progress(outputTokens);
  }

  release(usage?: Usage): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.end();
    this.#listener.onReleased({ prediction: this.#prediction, hadFirstToken: this.#hadFirstToken, usage });
  }

  /** Counts it as active no more. What it comes to may still be told with `release`. */
  end(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    this.#reservation.release();
    this.#listener.onEnded(this);
    this.onEnded?.();
  }
}
