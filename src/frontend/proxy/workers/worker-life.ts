import type { Pool } from 'undici';
import type { Clock } from '../../../edge/platform/clock.js';
import { withDeadline } from '../../../edge/platform/time/deadline.js';

/**
 * When a worker was last heard, by whichever request, and the question whether
 * it is still there: a stopped engine keeps its connections, and a full one says
 * nothing of a request for minutes, but answers who asks for its models.
 */
export class WorkerLife {
  #heardMs = Number.NEGATIVE_INFINITY;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #isAsked = false;
  #isLogged = false;

  /** Something came from the worker, at this time of the monotonic clock. */
  hear(nowMs: number): void {
    this.#heardMs = nowMs;
    this.#isLogged = false;
  }

  /** A part of an answer to a request came, at this time of the monotonic clock. */
  answer(nowMs: number): void {
    this.hear(nowMs);
    this.#answeredMs = nowMs;
  }

  /** Whether it has answered any request since then, at least in part. */
  hasAnsweredSince(sinceMs: number): boolean {
    return this.#answeredMs >= sinceMs;
  }

  /** Milliseconds in which the worker has said nothing at all since `sinceMs`. */
  silentMs(sinceMs: number, nowMs: number): number {
    return nowMs - Math.max(sinceMs, this.#heardMs);
  }

  /** True once for each silence: it is to be logged. */
  isNewSilence(): boolean {
    const isNew = !this.#isLogged;
    this.#isLogged = true;
    return isNew;
  }

  /** Asks whether it is there, unless it is being asked; any answer of any status will do. */
  ask(pool: Pool, pathPrefix: string, waitMs: number, clock: Clock): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    withDeadline({ timeoutMs: waitMs }, { clock }, async (signal) => {
      // Harmless at every engine, and needs no key to be answered with a refusal.
      const { body } = await pool.request({ method: 'GET', path: `${pathPrefix}/v1/models`, signal });
      this.hear(clock.monotonicMs());
      return body.dump();
    })
      .catch(() => {
        // Silence is what was asked about; a request that waits sees that nothing was heard.
      })
      .finally(() => {
        this.#isAsked = false;
      });
  }
}
