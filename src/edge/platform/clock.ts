import { onAbort } from './time/on-abort.js';

/** A timer that was set and can be cleared. */
export interface Timer {
  /** Stops it; harmless when it has fired. */
  clear(): void;
}

/**
 * The one way to time. Everything outside `src/edge/platform` takes a clock, so
 * that tests run on a fake one.
 */
export interface Clock {
  /** Milliseconds that only grow: deadlines and durations. Never steps. */
  monotonicMs(): number;
  /** Wall-clock milliseconds since 1970: for people to read, never to compute with. */
  wallMs(): number;
  /** Calls `fire` once, after at least `delayMs` (0 to 2^31-1; longer delays are cut to that). */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/** Longest delay that the platform's timers take: about 24.8 days. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The machine's clock. Its timers keep the process alive. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs, fire) {
    const handle = setTimeout(fire, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS));
    return { clear: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs`, or immediately when `signal` aborts. Never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = (): void => {
      timer.clear();
      leave();
      resolve();
    };
    const timer = clock.setTimer(delayMs, finish);
    const leave = onAbort(signal, finish);
  });
}
