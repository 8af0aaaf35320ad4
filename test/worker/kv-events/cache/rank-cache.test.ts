import { describe, expect, it } from 'vitest';
import { mediaByBlock, mediaIdentity } from '../../../../src/core/blocks/media-identity.js';
import { MAX_NAME_BYTES, MAX_NAME_CHARS } from '../../../../src/core/blocks/name-limits.js';
import type { HashHalves } from '../../../../src/core/blocks/packed-hashes.js';
import { batchOf, encode, makeCache, unpack } from '../support/engine-payloads.js';

/** Fields of a store as vLLM sends it; blocks of two tokens. */
function store(hashes: readonly unknown[], tokens: readonly unknown[], more: object = {}): object {
  return { type: 'BlockStored', block_hashes: hashes, token_ids: tokens, block_size: 2, ...more };
}

function remove(hashes: readonly unknown[], more: object = {}): object {
  return { type: 'BlockRemoved', block_hashes: hashes, ...more };
}

/** A cache view that is fed events, and the hashes that it must come to. */
function setUp(options: { maxBlocks?: number } = {}) {
  const made = makeCache(options);
  const { cache, hasher } = made;
  return {
    ...made,
    apply: (...events: readonly unknown[]) => cache.apply(batchOf(...events)),
    /** What is held when exactly these prompts are, each block of them. */
    device: (...prompts: readonly Prompt[]) =>
      [...new Set(prompts.flatMap((prompt) => hashesOf(hasher, prompt)))]
        .map((hash) => `device 2 ${hash}`)
        .sort(),
  };
}

/**
 * A batch that SGLang 0.5.23 encoded with its own classes (`KVEventBatch`, `BlockStored`): five blocks of eight tokens, of which
 * the third and fourth are an image's, with the numbers of its `_compute_pad_values`.
 */
const SGLANG_IMAGE =
  '93cb3ff00000000000009186a474797065ab426c6f636b53746f726564ac626c6f636b5f686173686573950102030405b170' +
  '6172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473dc00280a0b0c0d0e0f10111213141516171819cf3ad848' +
  'ae44f82022cf0aa06c3fab4bb3e0cf2dca99317360b4c3cf0c3cea616a515a4acf3ad848ae44f82022cf0aa06c3fab4bb3e0' +
  'cf2dca99317360b4c3cf0c3cea616a515a4acf3ad848ae44f82022cf0aa06c3fab4bb3e0cf2dca99317360b4c3cf0c3cea61' +
  '6a515a4acf3ad848ae44f82022cf0aa06c3fab4bb3e0cf2dca99317360b4c3cf0c3cea616a515a4a28292a2b2c2d2e2faa62' +
  '6c6f636b5f73697a6508a76c6f72615f6964c0c0';

interface Prompt {
  readonly tokens: readonly number[];
  readonly lora?: string;
  readonly salt?: string;
  readonly media?: HashHalves[][];
  readonly bigram?: boolean;
}

function hashesOf(hasher: ReturnType<typeof makeCache>['hasher'], prompt: Prompt): bigint[] {
  const { sequenceHashes } = hasher.hashTokens(Uint32Array.from(prompt.tokens), {
    tokensPerBlock: 2,
    unit: prompt.bigram === true ? 'bigram' : 'token',
    seed: hasher.seedOf(prompt.lora ?? '', prompt.salt ?? ''),
    media: prompt.media,
  });
  return unpack(sequenceHashes);
}

