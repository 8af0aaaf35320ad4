import type { Clock, Timer } from '../../src/edge/platform/clock.js';

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #nowMs = 0;
  #wallOffsetMs = Date.UTC(2026, 0, 1);
  #timers = new Set<{ atMs: number; fire: () => void }>();

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), fire };
    this.#timers.add(timer);
    return { clear: () => this.#timers.delete(timer) };
  }

  /** Timers that are set and have not fired. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Moves the wall clock alone, as an administrator or NTP would. */
  stepWallMs(stepMs: number): void {
    this.#wallOffsetMs += stepMs;
  }

  /** Moves time on, fires what falls due in order, and lets promises settle between. */
  async advanceMs(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs;
    await settle();
    for (;;) {
      const due = [...this.#timers].filter((t) => t.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#nowMs = due.atMs;
      due.fire();
      await settle();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}
