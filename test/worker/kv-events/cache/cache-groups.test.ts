import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../../../src/core/blocks/block-hasher.js';
import { batchOf, ChangeReader, makeCache, unpack } from '../support/engine-payloads.js';
import {
  eventsIn,
  GROUP_RECORDINGS,
  promptsOf,
  readGroupRecording,
  rootPromptsOf,
  sequenceHashOf,
} from '../support/group-recordings.js';

const FULL = { group_idx: 1, kv_cache_spec_kind: 'full_attention' };
const WINDOW = { group_idx: 0, kv_cache_spec_kind: 'sliding_window', kv_cache_spec_sliding_window: 4 };

/** A store in blocks of two tokens, as vLLM sends it. */
function store(
  group: object,
  hashes: readonly number[],
  tokens: readonly number[],
  more: object = {},
): object {
  const event = {
    type: 'BlockStored',
    block_hashes: hashes,
    token_ids: tokens,
    block_size: 2,
    medium: 'GPU',
  };
  return { ...event, ...group, ...more };
}

function remove(group: number, ...hashes: readonly number[]): object {
  return { type: 'BlockRemoved', block_hashes: hashes, group_idx: group, medium: 'GPU' };
}

function setUp(options: { maxBlocks?: number } = {}) {
  const made = makeCache(options);
  const reader = new ChangeReader();
  const hash = (...prompt: readonly number[]): bigint =>
    unpack(
      made.hasher.hashTokens(Uint32Array.from(prompt), {
        tokensPerBlock: 2,
        unit: 'token',
        seed: made.hasher.seedOf('', ''),
      }).sequenceHashes,
    ).at(-1) ?? 0n;
  return {
    ...made,
    apply: (...events: readonly unknown[]) => {
      const applied = made.cache.apply(batchOf(...events));
      reader.apply(applied.changes);
      expect(reader.held()).toEqual(made.held());
      return applied;
    },
    /** The block that ends a prompt. */
    main: (...prompt: readonly number[]) => `device 2 ${hash(...prompt)}`,
    window: (...prompt: readonly number[]) => `group 0 device 2 ${hash(...prompt)}`,
  };
}

describe.each(GROUP_RECORDINGS)('the recording of %s', (name) => {
  const { batches, hashes } = readGroupRecording(name);
  const groups = Object.keys(hashes).map(Number);
  const main = Math.max(...groups);

  it('reaches as many blocks in every group as the engine has, after every batch', () => {
    const { cache, counted, held } = makeCache();
    const reader = new ChangeReader();
    for (const batch of batches) {
      const { orphans, problem, changes } = cache.apply(batch.payload);
      expect([orphans, problem]).toEqual([0, undefined]);
      reader.apply(changes);
      const all = held();
      const inGroup = (group: number): number =>
        all.filter((block) =>
          group === main ? !block.startsWith('group') : block.startsWith(`group ${group} `),
        ).length;
      expect(
        Object.fromEntries(Object.keys(batch.held).map((group) => [group, inGroup(Number(group))])),
      ).toEqual(batch.held);
    }
    expect(reader.held()).toEqual(held());
    expect(counted().filter((line) => /unknown|mismatch|refused|unlearned/.test(line))).toEqual([]);
    expect([cache.flaw, cache.approximation]).toEqual([undefined, undefined]);
  });

  it.skipIf(name === 'mistral-window')(
    'holds the blocks of the prompts that the engine has, chained from their first tokens',
    () => {
      const { cache, held } = makeCache();
      for (const { payload } of batches) cache.apply(payload);
      const hasher = new BlockHasher();
      const prompts = promptsOf(batches, main);
      const width = name === 'qwen3next' ? 544 : 32;
      const expected = groups.flatMap((group) =>
        (hashes[group] ?? []).map((engineHash) => {
          const prefix = group === main ? '' : `group ${group} `;
          return `${prefix}device ${width} ${sequenceHashOf(hasher, prompts.get(engineHash) ?? [], width)}`;
        }),
      );
      expect(held()).toEqual(expected.sort());
    },
  );
});

describe('the recording of a model with sliding windows alone', () => {
  it('holds the last blocks of each prompt that restarts, chained from its first tokens', () => {
    const { batches } = readGroupRecording('mistral-window');
    const { cache } = makeCache();
    const hasher = new BlockHasher();
    let checked = 0;
    for (const { payload } of batches) {
      const { changes } = cache.apply(payload);
      const prompts = rootPromptsOf(payload);
      // A batch of one prompt: all that it stores belongs to it.
      if (prompts.length !== 1 || eventsIn(payload) !== 1) continue;
      const options = { tokensPerBlock: 32, unit: 'token', seed: hasher.seedOf('', '') } as const;
      const chain = unpack(hasher.hashTokens(Uint32Array.from(prompts[0] ?? []), options).sequenceHashes);
      const stored = changes.flatMap((change) =>
        change.type === 'stored' ? [...unpack(change.sequenceHashes)] : [],
      );
      expect(stored.filter((hash) => !chain.includes(hash))).toEqual([]);
      checked += stored.length;
    }
    expect(checked).toBeGreaterThan(50);
  });
});

