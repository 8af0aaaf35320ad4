import type { Clock, Timer } from '../clock.js';

/** Between two looks at all sessions. */
const LOOK_INTERVAL_MS = 1_000;

/** What is looked after. */
export interface Watched {
  /** Another `LOOK_INTERVAL_MS` has passed. */
  look(): void;
}

/**
 * One timer for the heartbeat deadlines of all sessions. Sessions count looks
 * instead of reading a clock: a wall clock that steps changes nothing, a
 * message costs no timer, and when this process itself was stopped for a
 * minute, that is one look and not the end of four thousand sessions whose
 * heartbeats wait in the sockets.
 */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #watched = new Set<Watched>();
  #timer: Timer | undefined;

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** How many are looked after. */
  get size(): number {
    return this.#watched.size;
  }

  add(session: Watched): void {
    this.#watched.add(session);
    this.#timer ??= this.#clock.setTimer(LOOK_INTERVAL_MS, this.#look);
  }

  /** Harmless when it was not added. */
  delete(session: Watched): void {
    this.#watched.delete(session);
    if (this.#watched.size > 0) return;
    this.#timer?.clear();
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    this.#timer = this.#clock.setTimer(LOOK_INTERVAL_MS, this.#look);
    for (const session of this.#watched) session.look();
  };
}
