import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KvCache } from '../../../../src/tools/demo/engines/kv-cache.js';

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

describe('the KV cache of a simulated engine', () => {
  it('keeps whole blocks, each under a hash of all tokens up to its end', () => {
    const cache = new KvCache({ tokensPerBlock: 4, totalBlocks: 100 });
    const { stored, reusedBlocks, evicted } = cache.compute(upTo(11));
    expect(stored.map(({ tokenIds }) => tokenIds)).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ]);
    expect(stored.map(({ parentHash }) => parentHash)).toEqual([undefined, stored[0]?.hash]);
    expect([reusedBlocks, evicted.length, cache.size]).toEqual([0, 0, 2]);
    const elsewhere = cache.compute([9, 9, 9, 9, 5, 6, 7, 8]).stored;
    expect(elsewhere.map(({ hash }) => hash)).not.toContain(stored[1]?.hash);
  });

  it('computes no block twice', () => {
    const cache = new KvCache({ tokensPerBlock: 4, totalBlocks: 100 });
    cache.compute(upTo(8));
    const again = cache.compute([...upTo(8), 50, 51, 52, 53]);
    expect(again.reusedBlocks).toBe(2);
    expect(again.stored.map(({ tokenIds }) => tokenIds)).toEqual([[50, 51, 52, 53]]);
  });

  it('lets go what was used longest ago, the end of a prompt before its beginning', () => {
    const cache = new KvCache({ tokensPerBlock: 1, totalBlocks: 4 });
    cache.compute([1, 2]);
    cache.compute([3, 4]);
    cache.compute([1, 2]);
    const { evicted } = cache.compute([5]);
    expect(evicted.map(({ tokenIds }) => tokenIds)).toEqual([[4]]);
  });

  it('keeps as much of a prompt that is larger than itself as it can', () => {
    const cache = new KvCache({ tokensPerBlock: 1, totalBlocks: 3 });
    cache.compute([9]);
    const { stored, evicted } = cache.compute([1, 2, 3, 4, 5]);
    expect(stored.map(({ tokenIds }) => tokenIds)).toEqual([[1], [2], [3]]);
    expect(evicted).toHaveLength(1);
    expect(cache.compute([1, 2, 3, 4, 5]).stored).toEqual([]);
  });

  it('never holds more than it has room for, nor a block without the one before it, and reports every change', () => {
    const prompts = fc.array(fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 8 }), { maxLength: 30 });
    fc.assert(
      fc.property(prompts, fc.integer({ min: 1, max: 9 }), (all, totalBlocks) => {
        const cache = new KvCache({ tokensPerBlock: 1, totalBlocks });
        const known = new Map<bigint, bigint | undefined>();
        for (const prompt of all) {
          const { stored, evicted } = cache.compute(prompt);
          for (const { hash } of evicted) expect(known.delete(hash)).toBe(true);
          for (const { hash, parentHash } of stored) {
            expect(known.has(hash)).toBe(false);
            known.set(hash, parentHash);
          }
          for (const parent of known.values()) expect(parent === undefined || known.has(parent)).toBe(true);
          expect(known.size).toBe(cache.size);
          expect(cache.size).toBeLessThanOrEqual(totalBlocks);
        }
      }),
    );
  });
});