describe('the groups of a rank', () => {
  it('are given with their kinds, widths and windows, and the width is that of the main one', () => {
    const { apply, cache } = setUp();
    const { observed, hasNewGroups } = apply(store(WINDOW, [1], [10, 11]), store(FULL, [1], [10, 11]));
    const groups = [
      { index: 0, kind: 'sliding_window', tokensPerBlock: 2, windowTokens: 4, engineKind: 'sliding_window' },
      { index: 1, kind: 'full_attention', tokensPerBlock: 2, engineKind: 'full_attention' },
    ];
    expect(cache.cacheGroups).toEqual(groups);
    expect(hasNewGroups).toBe(true);
    expect(observed).toEqual({
      tokensPerBlock: 2,
      unit: 'token',
      raw:
        'BlockStored group_idx=0 kv_cache_spec_kind=sliding_window kv_cache_spec_sliding_window=4 block_size=2; ' +
        'group_idx=1 kv_cache_spec_kind=full_attention block_size=2',
      groups,
    });
    expect(apply(store(FULL, [2], [12, 13], { parent_block_hash: 1 })).hasNewGroups).toBeUndefined();
  });

  it('are none for a model that has one of full attention', () => {
    const { apply, cache, main } = setUp();
    const { observed } = apply(store(FULL, [1], [10, 11]));
    expect([cache.cacheGroups, observed?.groups]).toEqual([[], undefined]);
    expect(makeHeld(cache)).toEqual([main(10, 11)]);
  });

  it('without full attention have the first one as the main one, and open with its width', () => {
    const { apply, held, main } = setUp();
    const { observed } = apply(store(WINDOW, [1, 2], [10, 11, 12, 13]));
    expect(observed?.tokensPerBlock).toBe(2);
    expect(held()).toEqual([main(10, 11), main(10, 11, 12, 13)].sort());
    apply(remove(0, 1));
    expect(held()).toEqual([main(10, 11, 12, 13)]);
  });

  it('without full attention have the last blocks of the tokens where hashes do not say which, and are approximate', () => {
    const { apply, held, cache, main } = setUp();
    apply(store(WINDOW, [7], [10, 11, 12, 13]));
    expect(held()).toEqual([main(10, 11, 12, 13)]);
    expect(cache.approximation).toContain('they are taken for the last ones');
    apply({ type: 'AllBlocksCleared' }, store(WINDOW, [7], [10, 11]));
    expect(cache.approximation).toBeUndefined();
  });

  it('give readers everything again when full attention shows later', () => {
    const { apply, held, main, window } = setUp();
    apply(store(WINDOW, [1], [10, 11]));
    expect(held()).toEqual([main(10, 11)]);
    const { isRepeated } = apply(store(FULL, [1], [10, 11]), store(FULL, [9], [1, 2]));
    expect(isRepeated).toBe(true);
    expect(held()).toEqual([main(10, 11), main(1, 2), window(10, 11)].sort());
  });
});

describe('a sparse group', () => {
  it('has the blocks that it announces, wherever they are among its tokens', () => {
    const { apply, held, main, window } = setUp();
    const tokens = [10, 11, 12, 13, 14, 15];
    apply(store(WINDOW, [2, 3], tokens), store(FULL, [1, 2, 3], tokens));
    expect(held().filter((block) => block.startsWith('group'))).toEqual(
      [window(10, 11, 12, 13), window(...tokens)].sort(),
    );
    expect(held()).toContain(main(10, 11));
  });

  it('finds a block that the main group loses in the same batch', () => {
    const { apply, held, window } = setUp();
    apply(
      store(WINDOW, [2], [10, 11, 12, 13]),
      store(FULL, [1, 2], [10, 11, 12, 13]),
      remove(1, 2),
      remove(1, 1),
    );
    expect(held()).toEqual([window(10, 11, 12, 13)]);
  });

  it('leaves out blocks that the main group does not know, and is whole again when they are gone', () => {
    const { apply, held, cache, counted } = setUp();
    apply(store(FULL, [1], [10, 11]));
    const { orphans } = apply(store(WINDOW, [3], [10, 11, 12, 13]));
    expect(held().filter((block) => block.startsWith('group'))).toEqual([]);
    expect([orphans, cache.flaw]).toEqual([
      0,
      expect.stringContaining('whose place in their prompt is not known'),
    ]);
    expect(counted()).toContain('stored tokens_hashes_mismatch 1');
    apply(remove(0, 3));
    expect(cache.flaw).toBeUndefined();
  });

  it('is followed by its own tokens where its blocks have a width of their own', () => {
    const { apply, held, hasher } = setUp();
    const wide = { ...FULL, block_size: 4 };
    apply(store(WINDOW, [1, 2], [10, 11, 12, 13]), store(wide, [2], [10, 11, 12, 13]));
    apply(store(WINDOW, [3, 4], [14, 15, 16, 17], { parent_block_hash: 2 }));
    const seed = hasher.seedOf('', '');
    const { sequenceHashes } = hasher.hashTokens(Uint32Array.of(10, 11, 12, 13, 14, 15, 16, 17), {
      tokensPerBlock: 2,
      unit: 'token',
      seed,
    });
    const expected = unpack(sequenceHashes).map((hash) => `group 0 device 2 ${hash}`);
    expect(held().filter((block) => block.startsWith('group'))).toEqual(expected.sort());
  });
});

