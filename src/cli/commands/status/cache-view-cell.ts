import { cacheViewFromWire } from '../../../core/contract/wire/cache-view.js';
import { Picture } from '../../../gen/kvaccord/v1/kv_events.js';

/** The column that says how much is known of a cache. */
export const CACHE_VIEW_TITLE = 'CACHE VIEW';

/** How much is known of a worker's cache, for a table: `-` where there is no index, `unknown` for what this version does not know. */
export function cacheViewText(picture: Picture): string {
  return picture === Picture.UNSPECIFIED ? '-' : (cacheViewFromWire(picture) ?? 'unknown');
}
