import type { Measurements } from './measurements.js';

/** Readings with running requests from which on an engine that reports no tokens is busy: one comes every ten seconds. */
const BUSY_READINGS = 3;
/** Of fewer prompt tokens the first requests are most, and those are never found. */
const ENOUGH_TOKENS = 20_000;

/** Whether engines served so much that their caches had something to find, by the tokens that they computed or by their readings. */
export function wereBusy({ engineHits, evidence }: Pick<Measurements, 'engineHits' | 'evidence'>): boolean {
  if (engineHits === undefined) return false;
  return engineHits.promptTokens > 0
    ? engineHits.promptTokens >= ENOUGH_TOKENS
    : evidence.logs.some(({ engine }) => (engine?.runningRequests?.count ?? 0) >= BUSY_READINGS);
}
