// Lists of hashes as the product packs them, little-endian u64 one after the other, for tests that write bigints.

/** Packs hashes. */
export function packedFrom(hashes: readonly bigint[]): Uint8Array {
  const packed = new Uint8Array(8 * hashes.length);
  const view = new DataView(packed.buffer);
  for (const [index, hash] of hashes.entries()) view.setBigUint64(8 * index, hash, true);
  return packed;
}

/** The hash at `index`. */
export function bigintAt(hashes: Uint8Array, index: number): bigint {
  return new DataView(hashes.buffer, hashes.byteOffset + 8 * index, 8).getBigUint64(0, true);
}
