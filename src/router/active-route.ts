import type { Reservation } from './group-router.js';
import type { Decision, Route, Usage } from './routing.js';

/** How a request ended. */
export interface RouteEnd {
  readonly decision: Decision;
  /** Whether its first token came. */
  readonly hadFirstToken: boolean;
  /** What its engine said of it; undefined when it did not. */
  readonly usage: Usage | undefined;
}

export interface ActiveRouteModules {
  readonly reservation: Reservation;
  /** It does not count as active any more: it was released, or its worker or epoch has ended. */
  onEnded(route: ActiveRoute): void;
  /** It was released; called once, also where it had ended before. */
  onReleased(end: RouteEnd): void;
}

/** A request on its way. */
export class ActiveRoute implements Route {
  readonly decision: Decision;
  readonly #modules: ActiveRouteModules;
  #hadFirstToken = false;
  #isActive = true;
  #isReleased = false;
  /** Calls whoever holds it by a name of its own, when it ends. */
  onEnded: (() => void) | undefined;

  constructor(decision: Decision, modules: ActiveRouteModules) {
    this.decision = decision;
    this.#modules = modules;
  }

  prefillDone(): void {
    if (this.#hadFirstToken) return;
    this.#hadFirstToken = true;
    if (this.#isActive) this.#modules.reservation.prefillDone();
  }

  progress(outputTokens: number): void {
    if (this.#isActive) this.#modules.reservation.progress(outputTokens);
  }

  release(usage?: Usage): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.end();
    this.#modules.onReleased({ decision: this.decision, hadFirstToken: this.#hadFirstToken, usage });
  }

  /** Counts it as active no more. What it comes to may still be told with `release`. */
  end(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    this.#modules.reservation.release();
    this.#modules.onEnded(this);
    this.onEnded?.();
  }
}
