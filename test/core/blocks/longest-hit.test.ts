import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HitGroup, hitRules, longestHit } from '../../../src/core/blocks/longest-hit.js';

const full = (tokensPerBlock: number): HitGroup => ({
  kind: 'full_attention',
  tokensPerBlock,
  dropsLastBlock: false,
});
const sliding = (tokensPerBlock: number, windowTokens: number): HitGroup => ({
  kind: 'sliding_window',
  tokensPerBlock,
  windowTokens,
  dropsLastBlock: false,
});
const chunked = (tokensPerBlock: number, windowTokens: number): HitGroup => ({
  kind: 'chunked_local',
  tokensPerBlock,
  windowTokens,
  dropsLastBlock: false,
});
const state = (tokensPerBlock: number): HitGroup => ({
  kind: 'state',
  tokensPerBlock,
  dropsLastBlock: false,
});
const dropping = (group: HitGroup): HitGroup => ({ ...group, dropsLastBlock: true });

/** Numbers from one up to, but not including, another. */
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

/** The hit where each group, in the order of the list, holds these blocks of the prompt. */
function hitOf(
  groups: readonly HitGroup[],
  held: readonly (readonly number[])[],
  promptTokens: number,
  alignmentTokens?: number,
): number {
  const blocks = held.map((numbers) => new Set(numbers));
  const isPresent = (group: number, block: number): boolean => blocks[group]?.has(block) === true;
  return longestHit(hitRules(groups, alignmentTokens), isPresent, promptTokens);
}

describe('a hit in one group of full attention', () => {
  it('ends before the first block that is not cached', () => {
    expect(hitOf([full(16)], [[0, 1, 3]], 100)).toBe(32);
  });

  it('leaves the last token of a prompt of whole blocks to be computed', () => {
    expect(hitOf([full(16)], [[0, 1, 2, 3]], 64)).toBe(48);
    expect(hitOf([full(16)], [[0, 1, 2, 3]], 65)).toBe(64);
  });

  it('is one block shorter for a draft model', () => {
    expect(hitOf([dropping(full(16))], [[0, 1, 2, 3]], 100)).toBe(48);
    expect(hitOf([dropping(full(16))], [[0]], 100)).toBe(0);
    expect(hitOf([dropping(full(16))], [[]], 100)).toBe(0);
  });

  it('is nothing for a prompt of one token or none', () => {
    expect(hitOf([full(1)], [[0]], 1)).toBe(0);
    expect(hitOf([full(1)], [[0]], 0)).toBe(0);
  });
});

describe('a hit in full attention and a sliding window', () => {
  const gptOss = [full(32), sliding(32, 128)];

  it('is found again at the end of what was computed', () => {
    // 900 tokens: 28 whole blocks, of which the window group keeps the last four.
    expect(hitOf(gptOss, [range(0, 28), range(24, 28)], 900)).toBe(896);
  });

  it('is none for a shorter prompt, whose window is gone', () => {
    expect(hitOf(gptOss, [range(0, 28), range(24, 28)], 700)).toBe(0);
  });

  it('needs as many blocks as cover the window without the token that is computed', () => {
    expect(hitOf([full(32), sliding(32, 129)], [range(0, 28), range(24, 28)], 900)).toBe(896);
    expect(hitOf([full(32), sliding(32, 130)], [range(0, 28), range(24, 28)], 900)).toBe(0);
    expect(hitOf([full(32), sliding(32, 1)], [range(0, 28), [27]], 900)).toBe(896);
  });

  it('ends at the last place before which the window has no gap', () => {
    expect(hitOf(gptOss, [range(0, 28), [...range(10, 20), ...range(25, 28)]], 900)).toBe(640);
  });

  it('counts from the start of the prompt where that is nearer than the window', () => {
    expect(hitOf(gptOss, [range(0, 28), [0, 1]], 900)).toBe(64);
  });

  it('is found whichever group the engine numbers first', () => {
    expect(hitOf([sliding(32, 128), full(32)], [range(24, 28), range(0, 28)], 900)).toBe(896);
  });

  it('needs every one of several groups with the same window', () => {
    const gemma = [full(32), sliding(32, 128), sliding(32, 128)];
    expect(hitOf(gemma, [range(0, 28), range(20, 28), range(16, 27)], 900)).toBe(864);
  });

  it('ends on a multiple of all widths', () => {
    const held = [range(0, 3), range(0, 40)];
    expect(hitOf([full(64), sliding(16, 32)], held, 1_000)).toBe(192);
    expect(hitOf([full(64), sliding(16, 32)], [range(0, 3), range(0, 11)], 1_000)).toBe(128);
    expect(hitOf([full(64), sliding(16, 32)], held, 1_000, 128)).toBe(128);
  });

  it('needs the block that a draft model drops in the window group as well', () => {
    const eagle = gptOss.map(dropping);
    expect(hitOf(eagle, [range(0, 28), range(23, 28)], 900)).toBe(864);
    expect(hitOf(eagle, [range(0, 28), range(24, 28)], 900)).toBe(0);
  });
});

