import { Picture as WirePicture } from '../../../gen/kvaccord/v1/kv_events.js';

/**
 * How much is known of what a worker holds in its KV cache. `exact`: every
 * block that it holds, and no other. `partial`: no block that it does not
 * hold, but some may be missing. `approximate`: the blocks are known, but not
 * how the engine finds a hit among them. `doubted`: the engine's own counts
 * contradict what was predicted. `stale`: what it held when it was last heard;
 * some of that may be gone, and some may be missing. `none`: nothing.
 */
export type CacheView = 'exact' | 'partial' | 'approximate' | 'doubted' | 'stale' | 'none';

/** The best first. */
export const CACHE_VIEWS: readonly CacheView[] = [
  'exact',
  'partial',
  'approximate',
  'doubted',
  'stale',
  'none',
];

/** Its number on the wire. */
export const WIRE_CACHE_VIEWS: Readonly<Record<CacheView, WirePicture>> = {
  exact: WirePicture.EXACT,
  partial: WirePicture.PARTIAL,
  approximate: WirePicture.APPROXIMATE,
  doubted: WirePicture.DOUBTED,
  stale: WirePicture.STALE,
  none: WirePicture.NONE,
};

const CACHE_VIEW_BY_NUMBER: ReadonlyMap<WirePicture, CacheView> = new Map(
  CACHE_VIEWS.map((view) => [WIRE_CACHE_VIEWS[view], view]),
);

/** The cache view of a number on the wire; undefined for `UNSPECIFIED`, and for one that this version does not know. */
export function cacheViewFromWire(picture: WirePicture): CacheView | undefined {
  return CACHE_VIEW_BY_NUMBER.get(picture);
}

/**
 * Why the cache view of an engine is not exact that has published nothing since it
 * is followed: it is idle, and not at fault.
 */
export const NOTHING_PUBLISHED = 'the engine has published nothing yet, or keeps nothing of it';

/** What is known of the whole when this is known of its parts: the worse of two. */
export function worseCacheView(one: CacheView, other: CacheView): CacheView {
  return CACHE_VIEWS.indexOf(one) >= CACHE_VIEWS.indexOf(other) ? one : other;
}
