import { describe, expect, it } from 'vitest';
import { packedCount } from '../../../src/core/blocks/packed-hashes.js';

describe('packed hashes', () => {
  it('are counted, and distinguished from what is not whole ones', () => {
    expect(packedCount(new Uint8Array(24))).toBe(3);
    expect(packedCount(new Uint8Array(0))).toBe(0);
    expect(() => packedCount(new Uint8Array(7))).toThrow(
      new RangeError('packed hashes are 8 bytes each, not 7 in all'),
    );
  });
});
