import { describe, expect, it } from 'vitest';
import { canaryLengths, MAX_CANARY_TOKENS } from '../../../../src/worker/sidecar/canary/canary-size.js';

describe('how long the prompt of the canary is', () => {
  it('is two blocks and a half, and not too short where blocks are small', () => {
    expect(canaryLengths(32, 2_048)).toEqual([80]);
    expect(canaryLengths(1, 2_048)).toEqual([49]);
    expect(canaryLengths(16, undefined)).toEqual([56]);
    expect(canaryLengths(1_056, 8_192)).toEqual([2_640]);
  });

  it('is one block where the model has no room for two, and none where it has no room for one', () => {
    expect(canaryLengths(1_056, 2_048)).toEqual([1_584]);
    expect(canaryLengths(1_056, 1_056)).toEqual([]);
    expect(canaryLengths(1_048_576, 2_000_000)).toEqual([]);
  });

  it('grows while nobody knows the size, and never beyond its bound', () => {
    expect(canaryLengths(undefined, undefined)).toEqual([320, 2_640, 10_240]);
    expect(canaryLengths(undefined, 2_048)).toEqual([320, 1_584]);
    for (let size = 1; size < 100_000; size = size * 3 + 1) {
      for (const length of canaryLengths(size, undefined))
        expect(length).toBeLessThanOrEqual(MAX_CANARY_TOKENS);
    }
  });
});