describe('what a rank holds', () => {
  it('is its stores, less its removals, until it clears', () => {
    const { apply, held, device, counted } = setUp();
    apply(store([1, 2], [10, 11, 12, 13]), store([3], [14, 15], { parent_block_hash: 2 }));
    expect(held()).toEqual(device({ tokens: [10, 11, 12, 13, 14, 15] }));
    apply(remove([3]), remove([2]));
    expect(held()).toEqual(device({ tokens: [10, 11] }));
    apply({ type: 'AllBlocksCleared' });
    expect(held()).toEqual([]);
    expect(counted()).toEqual(['stored applied 2', 'removed applied 2', 'cleared applied 1']);
  });

  it('is read up to 131,072 events of a batch, and not known when there are more', () => {
    const { cache, apply, held } = setUp();
    /** `[0, [["AllBlocksCleared"], …]]` as MessagePack. */
    const clears = (count: number): Buffer => {
      const head = Buffer.from([0x92, 0x00, 0xdd, 0, 0, 0, 0]);
      head.writeUInt32BE(count, 3);
      const event = Buffer.from([0x91, 0xb0, ...Buffer.from('AllBlocksCleared')]);
      return Buffer.concat([head, Buffer.alloc(count * event.length, event)]);
    };
    apply(store([1], [10, 11]));
    const full = cache.apply(clears(131_072));
    expect([full.problem, full.changes]).toEqual([undefined, [{ type: 'cleared' }]]);
    apply(store([1], [10, 11]));
    const beyond = cache.apply(clears(131_073));
    expect(beyond.problem).toContain('a batch of 131073 events');
    expect(held()).toEqual([]);
    expect(cache.flaw).toContain('could not be read');
  });

  it('does not change when everything is sent again', () => {
    const { apply, counted } = setUp();
    const events = [store([1, 2], [10, 11, 12, 13]), store([3], [14, 15], { parent_block_hash: 2 })];
    apply(...events);
    const { changes, orphans, observed } = apply(...events);
    expect([changes, orphans, observed?.tokensPerBlock]).toEqual([[], 0, 2]);
    expect(counted()).toEqual(['stored applied 2', 'stored duplicate 2']);
  });

  it('takes up a known beginning that is sent with new blocks after it', () => {
    const { apply, held, device } = setUp();
    apply(store([1], [10, 11]));
    const { changes } = apply(store([1, 2, 3], [10, 11, 12, 13, 14, 15]));
    expect(changes.map((change) => change.type !== 'cleared' && change.sequenceHashes.length)).toEqual([16]);
    expect(held()).toEqual(device({ tokens: [10, 11, 12, 13, 14, 15] }));
  });

  it('is sent in as few changes as the order allows', () => {
    const { apply } = setUp();
    apply(store([1, 2, 3], [10, 11, 12, 13, 14, 15]));
    const { changes } = apply(
      remove([3]),
      remove([2]),
      store([4], [1, 2]),
      store([5], [3, 4], { medium: 'CPU' }),
      remove([1]),
      { type: 'AllBlocksCleared' },
      { type: 'AllBlocksCleared' },
      store([6], [1, 2]),
    );
    expect(
      changes.map((change) =>
        change.type === 'cleared'
          ? 'cleared'
          : `${change.type} ${change.tier} ${change.sequenceHashes.length / 8}`,
      ),
    ).toEqual([
      'removed device 2',
      'stored device 1',
      'stored host 1',
      'removed device 1',
      'cleared',
      'stored device 1',
    ]);
  });

  it('is sent in changes of at most 65,536 blocks', () => {
    const { apply, held } = setUp();
    const hashes = Array.from({ length: 70_000 }, (_, i) => i);
    const { changes } = apply(store(hashes, hashes, { block_size: 1 }));
    expect(
      changes.map(
        (change) => change.type === 'stored' && [change.tokensPerBlock, change.sequenceHashes.length / 8],
      ),
    ).toEqual([
      [1, 65_536],
      [1, 4_464],
    ]);
    expect(held()).toHaveLength(70_000);
  });

  it('is given out in copies, which later batches leave as they are', () => {
    const { apply } = setUp();
    const [change] = apply(store([1], [10, 11])).changes;
    const before = change?.type === 'stored' ? [...change.sequenceHashes] : [];
    apply(store([2], [12, 13]));
    expect(change?.type === 'stored' ? [...change.sequenceHashes] : []).toEqual(before);
  });

  it('is forgotten with all that was learned, on request', () => {
    const { cache, apply, counted } = setUp();
    apply(store([1], [10, 11], { group_idx: 1, kv_cache_spec_kind: 'full_attention' }));
    cache.clear();
    expect(cache.size).toBe(0);
    apply(store([1], [10, 11], { group_idx: 1 }));
    expect(counted()).toContain('stored unlearned_group 1');
  });
});

