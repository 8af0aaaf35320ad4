import type { Random } from '../random.js';

/** The first wait: long enough for a sidecar's container to come back, too short to be noticed. */
const MIN_BACKOFF_MS = 250;

/** The longest wait for a peer that answers, and fails each time. */
export const MAX_BACKOFF_MS = 15_000;

/** The longest wait for a peer that cannot be reached, while few others are gone: it is used again within two seconds. */
const MIN_RETURN_MS = 1_000;

/**
 * What one look for a peer costs, as a share of the wait for each that is gone,
 * so that looking for all of them costs a bounded part of a core: a whole
 * connection that fails takes 0.4 ms of processor time, and 1,000 peers that
 * refuse were seen to cost a fifth of a core by knocks (TCP alone).
 */
const RETURN_MS_PER_PEER = { connect: 6, knock: 5 / 3 } as const;

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
 * by a whole connection or by a knock, while `gone` peers are looked for in the
 * same way. With knocks one second for up to 600 peers, 1.7 for 1,000; with
 * connections one second for up to 166, two for 333, six for 1,000; never more
 * than 15 s.
 */
export function returnWaitMs(gone: number, by: 'connect' | 'knock'): number {
  return Math.min(MAX_BACKOFF_MS, Math.max(MIN_RETURN_MS, gone * RETURN_MS_PER_PEER[by]));
}
