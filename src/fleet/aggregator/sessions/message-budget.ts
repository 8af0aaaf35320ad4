/** Messages per second that a worker may send on average: a hundred times what a busy one does. */
export const MESSAGES_PER_SECOND = 20;

/** Bytes per second that a worker may send on average: fifty full reports of a large worker. */
export const BYTES_PER_SECOND: number = 1024 * 1024;

/** How far a worker may run ahead of its average, in milliseconds of it: 40 messages or 2 MiB in one burst. */
const BURST_MS = 2_000;

/**
 * How much one worker may send: messages and bytes, both as time. Each message
 * costs the time in which it would be fair, and a worker that is ahead by more
 * than the burst has to wait. One number for each worker.
 */
export class MessageBudget {
  #paidUntilMs = Number.NEGATIVE_INFINITY;

  /** Counts a message; gives how many milliseconds to wait before the next is taken, 0 for none. */
  take(nowMs: number, sizeBytes: number): number {
    const costMs = Math.max(1_000 / MESSAGES_PER_SECOND, (sizeBytes / BYTES_PER_SECOND) * 1_000);
    this.#paidUntilMs = Math.max(this.#paidUntilMs, nowMs - BURST_MS) + costMs;
    return Math.max(0, this.#paidUntilMs - nowMs);
  }
}