describe('a store whose parent is not known', () => {
  it('is not applied, and is reported as an orphan', () => {
    const { apply, held, counted } = setUp();
    const { orphans, changes } = apply(
      store([3], [14, 15], { parent_block_hash: 2 }),
      store([4], [14, 15], { parent_block_hash: 3 }),
    );
    expect([orphans, changes, held()]).toEqual([2, [], []]);
    expect(counted()).toEqual(['stored unknown_parent 2']);
  });

  it('is taken all the same when its own first block is held', () => {
    const { apply, held, device } = setUp();
    apply(store([1, 2], [10, 11, 12, 13]), remove([1]));
    const { orphans } = apply(store([2, 3], [12, 13, 14, 15], { parent_block_hash: 1 }));
    expect(orphans).toBe(0);
    expect(held()).toEqual(
      device({ tokens: [10, 11, 12, 13, 14, 15] }).filter(
        (line) => !device({ tokens: [10, 11] }).includes(line),
      ),
    );
  });
});

describe('the width', () => {
  it.each([0, -2, 1_048_577, 1.5, null])('%j is refused', (block_size) => {
    const { apply, counted } = setUp();
    const { observed, changes } = apply(store([1], [10, 11], { block_size }));
    expect([observed, changes]).toEqual([undefined, []]);
    expect(counted()).toEqual(['stored width_invalid 1']);
  });

  it.each([
    ['too few', [10, 11, 12]],
    ['a whole block too many', [10, 11, 12, 13, 14, 15]],
    ['none', []],
  ])('does not come from the number of tokens: with %s nothing is applied', (_, tokens) => {
    const { apply, held, counted } = setUp();
    apply(store([1, 2], tokens));
    expect(held()).toEqual([]);
    expect(counted()).toEqual(['stored tokens_hashes_mismatch 1']);
  });

  it('leaves the start of one more block unused', () => {
    const { apply, held, device } = setUp();
    apply(store([1], [10, 11, 12]));
    expect(held()).toEqual(device({ tokens: [10, 11] }));
  });

  it('is that of the first store of main attention on the device', () => {
    const { apply } = setUp();
    const { observed } = apply(
      remove([9]),
      store([2], [1, 2, 3, 4], { medium: 'CPU', block_size: 4 }),
      store([3], [1, 2, 3], { medium: 'GPU', block_size: 3, group_idx: 0 }),
      store([4], [1, 2], { block_size: 2 }),
    );
    expect(observed).toEqual({
      tokensPerBlock: 3,
      unit: 'token',
      raw: 'BlockStored block_size=3 medium=GPU group_idx=0',
    });
  });

  it('gets orphans and duplicates too', () => {
    const { apply } = setUp();
    expect(apply(store([1], [10, 11], { parent_block_hash: 9 })).observed?.tokensPerBlock).toBe(2);
  });

  it('of a block cannot change while the device holds it', () => {
    const { apply, held, device, counted } = setUp();
    apply(store([1], [10, 11]));
    apply(store([1], [10, 11, 12], { block_size: 3 }));
    expect(held()).toEqual(device({ tokens: [10, 11] }));
    expect(counted()).toContain('stored width_conflict 1');
  });

  it('of the device wins over that of a farther tier, which names larger blocks alike', () => {
    const { apply, held, device } = setUp();
    apply(store([1], [10, 11, 12, 13], { block_size: 4, medium: 'CPU' }));
    apply(store([1], [10, 11]));
    expect(held()).toEqual(device({ tokens: [10, 11] }));
  });
});

