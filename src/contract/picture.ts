import { Picture as WirePicture } from '../gen/kvaccord/v1/kv_events.js';

/**
 * How much is known of what a worker holds in its KV cache. `exact`: every
 * block that it holds, and no other. `partial`: no block that it does not
 * hold, but some may be missing. `none`: nothing.
 */
export type Picture = 'exact' | 'partial' | 'none';

/** Its number on the wire. */
export const WIRE_PICTURES: Readonly<Record<Picture, WirePicture>> = {
  exact: WirePicture.PICTURE_EXACT,
  partial: WirePicture.PICTURE_PARTIAL,
  none: WirePicture.PICTURE_NONE,
};
