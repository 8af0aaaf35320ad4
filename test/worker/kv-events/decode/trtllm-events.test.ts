import { parse } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { makeCache, unpack } from '../support/engine-payloads.js';

interface BlockSketch {
  readonly hash: unknown;
  readonly tokens: readonly unknown[];
  readonly [more: string]: unknown;
}

/** A store as `KVCacheEventSerializer` writes it. */
function stored(parent: unknown, blocks: readonly BlockSketch[], more: object = {}): object {
  return {
    event_id: 1,
    data: {
      type: 'stored',
      parent_hash: parent,
      blocks: blocks.map(({ hash, tokens, ...rest }) => ({
        type: 'stored_block',
        block_hash: hash,
        tokens: tokens.map((token_id) => ({ type: 'unique_token', token_id, token_extra_id: 0 })),
        cache_level: 0,
        priority: 35,
        ...rest,
      })),
    },
    window_size: 4_096,
    ...more,
  };
}

function removed(...block_hashes: readonly unknown[]): object {
  return { event_id: 2, data: { type: 'removed', block_hashes }, window_size: 4_096 };
}

function moved(block_hash: unknown, old_value: number, new_value: number): object {
  const cache_level = { type: 'event_diff', new_value, old_value };
  return { event_id: 3, data: { type: 'updated', block_hash, cache_level }, window_size: 4_096 };
}

function setUp() {
  const made = makeCache();
  return {
    ...made,
    apply: (...events: readonly unknown[]) => made.cache.applyTrtllm(events),
    hashes: (...tokens: readonly number[]) => {
      const options = { tokensPerBlock: 2, unit: 'token', seed: made.hasher.seedOf('', '') } as const;
      return unpack(made.hasher.hashTokens(Uint32Array.from(tokens), options).sequenceHashes);
    },
    device: (hashes: readonly bigint[]) => hashes.map((hash) => `device 2 ${hash}`).sort(),
  };
}