describe('tiers', () => {
  it('are kept apart: a removal takes a block from the one that it names, or from the device', () => {
    const { apply, held, device, counted } = setUp();
    apply(store([1], [10, 11], { medium: 'GPU' }), store([1], [10, 11], { medium: 'CPU' }));
    const [line] = device({ tokens: [10, 11] });
    expect(held()).toEqual([line, line?.replace('device', 'host')]);
    apply(remove([1]));
    expect(held()).toEqual([line?.replace('device', 'host')]);
    apply(remove([1], { medium: 'GPU' }));
    expect(counted()).toContain('removed unknown_block 1');
    apply(remove([1], { medium: 'CPU' }));
    expect(held()).toEqual([]);
  });

  it('get copies by hash alone, as offloading reports them without tokens', () => {
    const { apply, held, counted } = setUp();
    apply(store([1, 2], [10, 11, 12, 13]));
    apply(store([1, 2], [], { medium: 'CPU' }), store([1], [], { medium: 'CPU' }));
    expect(held().filter((line) => line.startsWith('host'))).toHaveLength(2);
    apply(store([7], [], { medium: 'CPU' }), store([1], [], { medium: 'DISK', block_size: 64 }));
    expect(counted()).toEqual([
      'stored applied 2',
      'stored duplicate 1',
      'stored width_conflict 1',
      'stored tokens_hashes_mismatch 1',
    ]);
  });

  it('that nobody knows are refused', () => {
    const { apply, held, counted } = setUp();
    apply(store([1], [10, 11], { medium: 'FLOPPY' }), remove([1], { medium: 'FLOPPY' }));
    expect(held()).toEqual([]);
    expect(counted()).toEqual(['stored unknown_medium 1', 'removed unknown_medium 1']);
  });
});

describe('groups', () => {
  it('on other machines are left out, and so are their clears', () => {
    const { apply, held, counted } = setUp();
    apply(store([1], [10, 11]), store([2], [1, 2], { locality: 'REMOTE' }));
    apply(remove([1], { locality: 'REMOTE' }), { type: 'AllBlocksCleared', locality: 'REMOTE' });
    expect(held()).toHaveLength(1);
    expect(counted().filter((line) => line.includes('remote_locality'))).toHaveLength(3);
  });
});