describe('a copy of a block', () => {
  it('stays until its last copy goes, in every group and tier for itself', () => {
    const { apply, held, counted, main, window } = setUp();
    for (let copy = 0; copy < 3; copy += 1) apply(store(WINDOW, [1], [10, 11]), store(FULL, [1], [10, 11]));
    apply(store(FULL, [1], [10, 11], { medium: 'CPU' }));
    apply(remove(1, 1), remove(1, 1), remove(0, 1), remove(0, 1), remove(0, 1));
    expect(held()).toEqual([main(10, 11), main(10, 11).replace('device', 'host')].sort());
    expect(counted()).toContain('removed copy_left 4');
    apply(remove(1, 1));
    expect(held()).toEqual([main(10, 11).replace('device', 'host')]);
    expect(held()).not.toContain(window(10, 11));
  });

  it('is not sent to readers, nor is its end', () => {
    const { apply } = setUp();
    apply(store(FULL, [1], [10, 11]));
    expect(apply(store(FULL, [1], [10, 11])).changes).toEqual([]);
    expect(apply(remove(1, 1)).changes).toEqual([]);
    expect(apply(remove(1, 1)).changes).toMatchObject([{ type: 'removed' }]);
  });

  it('does not count with engines that announce a block once, however often it comes', () => {
    const { apply, held } = setUp();
    const plain = {
      type: 'BlockStored',
      block_hashes: [1],
      token_ids: [10, 11],
      block_size: 2,
      medium: 'GPU',
    };
    apply(plain, plain, { type: 'BlockRemoved', block_hashes: [1], medium: 'GPU' });
    expect(held()).toEqual([]);
  });

  it('is forgotten with a clear', () => {
    const { apply, held } = setUp();
    apply(store(FULL, [1], [10, 11]), store(FULL, [1], [10, 11]), { type: 'AllBlocksCleared' });
    apply(store(FULL, [1], [10, 11]), remove(1, 1));
    expect(held()).toEqual([]);
  });

  it('counts no more, nothing leaks, when there are more of them than the engine has blocks', () => {
    const { apply, held, cache } = setUp();
    cache.setCapacity(3);
    for (let copy = 0; copy < 3; copy += 1) apply(store(FULL, [1], [10, 11]));
    expect(cache.flaw).toBeUndefined();
    apply(store(FULL, [1], [10, 11]));
    expect(cache.flaw).toContain('more copies of blocks than the 3 blocks');
    apply(store(FULL, [1], [10, 11]), remove(1, 1));
    expect(held()).toEqual([]);
  });
});

describe('how hits are found is not known', () => {
  const spaced = { group_idx: 0, kv_cache_spec_kind: 'quantum_attention' };
  it.each([
    ['a kind that nobody knows', [store(spaced, [1], [10, 11])], 'of the unknown kind quantum_attention'],
    [
      'full attention in blocks of two widths',
      [store(FULL, [1], [10, 11]), store({ ...FULL, group_idx: 0 }, [2], [1, 2, 3, 4], { block_size: 4 })],
      'full attention in blocks of 4 and 2 tokens',
    ],
    [
      'a window of which the width is not said',
      [
        store(
          { ...WINDOW, kv_cache_spec_kind: 'chunked_local_attention', kv_cache_spec_sliding_window: null },
          [1],
          [1, 2],
        ),
      ],
      'chunked_local_attention without its window',
    ],
    [
      'a group whose kind no event names',
      [store(FULL, [1], [10, 11]), store({ group_idx: 2 }, [3], [1, 2])],
      'KV cache group 2, whose kind they do not name',
    ],
    [
      'blocks of part of the width of their group',
      [store(WINDOW, [1], [10, 11]), store(FULL, [1], [10, 11]), store(WINDOW, [5], [7], { block_size: 1 })],
      'blocks of several widths in one KV cache group',
    ],
    [
      'a window without a group',
      [{ ...store(WINDOW, [1], [10, 11]), group_idx: null }],
      'sliding_window without a KV cache group',
    ],
  ])('with %s', (_, events, why) => {
    const { cache } = makeCache();
    cache.apply(batchOf(...events));
    expect(cache.approximation).toContain(why);
    cache.clear();
    expect(cache.approximation).toBeUndefined();
  });
});

function makeHeld(cache: ReturnType<typeof makeCache>['cache']): string[] {
  const piece = cache.snapshot().next();
  return piece === undefined ? [] : unpack(piece.sequenceHashes).map((hash) => `${piece.tier} 2 ${hash}`);
}