describe('TensorRT-LLM’s events', () => {
  it('tell the width by every block that another follows', () => {
    const { apply, held, device, hashes } = setUp();
    const { observed, changes } = apply(
      stored(null, [
        { hash: 1, tokens: [10, 11] },
        { hash: 2, tokens: [12, 13] },
      ]),
    );
    expect(observed).toEqual({
      tokensPerBlock: 2,
      unit: 'token',
      raw: 'stored blocks=2 tokens_of_whole_blocks=2',
    });
    expect(changes).toHaveLength(1);
    expect(held()).toEqual(device(hashes(10, 11, 12, 13)));
  });

  it('have partial blocks at the end, which are left out', () => {
    const { apply, held, device, hashes } = setUp();
    apply(
      stored(null, [
        { hash: 1, tokens: [10, 11] },
        { hash: 2, tokens: [12] },
      ]),
      stored(1, [{ hash: 3, tokens: [14] }]),
      stored(1, [{ hash: 4, tokens: [12, 13] }]),
    );
    expect(held()).toEqual(device(hashes(10, 11, 12, 13)));
  });

  it('of one block alone are applied once the width is known, and prove none', () => {
    const { apply, held, counted, cache } = setUp();
    expect(apply(stored(null, [{ hash: 1, tokens: [10, 11] }])).observed).toBeUndefined();
    expect([held(), counted()]).toEqual([[], ['stored width_invalid 1']]);
    const { observed } = cache.applyTrtllm([stored(null, [{ hash: 1, tokens: [10, 11] }])], {
      tokensPerBlock: 2,
    });
    expect([observed, held().length]).toEqual([undefined, 1]);
  });

  it('take a block from every level that it is in', () => {
    const { apply, held } = setUp();
    apply(
      stored(null, [
        { hash: 1, tokens: [10, 11] },
        { hash: 2, tokens: [12, 13] },
      ]),
      moved(2, 0, 1),
      removed(1, 2),
    );
    expect(held()).toEqual([]);
  });

  it('move blocks between device and host', () => {
    const { apply, held, hashes, counted } = setUp();
    const blocks = [
      { hash: 1, tokens: [10, 11] },
      { hash: 2, tokens: [12, 13] },
    ];
    const { changes } = apply(stored(null, blocks), moved(2, 0, 1));
    const [first, second] = hashes(10, 11, 12, 13);
    expect(held()).toEqual([`device 2 ${first}`, `host 2 ${second}`]);
    expect(changes.map((change) => change.type !== 'cleared' && `${change.type} ${change.tier}`)).toEqual([
      'stored device',
      'stored host',
      'removed device',
    ]);
    apply(moved(2, 1, 0), moved(2, 0, 0), moved(1, 0, 7));
    expect(held()).toEqual([`device 2 ${second}`]);
    expect(counted()).toContain('stored unknown_medium 1');
  });

  it('may tell blocks of one store in several levels', () => {
    const { apply, held, hashes } = setUp();
    apply(
      stored(null, [
        { hash: 1, tokens: [10, 11], cache_level: 1 },
        { hash: 2, tokens: [12, 13] },
      ]),
    );
    const [first, second] = hashes(10, 11, 12, 13);
    expect(held()).toEqual([`device 2 ${second}`, `host 2 ${first}`]);
  });

  it('of smaller windows than the largest are left out, also when that comes later', () => {
    const { apply, held, device, hashes, counted } = setUp();
    const blocks = [
      { hash: 1, tokens: [10, 11] },
      { hash: 2, tokens: [12, 13] },
    ];
    const { changes } = apply(
      stored(null, blocks, { window_size: 128 }),
      stored(null, [{ hash: 1, tokens: [10, 11] }]),
      stored(null, blocks, { window_size: 128 }),
    );
    expect(changes.map(({ type }) => type)).toEqual(['stored', 'cleared', 'stored']);
    expect(held()).toEqual(device(hashes(10, 11)));
    expect(counted()).toContain('stored non_main_attention 1');
  });

  it('have 64-bit hashes, as numbers, strings, bigints or lossless numbers', () => {
    const large = 2n ** 64n - 5n;
    for (const hash of [large, -5n, `${large}`, '-5']) {
      const { apply, held } = setUp();
      apply(
        stored(null, [
          { hash, tokens: [10, 11] },
          { hash: 2, tokens: [12, 13] },
        ]),
        removed(large),
      );
      expect(held()).toHaveLength(1);
    }
    const { cache, held } = setUp();
    cache.applyTrtllm(
      parse(
        JSON.stringify([
          stored(null, [
            { hash: 7, tokens: [10, 11] },
            { hash: 2, tokens: [12, 13] },
          ]),
        ]).replace('"block_hash":7', `"block_hash":${large}`),
      ),
    );
    expect(held()).toHaveLength(2);
    cache.applyTrtllm([removed(`${large}`)]);
    expect(held()).toHaveLength(1);
  });

  it.each([
    ['of a LoRA, which they only number', { lora_id: 3 }, 'unnamed_lora'],
    ['with media', { mm_keys: [['f00d', 0]] }, 'media_identity_unknown'],
    ['with a salt that they only number', { cache_salt_id: 3 }, 'media_identity_unknown'],
    [
      'with tokens that stand for more',
      { tokens: [{ token_id: 12, token_extra_id: 5 }, 13] },
      'media_identity_unknown',
    ],
  ])('keep blocks out %s', (_, more, why) => {
    const { cache, held, counted, apply } = setUp();
    const event = stored(null, [{ hash: 2, tokens: [12, 13] }]) as { data: { blocks: object[] } };
    event.data.blocks = event.data.blocks.map((block) => ({ ...block, ...more }));
    cache.applyTrtllm([event], { tokensPerBlock: 2 });
    expect(apply(stored(2, [{ hash: 3, tokens: [14, 15] }])).orphans).toBe(0);
    expect(held()).toEqual([]);
    expect(counted().sort()).toEqual(['stored hidden_parent 1', `stored ${why} 1`].sort());
  });

  it('that say nothing of blocks are ignored', () => {
    const { apply, counted } = setUp();
    apply(
      { event_id: 0, data: { type: 'created', num_blocks_per_cache_level: [100, 0] }, window_size: 4_096 },
      { event_id: 1, data: { type: 'updated', block_hash: 1, priority: {} }, window_size: 4_096 },
    );
    expect(counted()).toEqual(['other ignored_event 2']);
  });

  it('name their rank, and only the first one is read', () => {
    const { apply, held, counted } = setUp();
    const blocks = [
      { hash: 1, tokens: [10, 11] },
      { hash: 2, tokens: [12, 13] },
    ];
    const { rank, problem } = apply(
      stored(null, blocks, { attention_dp_rank: 1 }),
      stored(2, [{ hash: 3, tokens: [14, 15] }], { attention_dp_rank: 0 }),
    );
    const words = 'events of rank 0 come with those of rank 1, and only the first rank is read';
    expect([rank, problem]).toEqual([1, words]);
    expect(apply(stored(2, [{ hash: 4, tokens: [16, 17] }], { attention_dp_rank: 0 })).problem).toBe(words);
    expect(held()).toHaveLength(2);
    expect(counted()).toEqual(['stored applied 1', 'other ignored_event 2']);
  });

  it.each([
    ['no array', { events: [] }],
    ['null', null],
    ['an event that is none', [7]],
    ['an event without data', [{ event_id: 1 }]],
    ['a store without blocks', [stored(null, [])]],
    ['a block without tokens', [{ data: { type: 'stored', blocks: [{ block_hash: 1 }] } }]],
    ['a token that is none', [stored(null, [{ hash: 1, tokens: [-1, 2] }])]],
    ['a hash that is none', [removed('twelve')]],
    ['a hash beyond 2^53 whose last digits are lost', [removed(2 ** 60)]],
    [
      'whole blocks of two widths',
      [
        stored(null, [
          { hash: 1, tokens: [1, 2] },
          { hash: 2, tokens: [3] },
          { hash: 3, tokens: [4] },
        ]),
      ],
    ],
    [
      'a last block that is the widest',
      [
        stored(null, [
          { hash: 1, tokens: [1, 2] },
          { hash: 2, tokens: [3, 4, 5] },
        ]),
      ],
    ],
  ])('that cannot be read are reported and counted: %s', (_, events) => {
    const { cache, held, counts } = setUp();
    expect(cache.applyTrtllm(events).problem).toEqual(expect.any(String));
    expect(counts.total('other', 'undecodable')).toBe(1);
    expect(held()).toEqual([]);
  });
});
