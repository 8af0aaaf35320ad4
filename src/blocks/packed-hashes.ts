// Lists of hashes are packed, as in kv_events.proto and indexer.proto: each a little-endian u64, one after the other.

const HASH_BYTES = 8;

/** A u64 as two unsigned 32-bit words. */
export interface HashWords {
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

/** The hash at `index`. */
export function wordsAt(hashes: Uint8Array, index: number): HashWords {
  const at = HASH_BYTES * index;
  if (!Number.isInteger(index) || at < 0 || at + HASH_BYTES > hashes.length)
    throw new RangeError(`there is no hash at ${index} of ${hashes.length / HASH_BYTES}`);
  return { lo: wordAt(hashes, at), hi: wordAt(hashes, at + 4) };
}

/** The hash at `index`, for people: hot paths have no bigints. */
export function bigintAt(hashes: Uint8Array, index: number): bigint {
  const { lo, hi } = wordsAt(hashes, index);
  return (BigInt(hi) << 32n) | BigInt(lo);
}

/** Packs hashes that came as bigints. */
export function packedFrom(hashes: readonly bigint[]): Uint8Array {
  const packed = new Uint8Array(HASH_BYTES * hashes.length);
  const view = new DataView(packed.buffer);
  for (const [index, hash] of hashes.entries()) view.setBigUint64(HASH_BYTES * index, hash, true);
  return packed;
}

/** The little-endian u32 at the byte `at`. */
function wordAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}
