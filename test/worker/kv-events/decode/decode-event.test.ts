import { describe, expect, it } from 'vitest';
import { MAX_NAME_BYTES } from '../../../../src/core/blocks/name-limits.js';
import { decode, type Seen } from '../support/decoded.js';
import { batchOf } from '../support/engine-payloads.js';

function only(event: unknown): Seen {
  const { events, unreadable, problem } = decode(batchOf(event));
  expect({ unreadable, problem, count: events.length }).toEqual({
    unreadable: 0,
    problem: undefined,
    count: 1,
  });
  return events[0] ?? {};
}

/** The positions that every array of a store has, with those given after them. */
function storedArray(...after: readonly unknown[]): unknown[] {
  return ['BlockStored', [5n], 4n, [1, 2], 2, null, 'GPU', null, null, ...after];
}

describe('a store', () => {
  it('as a map may have its keys in any order, and keys that nobody knows', () => {
    const event = only({
      ownership: { of: ['nobody'] },
      kv_cache_spec_sliding_window: 128,
      kv_cache_spec_kind: 'sliding_window',
      group_idx: 2,
      extra_keys: [['salt']],
      lora_name: 'adapter',
      cache_salt: 'salt',
      locality: 'LOCAL',
      source_kind: 'engine',
      medium: 'CPU',
      lora_id: 3,
      block_size: 2,
      token_ids: [7, 70_000],
      parent_block_hash: -1n,
      block_hashes: [-2n, 2n ** 64n - 3n],
      type: 'BlockStored',
    });
    expect(event).toMatchObject({
      type: 'stored',
      hashes: [0xffff_fffe, 0xffff_ffff, 0xffff_fffd, 0xffff_ffff],
      hasParent: true,
      parentLo: 0xffff_ffff,
      parentHi: 0xffff_ffff,
      tokens: [7, 70_000],
      tokensPerBlock: 2,
      medium: 'CPU',
      loraName: 'adapter',
      hasLoraId: true,
      cacheSalt: 'salt',
      groupIndex: 2,
      attentionKind: 'sliding_window',
      slidingWindow: 128,
      locality: 'LOCAL',
      bigram: false,
    });
    expect(event.extraKeysAt).toBeGreaterThan(0);
  });

  it('as an array of the first versions has five positions', () => {
    expect(only(['BlockStored', [5], null, [1, 2], 2, null])).toMatchObject({
      hashes: [5, 0],
      hasParent: false,
      tokens: [1, 2],
      tokensPerBlock: 2,
      hasLoraId: false,
      medium: undefined,
    });
  });

  it('as an array takes a parent of 0 for none, as a map it does not', () => {
    expect(only(['BlockStored', [5], 0, [1, 2], 2]).hasParent).toBe(false);
    const map = { type: 'BlockStored', block_hashes: [5], parent_block_hash: 0 };
    expect(only(map).hasParent).toBe(true);
  });

  it('as an array has its LoRA name or SGLang’s metadata at position 7', () => {
    expect(only(['BlockStored', [5], 4, [1, 2], 2, null, 'GPU', 'adapter']).loraName).toBe('adapter');
    const metadata = { other: [1], cache_salt: 'tenant' };
    expect(only(['BlockStored', [5], 4, [1, 2], 2, null, 'GPU', metadata])).toMatchObject({
      cacheSalt: 'tenant',
      loraName: undefined,
    });
  });

  const infos = [{ mm_objects: [{ mm_hash: 1n, offsets: [[0, 1]] }] }];
  const fixed = { groupIndex: 1, attentionKind: 'mamba', slidingWindow: 64 };
  it.each([
    ['nothing', [], { groupIndex: undefined, attentionKind: undefined }],
    ['group, kind, window', [1, 'mamba', 64], fixed],
    ['group, kind', [1, 'mamba'], { ...fixed, slidingWindow: 0 }],
    ['all five', [1, 'mamba', 64, 'REMOTE', 'engine'], { ...fixed, locality: 'REMOTE' }],
    ['five and more', [1, 'mamba', 64, 'LOCAL', null, 9, { a: 1 }], { ...fixed, locality: 'LOCAL' }],
    [
      'nulls in their places',
      [null, 'mamba', null, 'REMOTE'],
      { groupIndex: undefined, attentionKind: 'mamba', locality: 'REMOTE' },
    ],
    ['a window without a group', [null, 'mamba', 64], { groupIndex: undefined, slidingWindow: 64 }],
    ['media in front', [infos, 1, 'mamba', 64], fixed],
    ['no media in front', [null, 1, 'mamba', 64], fixed],
    ['media and all five', [infos, 1, 'mamba', 64, 'LOCAL', 'engine'], { ...fixed, locality: 'LOCAL' }],
    ['the kind alone', ['mamba'], { groupIndex: undefined, attentionKind: 'mamba' }],
    ['two numbers', [1, 64], { groupIndex: 1, attentionKind: undefined, slidingWindow: 64 }],
    ['the kind before the group', ['mamba', 1], { groupIndex: 1, attentionKind: 'mamba' }],
  ] as const)('as an array with %s after its extra keys', (_, tail, expected) => {
    expect(only(storedArray(...tail))).toMatchObject(expected);
  });

  it('says where its media stand', () => {
    expect(only(storedArray(infos, 1, 'mamba')).mediaInfosAt).toBeGreaterThan(0);
    expect(only(storedArray([null], 1, 'mamba')).mediaInfosAt).toBe(-1);
  });

  it('may have token ids in pairs, which are joined', () => {
    const pairs = (token_ids: unknown): Seen =>
      only({ type: 'BlockStored', block_hashes: [5], token_ids, block_size: 2 });
    expect(
      pairs([
        [1, 2],
        [2, 3],
      ]),
    ).toMatchObject({ tokens: [1, 2, 3], bigram: true, pairsJoin: true });
    expect(
      pairs([
        [1, 2],
        [7, 3],
      ]),
    ).toMatchObject({ bigram: true, pairsJoin: false });
    expect(pairs([])).toMatchObject({ tokens: [], bigram: false });
  });

  const ahead = (tokens: readonly unknown[], lookahead: unknown, more: object = {}): Seen =>
    only({
      type: 'BlockStored',
      block_hashes: [5, 6],
      token_ids: tokens,
      block_size: 2,
      lookahead_token_ids: lookahead,
      ...more,
    });

  it('of vLLM may name the token behind each block, which is the same as pairs', () => {
    const pairs = { bigram: true, pairsJoin: true, tokens: [7, 8, 9, 10, 11], lookaheadTokens: 1 };
    expect(ahead([7, 8, 9, 10], [[9], [11]])).toMatchObject(pairs);
    const reversed = { lookahead_token_ids: [[9], [11]], block_size: 2, token_ids: [7, 8, 9, 10] };
    expect(only({ ...reversed, block_hashes: [5, 6], type: 'BlockStored' })).toMatchObject(pairs);
    expect(ahead([7, 8, 9, 10], null)).toMatchObject({ bigram: false, lookaheadTokens: 0 });
    expect(ahead([7, 8, 9, 10], [null, null])).toMatchObject({ bigram: false, lookaheadTokens: 0 });
  });

  it('of vLLM whose tokens behind the blocks are not those of the next ones does not join', () => {
    expect(ahead([7, 8, 9, 10], [[99], [11]]).pairsJoin).toBe(false);
    expect(ahead([7, 8, 9, 10], [[9]]).pairsJoin).toBe(false);
  });

  it('of vLLM that names several tokens behind a block hashes more than pairs', () => {
    const several = ahead(
      [7, 8, 9, 10],
      [
        [9, 10],
        [11, 12],
      ],
    );
    expect(several).toMatchObject({ bigram: false, tokens: [7, 8, 9, 10], lookaheadTokens: 2 });
  });

  it.each([
    [[[9], null], 1],
    [[[9], []], 1],
    [[[9], [11, 12]], 1],
    [[[9], [-1]], 1],
    [[['nine'], [11]], 0],
    [[null, [11]], 0],
  ])('of vLLM whose tokens behind the blocks are %j leaves blocks unidentified from %i on', (list, from) => {
    expect(ahead([7, 8, 9, 10], list).unidentifiedFrom).toBe(from);
  });

  it('with a LoRA name or salt of more bytes than a prompt can name says so', () => {
    const long = 'x'.repeat(MAX_NAME_BYTES + 1);
    for (const name of ['lora_name', 'cache_salt']) {
      expect(only({ type: 'BlockStored', [name]: long }).nameTooLong).toBe(true);
      expect(only({ type: 'BlockStored', [name]: long.slice(1) }).nameTooLong).toBe(false);
    }
  });

  it('has no LoRA id when that is null or 0', () => {
    for (const lora_id of [null, 0]) expect(only({ type: 'BlockStored', lora_id }).hasLoraId).toBe(false);
    for (const lora_id of [1, 'a', [1]]) expect(only({ type: 'BlockStored', lora_id }).hasLoraId).toBe(true);
  });

  it.each([null, 'sixteen', 1.5, [16]])('has no width when its block_size is %j', (block_size) => {
    expect(only({ type: 'BlockStored', block_size }).tokensPerBlock).toBeNaN();
  });

  it('does not hand what it said on to the next event', () => {
    const { events } = decode(
      batchOf(storedArray(1, 'mamba', 64), { type: 'BlockStored', block_hashes: [1] }),
    );
    expect(events[1]).toMatchObject({
      hasParent: false,
      tokens: [],
      tokensPerBlock: Number.NaN,
      medium: undefined,
      groupIndex: undefined,
      attentionKind: undefined,
      slidingWindow: 0,
    });
  });
});

