import type { Random } from './random.js';

/** The first wait: long enough for a sidecar's container to come back, too short to be noticed. */
const MIN_BACKOFF_MS = 250;

/** The longest wait: a worker that returns is seen within it, and 4,000 that are gone cost 270 attempts a second. */
export const MAX_BACKOFF_MS = 15_000;

/**
 * Milliseconds to wait before attempt `attempt` (1 for the first after a
 * failure): 250 ms, doubled each time up to 15 s, and of that a random part
 * from one half to the whole, lest all come back in the same moment.
 */
export function backoffMs(attempt: number, random: Random): number {
  const fullMs = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(attempt - 1, 16));
  return fullMs * (0.5 + 0.5 * random.fraction());
}
