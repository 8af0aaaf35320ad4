// Lists of hashes are packed, as in kv_events.proto and indexer.proto: each a little-endian u64, one after the other.

/** Bytes of one packed hash. */
export const HASH_BYTES = 8;

/** A u64 as two unsigned 32-bit words. */
export interface HashHalves {
  readonly lo: number;
  readonly hi: number;
}

/** How many hashes there are. Throws a `RangeError` when there are not whole ones alone. */
export function packedCount(hashes: Uint8Array): number {
  const count = hashes.length / HASH_BYTES;
  if (!Number.isInteger(count))
    throw new RangeError(`packed hashes are 8 bytes each, not ${hashes.length} in all`);
  return count;
}
