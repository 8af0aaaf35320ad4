import { describe, expect, it } from 'vitest';
import { bigintAt, packedCount, packedFrom, wordsAt } from '../../src/blocks/packed-hashes.js';

describe('packed hashes', () => {
  it('are little-endian, one after the other', () => {
    expect([...packedFrom([0x0807060504030201n, 2n ** 64n - 1n])]).toEqual([
      ...[1, 2, 3, 4, 5, 6, 7, 8],
      ...[255, 255, 255, 255, 255, 255, 255, 255],
    ]);
  });

  it('are counted, and told apart from what is not whole ones', () => {
    expect(packedCount(new Uint8Array(24))).toBe(3);
    expect(packedCount(new Uint8Array(0))).toBe(0);
    expect(() => packedCount(new Uint8Array(7))).toThrow(
      new RangeError('packed hashes are 8 bytes each, not 7 in all'),
    );
  });

  it('are read as words and as bigints, aligned or not', () => {
    const shifted = new Uint8Array(17);
    shifted.set(packedFrom([0xfedcba9876543210n, 0x80000000_ffffffffn]), 1);
    const hashes = shifted.subarray(1);
    expect(wordsAt(hashes, 0)).toEqual({ lo: 0x76543210, hi: 0xfedcba98 });
    expect(wordsAt(hashes, 1)).toEqual({ lo: 0xffff_ffff, hi: 0x8000_0000 });
    expect(bigintAt(hashes, 1)).toBe(0x80000000_ffffffffn);
  });

  it.each([-1, 2, 1.5, Number.NaN])('have none at %s of two', (index) => {
    expect(() => wordsAt(packedFrom([1n, 2n]), index)).toThrow(RangeError);
  });
});
