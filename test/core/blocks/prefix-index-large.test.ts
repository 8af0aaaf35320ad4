import { describe, expect, it } from 'vitest';
import { PrefixIndex } from '../../../src/core/blocks/prefix-index.js';
import { TIERS, type Tier } from '../../../src/core/blocks/tier.js';
import { seededRandom } from '../../../src/edge/platform/random.js';
import { packedFrom } from '../../support/packed-hashes.js';
import { ReferenceIndex } from './support/reference-index.js';

const ALL_ONES = (1n << 64n) - 1n;
/** The inverse of the constant by which the kernel spreads hashes, to make ones that it does not spread. */
const UNSPREAD = 0xf1de83e19937733dn;

/** The hash that the kernel sees as `mixed`. */
function unspread(mixed: bigint): bigint {
  const xored = (mixed * UNSPREAD) & ALL_ONES;
  return xored ^ (xored >> 32n);
}

const FAMILIES: readonly (readonly [string, (random: () => number, index: number) => bigint])[] = [
  [
    'well spread',
    (random) => (BigInt(Math.floor(random() * 2 ** 32)) << 32n) | BigInt(Math.floor(random() * 2 ** 32)),
  ],
  ['counted', (_random, index) => BigInt(index)],
  ['counted in the top bits', (_random, index) => BigInt(index) << 40n],
  // Their segments split until the directory is longer than at first, and the tags begin again twice.
  ['alike in the top bits', (_random, index) => unspread((0xbeefn << 48n) | (BigInt(index) << 34n))],
  ['alike in the bucket', (_random, index) => unspread((BigInt(index) << 47n) | (99n << 24n))],
];

describe('a large prefix index', () => {
  it.each(FAMILIES)('does what the plainest one does with hashes that are %s', (_name, make) => {
    const { fraction: random } = seededRandom(5);
    const upTo = (limit: number): number => Math.floor(random() * limit);
    const hashes = Array.from({ length: 12_000 }, (_, index) => make(random, index));
    const index = new PrefixIndex();
    const reference = new ReferenceIndex();
    const slots = Array.from({ length: 6 }, () => index.addHolder());
    const agree = (tier: Tier): void => {
      const entries = new Map<bigint, number[]>();
      let cursor: number | undefined = 0;
      while (cursor !== undefined) {
        cursor = index.scan(tier, cursor, 5_000, (lo, hi, holders) => {
          entries.set((BigInt(hi) << 32n) | BigInt(lo), [...holders]);
        });
      }
      expect(entries).toEqual(reference.entries(tier));
    };
    for (let round = 0; round < 120; round += 1) {
      const tier: Tier = random() < 0.8 ? 'device' : 'disk';
      const from = upTo(hashes.length);
      const piece = hashes.slice(from, from + upTo(round % 3 === 0 ? 9_000 : 300));
      const which = upTo(slots.length);
      const slot = slots[which] as number;
      // Fills at first and empties in the end, so that segments split and merge.
      if (random() < (round < 60 ? 0.75 : 0.25)) {
        expect(index.store(slot, tier, packedFrom(piece))).toBe(reference.store(slot, tier, piece));
      } else if (random() < 0.95) {
        expect(index.remove(slot, tier, packedFrom(piece))).toBe(reference.remove(slot, tier, piece));
      } else {
        index.dropHolder(slot);
        reference.drop(slot);
        index.sweep(3);
        slots[which] = index.addHolder();
      }
      const { count, holders, depths } = index.find(packedFrom(piece), 'disk');
      const answer = new Map(Array.from({ length: count }, (_, at) => [holders[at], depths[at]]));
      expect(answer).toEqual(reference.find(piece, 'disk'));
      if (round % 40 === 39) for (const each of TIERS) agree(each);
    }
    for (const slot of slots) {
      for (const tier of TIERS) {
        expect(index.blocksOf(slot, tier)).toBe(reference.blocksOf(slot, tier));
        index.remove(slot, tier, packedFrom(hashes));
        reference.remove(slot, tier, hashes);
      }
    }
    while (!index.sweep(100));
    expect([index.pairs, index.blocks]).toEqual([0, 0]);
    agree('device');
  });

  it('does what the plainest one does with hundreds of holders', () => {
    const { fraction: random } = seededRandom(1);
    const upTo = (limit: number): number => Math.floor(random() * limit);
    const hashes = Array.from({ length: 12 }, (_, index) => BigInt(index));
    const index = new PrefixIndex();
    const reference = new ReferenceIndex();
    const slots = Array.from({ length: 700 }, () => index.addHolder());
    for (let round = 0; round < 250; round += 1) {
      // Some few or most holders, some or all hashes: sets of all sizes meet along a query.
      const share = random() ** 4;
      const tier: Tier = random() < 0.7 ? 'device' : 'host';
      const from = upTo(hashes.length);
      const piece = hashes.slice(from, from + 1 + upTo(4));
      const isStore = random() < 0.6;
      for (const slot of slots.filter(() => random() < share)) {
        const changed: readonly number[] = isStore
          ? [index.store(slot, tier, packedFrom(piece)), reference.store(slot, tier, piece)]
          : [index.remove(slot, tier, packedFrom(piece)), reference.remove(slot, tier, piece)];
        if (changed[0] !== changed[1]) expect.fail(`round ${round}: ${changed.join(' is not ')}`);
      }
      if (round % 20 === 19) {
        const which = upTo(slots.length);
        const slot = slots[which] as number;
        index.dropHolder(slot);
        reference.drop(slot);
        if (random() < 0.3) index.sweep(10);
        slots[which] = index.addHolder();
      }
      const asked = hashes.slice(upTo(6));
      for (const deepest of ['device', 'external'] as const) {
        const { count, holders, depths } = index.find(packedFrom(asked), deepest);
        const answer = new Map(Array.from({ length: count }, (_, at) => [holders[at], depths[at]]));
        expect(answer.size).toBe(count);
        expect(answer).toEqual(reference.find(asked, deepest));
      }
    }
    while (!index.sweep(1));
    expect([index.pairs, index.blocks]).toEqual([reference.pairs, reference.blocks]);
  });

  it('refuses hashes that no table of its kind could take apart, and keeps the others', () => {
    const index = new PrefixIndex();
    const [holder, other] = [index.addHolder(), index.addHolder()];
    const alike = Array.from({ length: 4_000 }, (_, low) => unspread((0xbeefcafen << 32n) | BigInt(low)));
    expect(() => index.store(holder, 'device', packedFrom(alike))).toThrow(/too much alike/);
    expect(index.blocksOf(holder, 'device')).toBe(2_560);
    const usual = packedFrom([1n, 2n, 3n]);
    expect(index.store(other, 'device', usual)).toBe(3);
    expect(index.find(usual, 'device').count).toBe(1);
    expect(index.remove(holder, 'device', packedFrom(alike))).toBe(2_560);
    expect(index.blocks).toBe(3);
  });
});
