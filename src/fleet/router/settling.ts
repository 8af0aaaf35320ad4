import type { Clock, Timer } from '../../edge/platform/clock.js';
import { Fifo } from './fifo.js';

/**
 * After a prompt was computed, by its first token or its end, until the events
 * of its blocks must be in the index: they take milliseconds, and seconds
 * where a machine is short of processors.
 * @internal
 */
export const SETTLE_MS = 2_000;

/**
 * Longest time that a prompt counts as cached where it goes and no token of it has come: it may wait there for ever.
 * @internal
 */
export const MAX_FLIGHT_MS = 120_000;

/** What is due some time after it was begun. */
export interface Settled {
  /** The index must have heard of it. */
  onSettled(): void;
  /** It has been on its way for too long. */
  onOverdue(): void;
}

/** A caller that waits in a line; one that no longer waits may be taken out. */
export interface Due {
  what: Settled | undefined;
  readonly atMs: number;
}

/** Requests that wait for the index to have heard of them. Each wait is as long as the others: two lines, and one timer. */
export class Settling {
  readonly #clock: Clock;
  readonly #settling = new Fifo<Due>();
  readonly #flying = new Fifo<Due>();
  #timer: Timer | undefined;

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** It has just been sent. */
  sent(what: Settled): Due {
    const due = { what, atMs: this.#clock.monotonicMs() + MAX_FLIGHT_MS };
    this.#flying.add(due);
    this.#setTimer();
    return due;
  }

  /** Its prompt has just been computed. */
  computed(what: Settled): void {
    this.#settling.add({ what, atMs: this.#clock.monotonicMs() + SETTLE_MS });
    this.#setTimer();
  }

  /** Nothing is waited for any more; no callback runs. */
  clear(): void {
    this.#timer?.clear();
    this.#timer = undefined;
    this.#settling.clear();
    this.#flying.clear();
  }

  #setTimer(): void {
    if (this.#timer !== undefined) return;
    const dueMs = Math.min(
      this.#settling.first?.atMs ?? Number.POSITIVE_INFINITY,
      this.#flying.first?.atMs ?? Number.POSITIVE_INFINITY,
    );
    if (dueMs === Number.POSITIVE_INFINITY) return;
    // At most so long, since what settles comes before what was sent long ago.
    const waitMs = Math.min(Math.max(0, dueMs - this.#clock.monotonicMs()), SETTLE_MS);
    this.#timer = this.#clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#run();
      this.#setTimer();
    });
  }

  #run(): void {
    const nowMs = this.#clock.monotonicMs();
    for (let due = this.#settling.first; due !== undefined && due.atMs <= nowMs; due = this.#settling.first) {
      this.#settling.drop();
      due.what?.onSettled();
    }
    for (
      let due = this.#flying.first;
      due !== undefined && (due.atMs <= nowMs || due.what === undefined);
      due = this.#flying.first
    ) {
      this.#flying.drop();
      due.what?.onOverdue();
    }
  }
}
