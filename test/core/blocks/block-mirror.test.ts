import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockMirror, tierBit, traitsOf } from '../../../src/core/blocks/block-mirror.js';
import { mirrorPieces } from '../../../src/core/blocks/mirror-pieces.js';
import { TIERS } from '../../../src/core/blocks/tier.js';

const DEVICE = tierBit('device');
const HOST = tierBit('host');

interface Block {
  readonly sequence: number;
  readonly tokensPerBlock: number;
  readonly tiers: number;
  readonly hidden: boolean;
}

/** Adds a block of sixteen tokens on the device, unless given otherwise. */
function add(
  mirror: BlockMirror,
  lo: number,
  hi: number,
  sequence: number,
  more: Partial<Block> = {},
): boolean {
  const { tokensPerBlock = 16, tiers = DEVICE, hidden = false } = more;
  return mirror.add(lo, hi, sequence, 0, 0, traitsOf(tokensPerBlock, tiers, hidden));
}

/** Everything a snapshot reports, as `tier width sequence`. */
function changesOf(mirror: BlockMirror, step: number, between: () => void = () => {}): string[] {
  const pieces = mirrorPieces(mirror, step);
  const all: string[] = [];
  for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) {
    const { sequenceHashes, tier, tokensPerBlock } = piece;
    expect(sequenceHashes.length).toBeGreaterThan(0);
    expect(sequenceHashes.length).toBeLessThanOrEqual(8 * step);
    const view = new DataView(sequenceHashes.buffer, sequenceHashes.byteOffset);
    for (let at = 0; at < sequenceHashes.length; at += 8) {
      all.push(`${tier} ${tokensPerBlock} ${view.getBigUint64(at, true)}`);
    }
    between();
  }
  return all;
}

describe('a block mirror', () => {
  it('finds what was added and nothing else, also when hashes share their words', () => {
    const mirror = new BlockMirror(100);
    add(mirror, 1, 2, 10);
    mirror.add(2, 1, 11, 0xffff_ffff, 7, traitsOf(1_048_576, DEVICE, false));
    add(mirror, 0, 0, 12, { tiers: DEVICE | HOST, hidden: true, tokensPerBlock: 1 });
    expect(mirror.find(1, 1)).toBe(-1);
    expect(mirror.find(2, 2)).toBe(-1);
    expect(mirror.sequenceLo(mirror.find(1, 2))).toBe(10);
    const second = mirror.find(2, 1);
    expect([mirror.sequenceHi(second), mirror.namespace(second), mirror.tokensPerBlock(second)]).toEqual([
      0xffff_ffff, 7, 1_048_576,
    ]);
    const third = mirror.find(0, 0);
    expect([mirror.tiers(third), mirror.hidden(third), mirror.tokensPerBlock(third)]).toEqual([3, true, 1]);
  });

  it('takes no more than its bound, and does again after a removal', () => {
    const mirror = new BlockMirror(2);
    expect(add(mirror, 1, 0, 1)).toBe(true);
    expect(add(mirror, 2, 0, 2)).toBe(true);
    expect(add(mirror, 3, 0, 3)).toBe(false);
    expect(mirror.size).toBe(2);
    mirror.remove(mirror.find(1, 0));
    expect(add(mirror, 3, 0, 3)).toBe(true);
  });

  it('counts the blocks of each namespace', () => {
    const mirror = new BlockMirror(100);
    mirror.add(1, 0, 1, 0, 60_000, traitsOf(16, DEVICE, false));
    mirror.add(2, 0, 2, 0, 60_000, traitsOf(16, DEVICE, false));
    mirror.remove(mirror.find(1, 0));
    expect([mirror.countIn(60_000), mirror.countIn(0), mirror.countIn(70_000)]).toEqual([1, 0, 0]);
  });

  it('gives memory back as blocks go, and all of it when cleared', () => {
    const mirror = new BlockMirror(1_000_000);
    const empty = mirror.byteLength;
    for (let i = 0; i < 100_000; i++) add(mirror, i, 0, i);
    const full = mirror.byteLength;
    expect(full / 100_000).toBeLessThan(40);
    for (let i = 0; i < 99_000; i++) mirror.remove(mirror.find(i, 0));
    expect(mirror.byteLength).toBeLessThan(full / 10);
    mirror.clear();
    expect([mirror.size, mirror.find(99_500, 0), mirror.byteLength]).toEqual([0, -1, empty]);
  });

  it('shows hidden blocks to nobody', () => {
    const mirror = new BlockMirror(100);
    add(mirror, 1, 0, 1);
    add(mirror, 2, 0, 2, { hidden: true });
    mirror.hide(mirror.find(1, 0));
    expect(mirror.size).toBe(2);
    expect(changesOf(mirror, 8)).toEqual([]);
  });
});

