import type { ClueFor } from '../confidence.js';
import { counted } from '../counted.js';
import type { SettingSighting } from '../evidence.js';
import { MIN_DECISIONS } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse, isTrue } from '../setting-values.js';

/** Workers that are told to publish their KV events. */
export function publishers(measurements: Measurements): readonly SettingSighting[] {
  return measurements
    .settings('publishes_kv_events')
    .filter(({ side, value }) => side === 'worker' && isTrue(value));
}

/** Requests were served, and no store ever came; empty when stores came or nothing tells. */
export function noStores(measurements: Measurements): readonly ClueFor[] {
  const { stores, decisions, routerHits } = measurements;
  if (isDeaf(measurements)) return [];
  const served = Math.max(0, ...routerHits.map(({ count }) => count));
  if (stores !== undefined) {
    return stores.applied + stores.parentMissing === 0 && served >= MIN_DECISIONS
      ? [
          {
            says: `The router got no store at all while it served ${counted(served, 'request')}.`,
            origin: stores.origin,
            weight: 'signature',
            symptom: 'no_stores',
          },
        ]
      : [];
  }
  const warns =
    measurements.signal('parent_block_not_found') !== undefined ||
    measurements.signal('block_to_remove_not_found') !== undefined;
  return decisions?.largestTreeSize === 0 && decisions.told >= MIN_DECISIONS && !warns
    ? [
        {
          says: `"tree size: 0" in all of ${counted(decisions.told, 'decision')}, and no warning of a store that failed: none seems to come.`,
          origin: decisions.origin,
          weight: 'sign',
          symptom: 'no_stores',
        },
      ]
    : [];
}

/** A router that is told not to read events gets none, and that is no fault of those who publish. */
export function isDeaf({ settings, evidence }: Measurements): boolean {
  return (
    settings('router_uses_events').some(({ value }) => isFalse(value)) ||
    evidence.findings.some(({ ruleId }) => ruleId === 'events-ignored')
  );
}
