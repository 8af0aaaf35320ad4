import { packedFrom } from '../../../support/packed-hashes.js';

const MASK = (1n << 64n) - 1n;

/** The sequence hash of a block after another, for tests that need them chained and nothing else (FNV-1a, then spread). */
function chainedHash(before: bigint, block: number): bigint {
  const mixed = ((before ^ BigInt(block + 1)) * 0x100000001b3n + 0xcbf29ce484222325n) & MASK;
  return ((mixed ^ (mixed >> 29n)) * 0xbf58476d1ce4e5b9n) & MASK;
}

/** Packed sequence hashes of blocks one after the other. */
export function chainOf(blocks: readonly number[]): Uint8Array {
  let last = 0n;
  return packedFrom(
    blocks.map((block) => {
      last = chainedHash(last, block);
      return last;
    }),
  );
}