describe('a hit in sliding windows alone', () => {
  it('needs nothing before the window', () => {
    expect(hitOf([sliding(32, 128)], [range(24, 28)], 900)).toBe(896);
    expect(hitOf([sliding(32, 128)], [range(24, 27)], 900)).toBe(0);
  });

  it('is one block shorter for a draft model, and needs one more', () => {
    expect(hitOf([dropping(sliding(32, 128))], [range(23, 28)], 900)).toBe(864);
    expect(hitOf([dropping(sliding(32, 128))], [range(24, 28)], 900)).toBe(0);
    expect(hitOf([dropping(sliding(32, 128))], [[0, 1]], 900)).toBe(32);
  });
});

describe('a hit in full attention and a state', () => {
  const qwen3next = [full(1_056), state(1_056)];

  it('ends where a state was kept', () => {
    expect(hitOf(qwen3next, [[0, 1, 2], [1]], 4_000)).toBe(2_112);
    expect(hitOf(qwen3next, [[0], [0, 1]], 4_000)).toBe(1_056);
    expect(hitOf(qwen3next, [[0, 1], [2]], 4_000)).toBe(0);
  });

  it('ends on a multiple of both widths', () => {
    expect(hitOf([full(96), state(64)], [range(0, 10), range(0, 20)], 700)).toBe(576);
    expect(hitOf([full(96), state(64)], [range(0, 10), [0, 1, 2, 3, 5]], 700)).toBe(384);
  });

  it('needs no further state for a draft model', () => {
    expect(hitOf(qwen3next.map(dropping), [[0, 1, 2], [1]], 4_000)).toBe(2_112);
    expect(hitOf(qwen3next.map(dropping), [[0, 1], [1]], 4_000)).toBe(0);
  });
});

describe('a hit in full attention and chunks', () => {
  const llama4 = [full(16), chunked(16, 64)];

  it('needs the blocks of the chunk in which it ends', () => {
    expect(hitOf(llama4, [range(0, 10), [8, 9]], 170)).toBe(160);
    expect(hitOf(llama4, [range(0, 10), [8]], 170)).toBe(144);
  });

  it('needs no block of the chunk group at the start of a chunk', () => {
    expect(hitOf(llama4, [range(0, 10), []], 170)).toBe(128);
    expect(hitOf(llama4, [range(0, 6), []], 170)).toBe(64);
  });
});

describe('any hit without a draft model', () => {
  const width = fc.constantFrom(4, 8, 12, 16);
  const group: fc.Arbitrary<HitGroup> = fc.oneof(
    width.map(full),
    width.map(state),
    fc.tuple(width, fc.integer({ min: 1, max: 60 })).map(([tokens, window]) => sliding(tokens, window)),
  );
  const groups = fc.array(group, { minLength: 1, maxLength: 4 });

  /** Whether a hit of so many tokens needs no block that a group does not have. */
  function isWhole(
    { kind, tokensPerBlock, windowTokens = 1 }: HitGroup,
    held: ReadonlySet<number>,
    hit: number,
  ) {
    const end = hit / tokensPerBlock;
    const window = Math.max(1, Math.ceil((windowTokens - 1) / tokensPerBlock));
    const from = {
      full_attention: 0,
      sliding_window: Math.max(0, end - window),
      state: end - 1,
      chunked_local: 0,
    };
    return range(from[kind], end).every((block) => held.has(block));
  }

  it('is the longest aligned prefix of which every group has what it needs', () => {
    const blocks = fc.array(fc.array(fc.nat(40), { maxLength: 40 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(
        groups,
        blocks,
        fc.integer({ min: 0, max: 200 }),
        fc.boolean(),
        (all, lists, tokens, isDense) => {
          // Dense caches with a few gaps, or sparse ones.
          const held = lists.map((list) =>
            isDense ? range(0, 51).filter((block) => !list.slice(0, 3).includes(block)) : list,
          );
          const alignment = hitRules(all).alignmentTokens;
          let longest = 0;
          for (let hit = alignment; hit < tokens; hit += alignment) {
            if (all.every((each, place) => isWhole(each, new Set(held[place]), hit))) longest = hit;
          }
          expect(hitOf(all, held, tokens)).toBe(longest);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