describe('LoRA and salt', () => {
  it('set the same tokens apart, by name, as do both together', () => {
    const { apply, held, device } = setUp();
    apply(
      store([1], [10, 11]),
      store([2], [10, 11], { lora_name: 'adapter', lora_id: 4 }),
      store([3], [10, 11], { cache_salt: 'tenant' }),
      store([4], [10, 11], { lora_name: 'adapter', cache_salt: 'tenant' }),
    );
    const tokens = [10, 11];
    expect(held()).toEqual(
      device(
        { tokens },
        { tokens, lora: 'adapter' },
        { tokens, salt: 'tenant' },
        { tokens, lora: 'adapter', salt: 'tenant' },
      ),
    );
    expect(held()).toHaveLength(4);
  });

  it('come down from the parent, as vLLM reports the salt with the first block alone', () => {
    const { apply, held, device } = setUp();
    apply(
      store([1], [10, 11], { lora_name: 'adapter', extra_keys: [['adapter', 'tenant']] }),
      store([2], [12, 13], { lora_name: 'adapter', extra_keys: [['adapter']], parent_block_hash: 1 }),
      store([3], [14, 15], { parent_block_hash: 2 }),
    );
    expect(held()).toEqual(device({ tokens: [10, 11, 12, 13, 14, 15], lora: 'adapter', salt: 'tenant' }));
  });

  it('may come in SGLang’s metadata', () => {
    const { apply, held, device } = setUp();
    apply(['BlockStored', [1], null, [10, 11], 2, null, 'GPU', { cache_salt: 'tenant' }]);
    expect(held()).toEqual(device({ tokens: [10, 11], salt: 'tenant' }));
  });

  it('may be marked by Dynamo as a salt among other extra keys', () => {
    const { apply, held, device } = setUp();
    const marker = `00000001000000ff${'0'.repeat(48)}`;
    apply(store([1], [10, 11], { extra_keys: [[marker, 'dynamo-cache-salt:tenant']] }));
    expect(held()).toEqual(device({ tokens: [10, 11], salt: 'tenant', media: [[{ hi: 1, lo: 255 }]] }));
  });

  it('make an engine hash ambiguous that stands for both: it is taken out, and what follows it', () => {
    const { apply, held, device, counted } = setUp();
    apply(store([1], [10, 11]), store([5], [1, 2]));
    const { changes } = apply(store([1, 2], [10, 11, 12, 13], { cache_salt: 'tenant' }));
    expect(changes.map(({ type }) => type)).toEqual(['removed']);
    apply(store([3], [14, 15], { parent_block_hash: 2 }), store([1], [10, 11]));
    expect(held()).toEqual(device({ tokens: [1, 2] }));
    expect(counted()).toEqual(['stored applied 2', 'stored hidden_parent 2', 'stored ambiguous_salt 1']);
    apply(remove([1]), store([1], [10, 11]));
    expect(held()).toEqual(device({ tokens: [1, 2] }, { tokens: [10, 11] }));
  });

  it.each([{ cache_salt: 'other' }, { lora_name: 'other' }])(
    'that a child names otherwise than its parent keep it out: %j',
    (other) => {
      const { apply, held, device, counted } = setUp();
      const own = { cache_salt: 'tenant', lora_name: 'adapter' };
      apply(store([1], [10, 11], own), store([2], [12, 13], { ...own, ...other, parent_block_hash: 1 }));
      expect(held()).toEqual(device({ tokens: [10, 11], salt: 'tenant', lora: 'adapter' }));
      expect(counted()).toContain('stored ambiguous_salt 1');
    },
  );

  it('that only the engine can name keep blocks out, and their children, which are no orphans', () => {
    const { apply, held, counted, cache } = setUp();
    apply(store([1], [10, 11], { lora_id: 1 }));
    const { orphans } = apply(store([2], [12, 13], { lora_id: 1, parent_block_hash: 1 }));
    expect([held(), orphans, cache.size]).toEqual([[], 0, 0]);
    expect(counted()).toEqual(['stored hidden_parent 1', 'stored unnamed_lora 1']);
    expect(apply(remove([2, 1])).changes).toEqual([]);
    expect(apply(store([3], [14, 15], { parent_block_hash: 1 })).orphans).toBe(1);
  });

  it('that are too long for any prompt keep blocks out, and the cache view from being exact until they are gone', () => {
    const { apply, held, counted, cache } = setUp();
    apply(store([1], [10, 11], { cache_salt: 'x'.repeat(MAX_NAME_BYTES + 1) }));
    expect(held()).toEqual([]);
    expect(counted()).toEqual(['stored namespace_refused 1']);
    expect(cache.flaw).toContain('longer ones, than are kept: blocks are left out');
    apply(remove([1]));
    expect(cache.flaw).toBeUndefined();
  });

  it.each(['x', 'ü', '漢'])('of as many %s as a prompt may have are read, wherever they stand', (letter) => {
    const salt = letter.repeat(MAX_NAME_CHARS);
    for (const form of [{ cache_salt: salt }, { extra_keys: [[salt]] }]) {
      const { apply, held, device, cache } = setUp();
      apply(store([1], [10, 11], form));
      expect(held()).toEqual(device({ tokens: [10, 11], salt }));
      expect(cache.flaw).toBeUndefined();
    }
  });

  it('that are more than are kept keep blocks out, and the cache view from being exact until they are gone', () => {
    const { cache, counted } = makeCache({ maxNamespaces: 2 });
    const salted = (hash: number): unknown => store([hash], [10, 11], { cache_salt: `tenant-${hash}` });
    cache.apply(batchOf(salted(1), salted(2)));
    expect(cache.flaw).toBeUndefined();
    cache.apply(batchOf(salted(3), salted(4)));
    expect([cache.size, cache.flaw]).toEqual([
      2,
      'has more LoRA names and cache salts, or longer ones, than are kept: blocks are left out',
    ]);
    cache.apply(batchOf(remove([3])));
    expect(cache.flaw).toBeDefined();
    cache.apply(batchOf(remove([4, 1])));
    expect(cache.flaw).toBeUndefined();
    cache.apply(batchOf(salted(5), salted(2)));
    expect([cache.size, cache.flaw]).toEqual([2, undefined]);
    expect(counted()).toContain('stored namespace_refused 2');
  });

  it('take bounded memory, however long they are', () => {
    const { cache } = makeCache();
    for (let at = 0; at < 6_000; at += 1) {
      const salt = `${at}`.padEnd(MAX_NAME_CHARS, 'x');
      cache.apply(batchOf(store([at], [10, 11], { cache_salt: salt })));
    }
    expect(cache.size).toBeLessThan(4_096);
    expect(cache.flaw).toBeDefined();
  });

  it('may be new with every request, without end', () => {
    const { cache, counted } = makeCache();
    for (let round = 0; round < 70; round++) {
      const events = Array.from({ length: 1_000 }, (_, i) => [
        store([i], [10, 11], { cache_salt: `${round}-${i}` }),
        remove([i]),
      ]);
      cache.apply(batchOf(...events.flat()));
    }
    expect(counted()).toEqual(['stored applied 70000', 'removed applied 70000']);
  });
});

