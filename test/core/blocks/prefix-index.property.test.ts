import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PrefixIndex } from '../../../src/core/blocks/prefix-index.js';
import { TIERS, type Tier } from '../../../src/core/blocks/tier.js';
import { packedFrom } from '../../support/packed-hashes.js';
import { ReferenceIndex } from './support/reference-index.js';

const ALL_ONES = (1n << 64n) - 1n;
/** The inverse of the constant by which the kernel spreads hashes, to make ones that it does not spread. */
const UNSPREAD = 0xf1de83e19937733dn;

/** Hashes that differ in few bits, and hashes that the table would put into one segment, or one bucket. */
const hash = fc.oneof(
  fc.constantFrom(0n, 1n, ALL_ONES),
  fc.bigInt({ min: 0n, max: 40n }),
  fc.bigInt({ min: 0n, max: 20n }).map((low) => low << 48n),
  fc.bigInt({ min: 0n, max: 20n }).map((low) => ALL_ONES - low),
  fc.bigInt({ min: 0n, max: 30n }).map(oneBucket),
);
const sequence = fc.array(hash, { maxLength: 24 });
const tier = fc.constantFrom(...TIERS);
const holder = fc.nat(11);

/** Different hashes of which the table sees the same top and the same bucket bits. */
function oneBucket(low: bigint): bigint {
  const mixed = ((0xabcn << 52n) | (7n << 24n) | low) * UNSPREAD;
  const xored = mixed & ALL_ONES;
  return xored ^ (xored >> 32n);
}

type Step =
  | {
      readonly do: 'store' | 'remove';
      readonly holder: number;
      readonly tier: Tier;
      readonly hashes: bigint[];
    }
  | { readonly do: 'drop'; readonly holder: number }
  | { readonly do: 'sweep' }
  | { readonly do: 'find'; readonly tier: Tier; readonly hashes: bigint[] }
  | { readonly do: 'held'; readonly holder: number; readonly tier: Tier; readonly hashes: bigint[] };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('store' as const), holder, tier, hashes: sequence }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), holder, tier, hashes: sequence }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), holder }) },
  { weight: 1, arbitrary: fc.constant({ do: 'sweep' as const }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('find' as const), tier, hashes: sequence }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('held' as const), holder, tier, hashes: sequence }) },
);

function found(index: PrefixIndex, hashes: readonly bigint[], deepest: Tier): Map<number, number> {
  const { count, holders, depths } = index.find(packedFrom(hashes), deepest);
  const answer = new Map(
    Array.from({ length: count }, (_, at) => [holders[at] as number, depths[at] as number]),
  );
  expect(answer.size).toBe(count);
  return answer;
}

function scanned(index: PrefixIndex, scannedTier: Tier, maxEntries: number): Map<bigint, number[]> {
  const entries = new Map<bigint, number[]>();
  let cursor: number | undefined = 0;
  while (cursor !== undefined) {
    cursor = index.scan(scannedTier, cursor, maxEntries, (lo, hi, holders) => {
      entries.set((BigInt(hi) << 32n) | BigInt(lo), [...holders]);
    });
  }
  return entries;
}

describe('a prefix index', () => {
  it('does what the plainest one does, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const index = new PrefixIndex({ maxBytes: 8 * 2 ** 20 });
        const reference = new ReferenceIndex();
        const slots = Array.from({ length: 12 }, () => index.addHolder());
        for (const one of steps) {
          if (one.do === 'sweep') index.sweep(2);
          else if (one.do === 'find')
            expect(found(index, one.hashes, one.tier)).toEqual(reference.find(one.hashes, one.tier));
          else {
            const slot = slots[one.holder] as number;
            if (one.do === 'held') {
              const bits = index.held(slot, one.tier, packedFrom(one.hashes), 0);
              const held = one.hashes.map((_, at) => ((bits >>> at) & 1) === 1);
              const entries = reference.entries(one.tier);
              expect(held).toEqual(one.hashes.map((each) => entries.get(each)?.includes(slot) === true));
            } else if (one.do === 'drop') {
              index.dropHolder(slot);
              reference.drop(slot);
              slots[one.holder] = index.addHolder();
            } else {
              const changed = index[one.do](slot, one.tier, packedFrom(one.hashes));
              expect(changed).toBe(reference[one.do](slot, one.tier, one.hashes));
              expect(index.blocksOf(slot, one.tier)).toBe(reference.blocksOf(slot, one.tier));
            }
          }
        }
        for (const each of TIERS) expect(scanned(index, each, 7)).toEqual(reference.entries(each));
        while (!index.sweep(1));
        expect(index.pairs).toBe(reference.pairs);
        expect(index.blocks).toBe(reference.blocks);
        for (const each of TIERS) expect(scanned(index, each, 1_000)).toEqual(reference.entries(each));
      }),
      { numRuns: 300 },
    );
  });
});
