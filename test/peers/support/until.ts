import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningProgram } from './program.js';

/** How to wait. */
export interface UntilOptions {
  /** Default 60 s; an engine takes about 25 s to start on a quiet machine, and minutes on a busy one. */
  readonly timeoutMs?: number;
  /** Programs without which there is nothing to wait for; their logs are shown when the wait fails. */
  readonly needs?: readonly RunningProgram[];
  /** Time between two questions; default 250 ms. */
  readonly pollMs?: number;
}

const POLL_MS = 250;
const PROGRESS_MS = 15_000;

/**
 * Asks again and again until the answer is neither undefined nor false, and
 * says now and then that it still waits. Rejects when the time is up or a
 * program that is needed has ended; then the last error is the cause.
 */
export async function until<T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  options: UntilOptions = {},
): Promise<T> {
  const { timeoutMs = 60_000, needs = [], pollMs = POLL_MS } = options;
  const startedMs = performance.now();
  let progressMs = PROGRESS_MS;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      cause = error;
    }
    const tookMs = performance.now() - startedMs;
    const dead = needs.find((program) => program.status !== undefined);
    if (dead !== undefined || tookMs > timeoutMs) {
      const why =
        dead === undefined
          ? `not within ${timeoutMs / 1000} s`
          : `but ${dead.name} ended with status ${dead.status}`;
      const logs = needs.map((program) => program.logTail).join('\n');
      throw new Error(`waited for ${what}, ${why}\n${logs}`, { cause });
    }
    if (tookMs > progressMs) {
      console.log(`still waiting for ${what}, ${Math.round(tookMs / 1000)} s`);
      progressMs += PROGRESS_MS;
    }
    await sleep(pollMs);
  }
}
