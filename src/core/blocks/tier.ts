/**
 * Where a block lies, nearest first: the accelerator's own memory, the host's,
 * a disk, shared or remote storage. Names as in `kv_events.proto`.
 */
export const TIERS = ['device', 'host', 'disk', 'external'] as const;

/** One of `TIERS`. */
export type Tier = (typeof TIERS)[number];
