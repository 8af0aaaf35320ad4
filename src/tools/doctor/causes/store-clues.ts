import { counted } from '../counted.js';
import type { SettingSighting } from '../evidence.js';
import { MIN_DECISIONS, type Picture } from '../picture.js';
import { isFalse, isTrue } from '../setting-words.js';
import type { ClueFor } from '../weigh.js';

/** Workers that are told to publish their KV events. */
export function publishers(picture: Picture): readonly SettingSighting[] {
  return picture
    .settings('publishes_kv_events')
    .filter(({ side, value }) => side === 'worker' && isTrue(value));
}

/** Requests were served, and no store ever came; empty when stores came or nothing tells. */
export function noStores(picture: Picture): readonly ClueFor[] {
  const { stores, decisions, routerHits } = picture;
  if (isDeaf(picture)) return [];
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
    picture.signal('parent_block_not_found') !== undefined ||
    picture.signal('block_to_remove_not_found') !== undefined;
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
export function isDeaf({ settings, evidence }: Picture): boolean {
  return (
    settings('router_uses_events').some(({ value }) => isFalse(value)) ||
    evidence.findings.some(({ ruleId }) => ruleId === 'events-ignored')
  );
}
