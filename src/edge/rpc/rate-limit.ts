import type { Clock } from '../platform/clock.js';

/** A token bucket: `perSecond` on average, and as many together after a second of quiet. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledAtMs: number;

  constructor(options: { readonly perSecond: number }, modules: { readonly clock: Clock }) {
    this.#perSecond = options.perSecond;
    this.#clock = modules.clock;
    this.#tokens = options.perSecond;
    this.#filledAtMs = modules.clock.monotonicMs();
  }

  /** Whether one more may pass now; counts it when it may. */
  tryTake(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#perSecond, this.#tokens + gained);
    this.#filledAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