describe('the other events', () => {
  it('are removals, as maps and as arrays with both kinds of tail', () => {
    const bytes = new Uint8Array(32).fill(1);
    expect(
      only({ type: 'BlockRemoved', block_hashes: [1n, bytes], medium: 'GPU', group_idx: 1 }),
    ).toMatchObject({
      type: 'removed',
      hashes: [1, 0, 0x0101_0101, 0x0101_0101],
      medium: 'GPU',
      groupIndex: 1,
    });
    expect(only(['BlockRemoved', [1]])).toMatchObject({ hashes: [1, 0], medium: undefined });
    expect(only(['BlockRemoved', [1], 'CPU', 2, 'mamba', null, 'REMOTE'])).toMatchObject({
      medium: 'CPU',
      groupIndex: 2,
      attentionKind: 'mamba',
      locality: 'REMOTE',
    });
    expect(only(['BlockRemoved', [1], null, 2])).toMatchObject({ groupIndex: 2 });
  });

  it('are clears, with or without more', () => {
    for (const event of [
      ['AllBlocksCleared'],
      ['AllBlocksCleared', 'engine'],
      { type: 'AllBlocksCleared' },
    ]) {
      expect(only(event).type).toBe('cleared');
    }
  });

  it('are ignored when their tag is, or is not known, whatever they carry', () => {
    const others = [
      ['Ignored'],
      ['Ignored', 1, [2]],
      { type: 'Ignored' },
      { type: 'SomethingNew', block_hashes: 7, token_ids: { a: 'map' } },
      ['SomethingNew', { a: 1 }],
    ];
    for (const event of others) expect(only(event).type).toBe('ignored');
  });
});
