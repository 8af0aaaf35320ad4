/**
 * How much is known of what a worker holds in its KV cache. `exact`: every
 * block that it holds, and no other. `partial`: no block that it does not
 * hold, but some may be missing. `none`: nothing.
 */
export type Picture = 'exact' | 'partial' | 'none';
