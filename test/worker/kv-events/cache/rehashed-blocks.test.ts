import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../../../src/core/blocks/block-hasher.js';
import { batchOf, ChangeReader, makeCache, unpack } from '../support/engine-payloads.js';

const CANONICAL = 4;

/** Fields of a store as vLLM sends it; blocks of two tokens, which are re-hashed into blocks of four. */
function store(hashes: readonly unknown[], tokens: readonly unknown[], more: object = {}): object {
  return { type: 'BlockStored', block_hashes: hashes, token_ids: tokens, block_size: 2, ...more };
}

function remove(hashes: readonly unknown[], more: object = {}): object {
  return { type: 'BlockRemoved', block_hashes: hashes, ...more };
}

const CLEAR = { type: 'AllBlocksCleared' };

/** A cache in blocks of four tokens, and a reader of all that it announces. */
function setUp(options: { maxBlocks?: number } = {}) {
  const made = makeCache({ ...options, rehashTo: CANONICAL });
  const reader = new ChangeReader();
  const hasher = new BlockHasher();
  const apply = (...events: readonly unknown[]) => {
    const applied = made.cache.apply(batchOf(...events));
    reader.apply(applied.changes);
    // Who begins now is given the same as who has read all along.
    expect(made.held()).toEqual(reader.held());
    return applied;
  };
  /** What is announced of prompts whose whole blocks are all held. */
  const blocks = (tokens: readonly number[], { tier = 'device', salt = '', lora = '' } = {}) =>
    unpack(
      hasher
        .hashTokens(Uint32Array.from(tokens), {
          tokensPerBlock: CANONICAL,
          unit: 'token',
          seed: hasher.seedOf(lora, salt),
        })
        .sequenceHashes.slice(),
    ).map((hash) => `${tier} ${CANONICAL} ${hash}`);
  return { ...made, apply, blocks, held: () => reader.held() };
}

const EIGHT = [10, 11, 12, 13, 14, 15, 16, 17];

