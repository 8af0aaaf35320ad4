import type { Random } from './random.js';

/** The first wait: long enough for a sidecar's container to come back, too short to be noticed. */
const MIN_BACKOFF_MS = 250;

/** The longest wait for a peer that answers, and fails each time. */
export const MAX_BACKOFF_MS = 15_000;

/** The longest wait for a peer that cannot be reached, while few others are gone: it is used again within two seconds. */
const MIN_RETURN_MS = 1_000;

/** With many gone one is looked for every 4.5 ms in the mean: a look costs 0.4 ms, so that all cost less than a tenth of a core. */
const RETURN_MS_PER_PEER = 6;

/**
 * Milliseconds to wait before attempt `attempt` (1 for the first after a
 * failure): 250 ms, doubled each time up to `maxMs` (default 15 s), and of that
 * a random part from one half to the whole, lest all come back in the same
 * moment.
 */
export function backoffMs(attempt: number, random: Random, maxMs: number = MAX_BACKOFF_MS): number {
  const fullMs = Math.min(maxMs, MIN_BACKOFF_MS * 2 ** Math.min(attempt - 1, 16));
  return fullMs * (0.5 + 0.5 * random.fraction());
}

/**
 * The longest wait before it is looked again for a peer that cannot be reached,
 * while `gone` peers cannot: one second for up to 166, two for 333, six for 1,000,
 * and never more than 15 s.
 */
export function returnWaitMs(gone: number): number {
  return Math.min(MAX_BACKOFF_MS, Math.max(MIN_RETURN_MS, gone * RETURN_MS_PER_PEER));
}
