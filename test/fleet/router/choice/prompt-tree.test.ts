import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PromptRun } from '../../../../src/fleet/router/choice/prompt-run.js';
import { type HeldPrompt, PromptTree } from '../../../../src/fleet/router/choice/prompt-tree.js';
import { pack } from '../../../support/kv-events.js';

const ROOM = 1_000_000;

function numbers(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => from + at);
}

/** Blocks of the runs of a prompt, the last first. */
function runsOf({ last }: HeldPrompt): number[] {
  const all: number[] = [];
  for (let run: PromptRun | undefined = last; run?.before !== undefined; run = run.before)
    all.push(run.blocks);
  return all;
}

/** Leading blocks by rank. */
function depths(tree: PromptTree, blocks: readonly number[]): Record<number, number> {
  const { count, holders, depths: found } = tree.match(pack(blocks));
  return Object.fromEntries(numbers(0, count).map((at) => [holders[at], found[at]]));
}

describe('the tree of active prompts', () => {
  it('holds what requests share once, and lets it go with the last of them', () => {
    const tree = new PromptTree(ROOM);
    const first = tree.hold(0, pack([1, 2, 3]));
    const second = tree.hold(0, pack([1, 2, 4, 5]));
    expect([tree.size, first.blocks, second.blocks]).toEqual([5, 3, 4]);
    expect([runsOf(first), runsOf(second)]).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(tree.letGo(0, first)).toBe(1);
    expect(tree.letGo(0, second)).toBe(4);
    expect(tree.size).toBe(0);
  });

  it('keeps what a shorter request still holds', () => {
    const tree = new PromptTree(ROOM);
    const [long, short, again] = [
      [1, 2, 3],
      [1, 2],
      [1, 2],
    ].map((blocks) => tree.hold(0, pack(blocks)));
    expect(tree.letGo(0, long as HeldPrompt)).toBe(1);
    expect(tree.letGo(0, short as HeldPrompt)).toBe(0);
    expect(tree.letGo(0, again as HeldPrompt)).toBe(2);
  });

  it('knows how deep each rank holds a prompt that parts in the middle of a run', () => {
    const tree = new PromptTree(ROOM);
    tree.hold(0, pack([1, 2, 3, 4, 5]));
    tree.hold(1, pack([1, 2, 3]));
    tree.hold(2, pack([1, 9]));
    tree.hold(3, pack([8]));
    expect(depths(tree, [1, 2, 3, 4, 7])).toEqual({ 0: 4, 1: 3, 2: 1 });
    expect(depths(tree, [1, 2, 7])).toEqual({ 0: 2, 1: 2, 2: 1 });
    expect(depths(tree, [])).toEqual({});
    expect(depths(tree, [7])).toEqual({});
  });

  it('makes one run again of two when the request ends for which it was cut', () => {
    const tree = new PromptTree(ROOM);
    const long = tree.hold(0, pack(numbers(0, 1_000)));
    for (const at of numbers(1, 998)) {
      const short = tree.hold(at % 7, pack(numbers(0, at)));
      const other = tree.hold(at % 5, pack([...numbers(0, at), 5_000]));
      expect(runsOf(long)).toHaveLength(2);
      tree.letGo(at % 5, other);
      tree.letGo(at % 7, short);
      expect(runsOf(long)).toEqual([1_000]);
    }
    expect(tree.size).toBe(1_000);
  });

  it('keeps runs so short that cutting one costs little, however long a prompt is', () => {
    const tree = new PromptTree(ROOM);
    const held = tree.hold(0, pack(numbers(0, 10_000)));
    expect(runsOf(held)).toEqual([1_808, 4_096, 4_096]);
    const other = tree.hold(1, pack(numbers(0, 9_000)));
    expect(depths(tree, numbers(0, 9_500))).toEqual({ 0: 9_500, 1: 9_000 });
    expect([tree.letGo(1, other), tree.letGo(0, held), tree.size]).toEqual([9_000, 10_000, 0]);
  });

  it('holds as many leading blocks as there is room for, what is held there already for nothing', () => {
    const tree = new PromptTree(6);
    const first = tree.hold(0, pack([1, 2, 3, 4]));
    const second = tree.hold(0, pack([1, 2, 3, 4, 5, 6, 7]));
    const third = tree.hold(0, pack([1, 2, 3, 9]));
    const fourth = tree.hold(1, pack([1, 2]));
    expect([first, second, third, fourth].map(({ blocks }) => blocks)).toEqual([4, 6, 3, 0]);
    expect([tree.size, tree.room]).toEqual([6, 0]);
    expect([tree.letGo(0, second), tree.letGo(1, fourth)]).toEqual([2, 0]);
    const fifth = tree.hold(1, pack([1, 2, 3]));
    expect([fifth.blocks, tree.size]).toEqual([2, 6]);
    expect([fifth, third, first].map((held, at) => tree.letGo(at === 0 ? 1 : 0, held))).toEqual([2, 0, 4]);
    expect(tree.size).toBe(0);
  });

  it('reads hashes wherever they lie in memory, by all 64 bits', () => {
    const tree = new PromptTree(ROOM);
    const hashes = [0xffff_ffff_0000_0001n, 0x1n, 0x8000_0000_0000_0000n];
    const bytes = new Uint8Array(1 + 8 * hashes.length);
    const view = new DataView(bytes.buffer);
    for (const [at, hash] of hashes.entries()) view.setBigUint64(1 + 8 * at, hash, true);
    tree.hold(3, bytes.subarray(1));
    expect(depths(tree, hashes as unknown as number[])).toEqual({ 3: 3 });
    expect(depths(tree, [1])).toEqual({});
  });

  it('finds each of many ranks, and of many prompts, while they come and go', () => {
    const prompts = fc.array(
      fc.record({ rank: fc.nat(300), blocks: fc.array(fc.nat(2), { maxLength: 5 }), ends: fc.nat(3) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(prompts, fc.array(fc.nat(2), { maxLength: 6 }), (all, asked) => {
        const tree = new PromptTree(ROOM);
        const open: { rank: number; blocks: number[]; held: HeldPrompt }[] = [];
        for (const { rank, blocks, ends } of all) {
          open.push({ rank, blocks, held: tree.hold(rank, pack(blocks)) });
          if (ends > 1) continue;
          const [gone] = open.splice(rank % open.length, 1);
          if (gone !== undefined) tree.letGo(gone.rank, gone.held);
        }
        const expected: Record<number, number> = {};
        for (const { rank, blocks } of open) {
          const first = asked.findIndex((block, at) => blocks[at] !== block);
          const depth = first === -1 ? asked.length : first;
          if (depth > (expected[rank] ?? 0)) expected[rank] = depth;
        }
        expect(depths(tree, asked)).toEqual(expected);
        for (const { rank, held } of open) tree.letGo(rank, held);
        expect(tree.size).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});