describe('media', () => {
  const ofOne = { mm_objects: [{ mm_hash: 7n, offsets: [[0, 2]] }] };

  it('set blocks apart by their hashes, where the event reports them', () => {
    const { apply, held, device } = setUp();
    apply(
      store([1, 2], [10, 11, 12, 13], {
        block_mm_infos: [null, ofOne],
        extra_keys: [null, [['f00d', 3]]],
      }),
    );
    apply(store([3], [14, 15], { parent_block_hash: 2 }));
    const media = [[], [{ lo: 7, hi: 0 }], []];
    expect(held()).toEqual(device({ tokens: [10, 11, 12, 13, 14, 15], media }));
  });

  it.each([
    ['a pair without an offset', { extra_keys: [null, [['f00d', 'x']]] }],
    ['an identifier with more than an offset', { extra_keys: [null, [['f00d', 3, 4]]] }],
    ['an offset beyond any prompt', { extra_keys: [null, [['f00d', 2n ** 40n]]] }],
    ['an empty identifier', { extra_keys: [null, [['', 3]]] }],
    ['a word that is neither LoRA nor salt', { extra_keys: [null, ['f00d']] }],
    ['a digest of embeddings', { extra_keys: [null, [new Uint8Array(32)]] }],
    ['a number', { extra_keys: [null, [4]] }],
    ['keys that are no list', { extra_keys: [null, { type: 'mm' }] }],
    ['very many keys', { extra_keys: [null, new Array(300).fill('a')] }],
    [
      'more keys than media',
      {
        extra_keys: [
          null,
          [
            ['a', 1],
            ['b', 1],
          ],
        ],
        block_mm_infos: [null, ofOne],
      },
    ],
    ['media without a hash', { block_mm_infos: [null, { mm_objects: [{ offsets: [] }] }] }],
    ['media in another form', { block_mm_infos: [null, ['f00d']] }],
  ])('that cannot be read keep a block out, and all after it: %s', (_, more) => {
    const { apply, held, device, counted, cache } = setUp();
    apply(store([1, 2, 3], [10, 11, 12, 13, 14, 15], { ...more, ...padded(more) }));
    const { orphans } = apply(store([4], [16, 17], { parent_block_hash: 3 }));
    expect(held()).toEqual(device({ tokens: [10, 11] }));
    expect([orphans, cache.size]).toEqual([0, 1]);
    expect(counted()).toEqual([
      'stored applied 1',
      'stored media_identity_unknown 1',
      'stored hidden_parent 1',
    ]);
  });

  it.each([
    ['tokens', [10, 11, 2n ** 61n, 2n ** 61n + 5n, 14, 15], {}],
    [
      'pairs',
      [
        [10, 11],
        [11, 12],
        [12, 2n ** 61n],
        [2n ** 61n, 14],
        [14, 15],
        [15, 16],
      ],
      { bigram: true },
    ],
  ])(
    'in place of whose tokens SGLang puts numbers of pixels keep a block out, all after it, and none before: %s',
    (_, ids, more) => {
      const { apply, held, device, counted } = setUp();
      const before = 'bigram' in more ? [7, 8, 9] : [7, 8];
      apply(
        store(
          [9],
          'bigram' in more
            ? [
                [7, 8],
                [8, 9],
              ]
            : [7, 8],
        ),
      );
      apply(store([1, 2, 3], ids));
      const text = { tokens: 'bigram' in more ? [10, 11, 12] : [10, 11], ...more };
      expect(held()).toEqual(device({ tokens: before, ...more }, text));
      expect(counted()).toEqual(['stored applied 2', 'stored media_identity_unknown 1']);
      apply(remove([3, 2, 1]));
      expect(held()).toEqual(device({ tokens: before, ...more }));
    },
  );

  it('of SGLang keep a block out in its own bytes, too', () => {
    const { cache, held, counted } = setUp();
    expect(cache.apply(Buffer.from(SGLANG_IMAGE, 'hex')).problem).toBeUndefined();
    expect(held()).toHaveLength(2);
    expect(counted()).toEqual(['stored applied 1', 'stored media_identity_unknown 1']);
  });

  it('set blocks apart by vLLM’s identifier and where in the block it begins', () => {
    const { apply, held, device, hasher } = setUp();
    apply(store([1, 2, 3], [10, 11, 12, 13, 14, 15], { extra_keys: [null, [['f00d', 1]], [['f00d', -1]]] }));
    const media = [[], [mediaIdentity(hasher, 'f00d', 1)], [mediaIdentity(hasher, 'f00d', -1)]];
    expect(held()).toEqual(device({ tokens: [10, 11, 12, 13, 14, 15], media }));
  });

  it('stand beside the name of an adapter and a salt', () => {
    const { apply, held, device, hasher } = setUp();
    apply(store([1], [10, 11], { lora_name: 'adapter', extra_keys: [['adapter', ['f00d', 0], 'tenant']] }));
    const media = [[mediaIdentity(hasher, 'f00d', 0)]];
    expect(held()).toEqual(device({ tokens: [10, 11], media, lora: 'adapter', salt: 'tenant' }));
  });

  it.each([{ extra_keys: [['a']] }, { block_mm_infos: [ofOne] }])(
    'that do not match the blocks keep all of them out: $extra_keys',
    (more) => {
      const { apply, held } = setUp();
      apply(store([1, 2], [10, 11, 12, 13], more));
      expect(held()).toEqual([]);
    },
  );

  it('in two plain words of a first block are not taken for a salt', () => {
    const { apply, held } = setUp();
    apply(store([1], [10, 11], { extra_keys: [['f00d', 'tenant']] }));
    expect(held()).toEqual([]);
  });
});