/** One step of a random life; hashes come from a small range, so that they meet. */
type Step =
  | { readonly do: 'add'; readonly hash: number; readonly tiers: number; readonly width: number }
  | { readonly do: 'tiers'; readonly hash: number; readonly tiers: number }
  | { readonly do: 'hide'; readonly hash: number }
  | { readonly do: 'remove'; readonly hash: number }
  | { readonly do: 'clear' };

const hash = fc.integer({ min: 0, max: 300 });
const tiers = fc.integer({ min: 1, max: 15 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      hash,
      tiers,
      width: fc.constantFrom(1, 16, 1_048_576),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('tiers' as const), hash, tiers }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hide' as const), hash }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('remove' as const), hash }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
);

/** Words of a hash: some differ in the low word only, some in the high one. */
function wordsOf(hash: number): [number, number] {
  return [hash % 17, Math.floor(hash / 17)];
}

class Model {
  readonly blocks = new Map<number, Block>();

  take(mirror: BlockMirror, step: Step): void {
    if (step.do === 'clear') {
      mirror.clear();
      this.blocks.clear();
      return;
    }
    const [lo, hi] = wordsOf(step.hash);
    const at = mirror.find(lo, hi);
    const held = this.blocks.get(step.hash);
    expect(at >= 0).toBe(held !== undefined);
    if (step.do === 'add') {
      if (held !== undefined) return;
      const { tiers, width } = step;
      const added = { sequence: step.hash, tiers, tokensPerBlock: width, hidden: false };
      expect(add(mirror, lo, hi, step.hash, added)).toBe(true);
      this.blocks.set(step.hash, added);
    } else if (held === undefined) return;
    else if (step.do === 'remove') {
      mirror.remove(at);
      this.blocks.delete(step.hash);
    } else if (step.do === 'hide') {
      mirror.hide(at);
      this.blocks.set(step.hash, { ...held, hidden: true });
    } else {
      mirror.setTiers(at, step.tiers);
      this.blocks.set(step.hash, { ...held, tiers: step.tiers });
    }
  }

  reported(): string[] {
    return [...this.blocks.values()]
      .filter((held) => !held.hidden)
      .flatMap((held) =>
        TIERS.filter((tier) => (held.tiers & tierBit(tier)) !== 0).map(
          (tier) => `${tier} ${held.tokensPerBlock} ${held.sequence}`,
        ),
      )
      .sort();
  }
}

describe('a block mirror against a plain map', () => {
  it('holds the same after any life', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
        const mirror = new BlockMirror(10_000);
        const model = new Model();
        for (const each of steps) model.take(mirror, each);
        expect(mirror.size).toBe(model.blocks.size);
        expect(mirror.hiddenCount).toBe([...model.blocks.values()].filter(({ hidden }) => hidden).length);
        for (const [held, expected] of model.blocks) {
          const [lo, hi] = wordsOf(held);
          const at = mirror.find(lo, hi);
          expect(mirror.tiers(at)).toBe(expected.tiers);
          expect(mirror.hidden(at)).toBe(expected.hidden);
          expect(mirror.tokensPerBlock(at)).toBe(expected.tokensPerBlock);
        }
        expect(changesOf(mirror, 7).sort()).toEqual(model.reported());
      }),
      { numRuns: 150 },
    );
  });

  it('reports in a snapshot every block that stays, whatever goes on between its pieces', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 100, maxLength: 400 }),
        fc.array(fc.array(step, { maxLength: 30 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 40 }),
        (before, meanwhile, size) => {
          const mirror = new BlockMirror(10_000);
          const model = new Model();
          for (const each of before) model.take(mirror, each);
          let stayed = new Set(model.reported());
          let round = 0;
          const all = new Set(
            changesOf(mirror, size, () => {
              for (const each of meanwhile[round] ?? []) {
                model.take(mirror, each);
                const now = new Set(model.reported());
                stayed = new Set([...stayed].filter((line) => now.has(line)));
              }
              round += 1;
            }),
          );
          expect([...stayed].filter((line) => !all.has(line))).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});