describe('blocks that are re-hashed into larger ones', () => {
  it('are announced when all parts are held, chained as the larger blocks of the same prompt', () => {
    const { apply, held, blocks } = setUp();
    apply(store([1], [10, 11]));
    expect(held()).toEqual([]);
    apply(store([2], [12, 13], { parent_block_hash: 1 }));
    expect(held()).toEqual(blocks([10, 11, 12, 13]));
    apply(store([3, 4], [14, 15, 16, 17], { parent_block_hash: 2 }));
    expect(held()).toEqual([...blocks(EIGHT)].sort());
  });

  it('are removed as soon as any part is, and come back when it is stored again', () => {
    for (const part of [1, 2]) {
      const { apply, held, blocks } = setUp();
      apply(store([1, 2, 3, 4], EIGHT));
      apply(remove([part]));
      expect(held()).toEqual(blocks(EIGHT).slice(1));
      const [tokens, parent] = part === 1 ? [[10, 11], {}] : [[12, 13], { parent_block_hash: 1 }];
      apply(store([part], tokens, parent));
      expect(held()).toEqual([...blocks(EIGHT)].sort());
    }
  });

  it('are those of each branch, also where prompts part in the middle of one', () => {
    const { apply, held, blocks } = setUp();
    apply(store([1, 2], [10, 11, 12, 13]), store([5, 6], [20, 21, 22, 23], { parent_block_hash: 1 }));
    expect(held()).toEqual([...blocks([10, 11, 12, 13]), ...blocks([10, 11, 20, 21])].sort());
    apply(remove([1]));
    expect(held()).toEqual([]);
    apply(store([1], [10, 11]));
    expect(held()).toHaveLength(2);
  });

  it('go with all that is cleared, and begin again', () => {
    const { apply, held, blocks, cache } = setUp();
    apply(store([1, 2], [10, 11, 12, 13]));
    apply(CLEAR);
    expect([held(), cache.size]).toEqual([[], 0]);
    apply(store([1, 2], [10, 11, 12, 13]));
    expect([held(), cache.size]).toEqual([blocks([10, 11, 12, 13]), 1]);
  });

  it('are in the farthest tier that a part is in', () => {
    const { apply, held, blocks } = setUp();
    const four = [10, 11, 12, 13];
    apply(store([1, 2], four, { medium: 'GPU' }));
    apply(store([2], [12, 13], { medium: 'CPU', parent_block_hash: 1 }), remove([2], { medium: 'GPU' }));
    expect(held()).toEqual(blocks(four, { tier: 'host' }));
    apply(store([2], [12, 13], { medium: 'GPU', parent_block_hash: 1 }));
    expect(held()).toEqual([...blocks(four), ...blocks(four, { tier: 'host' })].sort());
    apply(remove([2], { medium: 'CPU' }));
    expect(held()).toEqual(blocks(four));
  });

  it('stay while a copy of each part is left', () => {
    const { apply, held, blocks } = setUp();
    const kind = { kv_cache_spec_kind: 'full_attention', group_idx: 0 };
    apply(store([1, 2], [10, 11, 12, 13], kind), store([1], [10, 11], kind));
    apply(remove([1], { group_idx: 0 }));
    expect(held()).toEqual(blocks([10, 11, 12, 13]));
    apply(remove([1], { group_idx: 0 }));
    expect(held()).toEqual([]);
  });

  it('are those of their LoRA adapter and salt', () => {
    const { apply, held, blocks } = setUp();
    apply(store([1, 2], [10, 11, 12, 13], { lora_name: 'a', cache_salt: 's' }));
    expect(held()).toEqual(blocks([10, 11, 12, 13], { lora: 'a', salt: 's' }));
  });

  it('are withheld from a block with media on, and the cache says so while such are held', () => {
    const { apply, held, blocks, cache } = setUp();
    const media = [null, null, { mm_objects: [{ mm_hash: 77n, offsets: [[0, 1]] }] }, null];
    apply(store([1, 2, 3, 4], EIGHT, { block_mm_infos: media }));
    expect(held()).toEqual(blocks(EIGHT).slice(0, 1));
    expect(cache.flaw).toBe('has blocks with media, which are not re-hashed');
    apply(remove([4, 3]));
    expect(cache.flaw).toBeUndefined();
  });

  it('are none of a size that does not divide theirs, of pairs of tokens, or of several KV cache groups', () => {
    const odd = setUp();
    odd.apply(store([1], [10, 11, 12], { block_size: 3 }));
    expect([odd.held(), odd.cache.flaw]).toEqual([[], 'has blocks of 3 tokens, which do not divide 4']);
    const pairs = setUp();
    pairs.apply(
      store(
        [1, 2],
        [
          [10, 11],
          [11, 12],
          [12, 13],
          [13, 14],
        ],
      ),
    );
    expect([pairs.held(), pairs.cache.flaw]).toEqual([
      [],
      'hashes pairs of tokens (EAGLE), which are not re-hashed',
    ]);
    const hybrid = setUp();
    hybrid.apply(store([1, 2], [10, 11, 12, 13], { group_idx: 0, kv_cache_spec_kind: 'full_attention' }));
    const window = { group_idx: 1, kv_cache_spec_kind: 'sliding_window', kv_cache_spec_sliding_window: 4 };
    hybrid.apply(store([1, 2], [10, 11, 12, 13], window));
    expect([hybrid.held(), hybrid.cache.cacheGroups]).toEqual([[], []]);
    expect(hybrid.cache.flaw).toContain('has several KV cache groups');
  });

  it('are one size at a time: a block of another one is left out, and the cache says so', () => {
    const { apply, held, blocks, cache } = setUp();
    apply(store([1, 2], [10, 11, 12, 13]), store([9], [50, 51, 52, 53], { block_size: 4 }));
    expect(held()).toEqual(blocks([10, 11, 12, 13]));
    expect(cache.flaw).toBe('has blocks of 2 and of 4 tokens, and one size alone is re-hashed');
  });

  it('are forgotten with the engine, and what spoke against them as well', () => {
    const { apply, held, cache } = setUp();
    apply(store([1], [10, 11, 12], { block_size: 3 }));
    cache.clear();
    expect(cache.flaw).toBeUndefined();
    apply(store([1, 2], [10, 11, 12, 13]));
    expect(held()).toHaveLength(1);
  });
});