/** The lists of `more`, as long as three blocks need. */
function padded(more: object): object {
  return Object.fromEntries(Object.entries(more).map(([key, list]) => [key, [...list, null]]));
}

describe('pairs of tokens', () => {
  it('are hashed over windows that reach one token into the next block', () => {
    const { apply, held, device } = setUp();
    const { observed } = apply(
      store(
        [1, 2],
        [
          [10, 11],
          [11, 12],
          [12, 13],
          [13, 14],
        ],
      ),
      store(
        [3],
        [
          [14, 15],
          [15, 16],
        ],
        { parent_block_hash: 2 },
      ),
    );
    expect(observed?.unit).toBe('bigram');
    expect(held()).toEqual(device({ tokens: [10, 11, 12, 13, 14, 15, 16], bigram: true }));
  });

  it('are what vLLM hashes that names the token behind each block', () => {
    const { apply, held, device } = setUp();
    const { observed } = apply(
      store([1, 2], [10, 11, 12, 13], { lookahead_token_ids: [[12], [14]] }),
      store([3], [14, 15], { parent_block_hash: 2, lookahead_token_ids: [[16]] }),
    );
    expect(observed).toMatchObject({ unit: 'bigram', looksAhead: true });
    expect(held()).toEqual(device({ tokens: [10, 11, 12, 13, 14, 15, 16], bigram: true }));
  });

  it('make two blocks of the same tokens that other ones follow, of which one may go alone', () => {
    const { apply, held, device } = setUp();
    apply(
      store([1], [10, 11], { lookahead_token_ids: [[12]] }),
      store([2], [10, 11], { lookahead_token_ids: [[99]] }),
    );
    const one = { tokens: [10, 11, 12], bigram: true };
    const other = { tokens: [10, 11, 99], bigram: true };
    expect(held()).toEqual(device(one, other));
    apply(remove([1]));
    expect(held()).toEqual(device(other));
  });

  it('set blocks apart by an item that begins with the token behind them', () => {
    const { apply, held, hasher } = setUp();
    apply(
      store([1, 2], [10, 11, 12, 13], {
        lookahead_token_ids: [[12], [14]],
        extra_keys: [[['f00d', 2]], [['f00d', 0]]],
      }),
    );
    const items = [{ identifier: 'f00d', offset: 2, length: 2 }];
    const media = mediaByBlock(hasher, items, { tokensPerBlock: 2, blocks: 2, unit: 'bigram' });
    const tokens = Uint32Array.of(10, 11, 12, 13, 14);
    const seed = hasher.seedOf('', '');
    const { sequenceHashes } = hasher.hashTokens(tokens, { tokensPerBlock: 2, unit: 'bigram', seed, media });
    expect(held()).toEqual(
      unpack(sequenceHashes)
        .map((hash) => `device 2 ${hash}`)
        .sort(),
    );
  });

  it('are not enough for hashes that cover several tokens behind a block: the view is approximate', () => {
    const { cache, apply, held, device } = setUp();
    apply(store([1], [10, 11], { lookahead_token_ids: [[12, 13]] }));
    expect(held()).toEqual(device({ tokens: [10, 11] }));
    expect(cache.approximation).toContain('the 2 tokens behind a block');
  });

  it('that do not join are refused', () => {
    const { apply, held, counted } = setUp();
    apply(
      store(
        [1],
        [
          [10, 11],
          [99, 12],
        ],
      ),
    );
    expect(held()).toEqual([]);
    expect(counted()).toEqual(['stored tokens_hashes_mismatch 1']);
  });
});

describe('the bound on blocks', () => {
  it('leaves out what is too much, says so, and is exact again after a clear', () => {
    const { cache, apply, held, device, counted } = setUp({ maxBlocks: 2 });
    apply(store([1, 2, 3], [10, 11, 12, 13, 14, 15]));
    expect(held()).toEqual(device({ tokens: [10, 11, 12, 13] }));
    expect(cache.flaw).toBe('holds more than 2 blocks');
    const { orphans } = apply(store([4], [16, 17], { parent_block_hash: 3 }));
    expect(orphans).toBe(0);
    expect(counted()).toEqual(['stored applied 1', 'stored unknown_parent 1', 'stored mirror_full 1']);
    apply({ type: 'AllBlocksCleared' }, store([1], [10, 11]));
    expect(cache.flaw).toBeUndefined();
    expect(held()).toEqual(device({ tokens: [10, 11] }));
  });

  it('counts blocks that are kept out as well', () => {
    const { cache, apply } = setUp({ maxBlocks: 1 });
    apply(store([1, 2], [10, 11, 12, 13], { lora_id: 5 }));
    expect([cache.size, cache.flaw]).toEqual([0, 'holds more than 1 blocks']);
  });
});

describe('a payload that cannot be read', () => {
  it('is reported and counted, and leaves nothing credited that it may have taken away', () => {
    const { cache, apply, held, counted } = setUp();
    const { problem, changes, rank } = cache.apply(
      encode([
        1,
        [store([1], [10, 11]), { type: 'BlockRemoved', block_hashes: 'all' }, store([2], [12, 13])],
        5,
      ]),
    );
    expect([problem, rank]).toEqual(['no array where one belongs', 5]);
    expect(changes.map(({ type }) => type)).toEqual(['stored', 'cleared', 'stored']);
    expect(held()).toHaveLength(1);
    expect(cache.flaw).toBe('some of its KV events could not be read: what it held before them is unknown');
    expect(counted()).toEqual(['stored applied 2', 'other undecodable 1']);
    // Only the engine itself can say that nothing else is left.
    apply({ type: 'AllBlocksCleared' });
    expect(cache.flaw).toBeUndefined();
  });

  it('of events that mean nothing here is counted', () => {
    const { apply, counted } = setUp();
    apply({ type: 'Ignored' }, ['New'], store([], []), remove([]));
    expect(counted()).toEqual([
      'stored no_whole_block 1',
      'removed no_whole_block 1',
      'other ignored_event 2',
    ]);
  });
});
