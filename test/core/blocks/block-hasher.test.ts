import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../../src/core/blocks/block-hasher.js';
import { type HashHalves, packedCount } from '../../../src/core/blocks/packed-hashes.js';
import { bigintAt, packedFrom } from '../../support/packed-hashes.js';
import { propertyRuns } from '../../support/property-runs.js';
import { referenceBlocks, referenceHash } from './support/reference-hash.js';

interface Vector {
  readonly name: string;
  readonly block_size: number;
  readonly lora_name?: string | null;
  readonly cache_namespace?: string | null;
  readonly is_eagle?: boolean;
  readonly mm_hashes?: readonly (readonly string[] | null)[];
  readonly tokens: readonly number[];
  readonly block_hashes: readonly string[];
  readonly sequence_hashes: readonly string[];
}

const recorded = JSON.parse(
  readFileSync(new URL('../../fixtures/hashes/dynamo-1.6.1.json', import.meta.url), 'utf8'),
) as { readonly vectors: readonly Vector[]; readonly multimodal: readonly Vector[] };

function wordsOf(hash: bigint): HashHalves {
  return { lo: Number(hash & 0xffff_ffffn), hi: Number(hash >> 32n) };
}

function bigintOf({ lo, hi }: HashHalves): bigint {
  return (BigInt(hi) << 32n) | BigInt(lo);
}

function bigintsOf(hashes: Uint8Array): bigint[] {
  return Array.from({ length: packedCount(hashes) }, (_, index) => bigintAt(hashes, index));
}

const PLAIN = { tokensPerBlock: 16, unit: 'token', seed: { lo: 1337, hi: 0 } } as const;

describe('the block hasher', () => {
  it.each([...recorded.vectors, ...recorded.multimodal])('hashes as Dynamo does: $name', (vector) => {
    const hasher = new BlockHasher();
    const hashed = hasher.hashTokens(Uint32Array.from(vector.tokens), {
      tokensPerBlock: vector.block_size,
      unit: vector.is_eagle === true ? 'bigram' : 'token',
      seed: hasher.seedOf(vector.lora_name ?? '', vector.cache_namespace ?? ''),
      media: vector.mm_hashes?.map((hashes) => (hashes ?? []).map((hash) => wordsOf(BigInt(hash)))),
    });
    expect(hashed.count).toBe(vector.block_hashes.length);
    expect(bigintsOf(hashed.blockHashes).map(String)).toEqual(vector.block_hashes);
    expect(bigintsOf(hashed.sequenceHashes).map(String)).toEqual(vector.sequence_hashes);
  });
});

describe('the seed', () => {
  it('is that of Dynamo, without a LoRA name and a cache salt', () => {
    expect(new BlockHasher().seedOf('', '')).toEqual({ lo: 1337, hi: 0 });
  });

  it('is mixed with the hashes of the LoRA name and the cache salt', () => {
    const hasher = new BlockHasher();
    expect(hasher.seedOf('my-lora', '')).toEqual(wordsOf(12827409268353072861n));
    expect(hasher.seedOf('', 'tenant-a')).toEqual(wordsOf(1948188790972764086n));
  });

  it('wraps at 64 bits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), async (lora, salt) => {
        const expected =
          1337n +
          (await referenceHash(Buffer.from(lora), { lo: 0, hi: 0 })) +
          (await referenceHash(Buffer.from(salt), { lo: 1, hi: 0 }));
        expect(new BlockHasher().seedOf(lora, salt)).toEqual(wordsOf(BigInt.asUintN(64, expected)));
      }),
    );
  });
});

describe('against another implementation', () => {
  const u32 = fc.nat({ max: 0xffff_ffff });
  const words = fc.record({ lo: u32, hi: u32 });
  const hasher = new BlockHasher();

  it('every length of bytes has the same hash', async () => {
    const bytes = Uint8Array.from({ length: 2_200 }, (_, index) => Math.imul(index + 1, 0x9e3779b1) >>> 24);
    const seed = { lo: 0xfedc_ba98, hi: 0x8765_4321 };
    for (let length = 0; length <= bytes.length; length += 1) {
      const part = bytes.subarray(bytes.length - length);
      expect({ length, hash: hasher.hashBytes(part, seed) }).toEqual({
        length,
        hash: wordsOf(await referenceHash(part, seed)),
      });
    }
  });

  it('blocks of every size, seed, parent, unit and media come to the same hashes', async () => {
    const given = fc.record({
      tokensPerBlock: fc.integer({ min: 1, max: 300 }),
      isBigram: fc.boolean(),
      seed: words,
      parent: fc.option(words, { nil: undefined }),
      media: fc.option(fc.array(fc.array(words, { maxLength: 5 }), { maxLength: 8 }), { nil: undefined }),
    });
    // The number of tokens is given as blocks and a rest, so that large blocks are filled as well.
    const blocks = fc.double({ min: 0, max: 6, noNaN: true });
    await fc.assert(
      fc.asyncProperty(given, blocks, fc.infiniteStream(u32), async (options, filled, stream) => {
        const { tokensPerBlock, isBigram, seed, parent, media } = options;
        const tokens = [...stream.take(Math.round(filled * tokensPerBlock))];
        const expected = await referenceBlocks(tokens, {
          tokensPerBlock,
          isBigram,
          seed,
          parent: parent && bigintOf(parent),
          media: media?.map((hashes) => hashes.map(bigintOf)),
        });
        const hashed = hasher.hashTokens(Uint32Array.from(tokens), {
          tokensPerBlock,
          unit: isBigram ? 'bigram' : 'token',
          seed,
          parent,
          media,
        });
        expect(hashed.count).toBe(expected.blocks.length);
        expect(bigintsOf(hashed.blockHashes)).toEqual(expected.blocks);
        expect(bigintsOf(hashed.sequenceHashes)).toEqual(expected.sequences);
      }),
      { numRuns: propertyRuns(150) },
    );
  });
});

describe('chaining', () => {
  it('yields the sequence hashes of hashing in one call, also over a view of the same hasher', () => {
    const hasher = new BlockHasher();
    const parent = wordsOf(14643705804678351452n);
    const hashed = hasher.hashTokens(countedTokens(4_000), { ...PLAIN, parent });
    const sequences = hashed.sequenceHashes.slice();
    expect(bigintsOf(hasher.chain(hashed.blockHashes, parent))).toEqual(bigintsOf(sequences));
  });

  it('takes a view of the same hasher also when its memory has to grow', () => {
    const hasher = new BlockHasher();
    const small = hasher.hashTokens(countedTokens(2_000), { ...PLAIN, tokensPerBlock: 1 });
    // Of all that the hasher's memory holds, as much as nobody should ask for.
    const { buffer } = small.blockHashes;
    const all = new Uint8Array(buffer, 0, buffer.byteLength);
    const expected = bigintsOf(new BlockHasher().chain(all.slice()));
    expect(bigintsOf(hasher.chain(all))).toEqual(expected);
    expect(all.length).toBe(0);
  });

  it('goes on where the blocks before ended', () => {
    const hasher = new BlockHasher();
    const tokens = countedTokens(96);
    const whole = bigintsOf(hasher.hashTokens(tokens, PLAIN).sequenceHashes);
    const { sequenceHashes } = hasher.hashTokens(tokens.subarray(32), {
      ...PLAIN,
      parent: wordsOf(whole[1] as bigint),
    });
    expect(bigintsOf(sequenceHashes)).toEqual(whole.slice(2));
  });

  it('of nothing is nothing', () => {
    expect(new BlockHasher().chain(new Uint8Array(0)).length).toBe(0);
  });

  it('refuses what is not packed hashes', () => {
    expect(() => new BlockHasher().chain(new Uint8Array(12))).toThrow(
      new RangeError('packed hashes are 8 bytes each, not 12 in all'),
    );
  });

  it('takes hashes that lie unaligned', () => {
    const hashes = packedFrom([1n, 2n ** 64n - 1n, 3n]);
    const shifted = new Uint8Array(hashes.length + 3);
    shifted.set(hashes, 3);
    const hasher = new BlockHasher();
    const expected = bigintsOf(hasher.chain(hashes));
    expect(bigintsOf(hasher.chain(shifted.subarray(3)))).toEqual(expected);
  });
});

describe('what is asked for', () => {
  it.each([0, -1, 1.5, Number.NaN, 1_048_577])('cannot be blocks of %s tokens', (tokensPerBlock) => {
    expect(() => new BlockHasher().hashTokens(countedTokens(4), { ...PLAIN, tokensPerBlock })).toThrow(
      new RangeError(`tokens per block must be 1 to 1048576, not ${tokensPerBlock}`),
    );
  });

  it('can be blocks of 1,048,576 tokens, and one token more for bigrams', async () => {
    const hasher = new BlockHasher();
    const tokens = countedTokens(1_048_577);
    const seed = hasher.seedOf('', '');
    for (const unit of ['token', 'bigram'] as const) {
      const used = unit === 'bigram' ? tokens : tokens.subarray(0, -1);
      const { count, blockHashes } = hasher.hashTokens(used, { tokensPerBlock: 1_048_576, unit, seed });
      expect(count).toBe(1);
      const bytes = new Uint8Array(used.buffer, used.byteOffset, used.byteLength);
      expect(bigintAt(blockHashes, 0)).toBe(await referenceHash(bytes, seed));
    }
  });

  it('can be 16,777,216 tokens, and not one more', () => {
    const hasher = new BlockHasher();
    const tokens = new Uint32Array(16_777_217);
    expect(hasher.hashTokens(tokens.subarray(1), { ...PLAIN, tokensPerBlock: 1 }).count).toBe(16_777_216);
    expect(() => hasher.hashTokens(tokens, PLAIN)).toThrow(
      new RangeError('at most 16777216 tokens can be hashed in one call, not 16777217'),
    );
  });

  it('can be 65,536 media in a block, and not one more', () => {
    const hasher = new BlockHasher();
    const media = Array.from({ length: 65_537 }, (_, index) => ({ lo: index, hi: 0 }));
    const tokens = countedTokens(16);
    const sorted = hasher.hashTokens(tokens, { ...PLAIN, media: [media.slice(1)] }).blockHashes.slice();
    const reversed = hasher.hashTokens(tokens, { ...PLAIN, media: [media.slice(1).reverse()] });
    expect(reversed.blockHashes).toEqual(sorted);
    expect(() => hasher.hashTokens(tokens, { ...PLAIN, media: [media] })).toThrow(
      new RangeError('a block can have at most 65536 media, not 65537'),
    );
  });

  it('may name media of blocks that are not there', () => {
    const hasher = new BlockHasher();
    const plain = hasher.hashTokens(countedTokens(20), PLAIN).blockHashes.slice();
    const hashed = hasher.hashTokens(countedTokens(20), { ...PLAIN, media: [[], [{ lo: 1, hi: 2 }]] });
    expect(hashed.blockHashes).toEqual(plain);
  });
});

describe('the memory', () => {
  it('is not shared by two hashers', () => {
    const first = new BlockHasher().hashTokens(countedTokens(32), PLAIN);
    const held = first.blockHashes.slice();
    new BlockHasher().hashTokens(countedTokens(32).reverse(), PLAIN);
    expect(first.blockHashes).toEqual(held);
  });

  it('does not grow with the number of calls', () => {
    const hasher = new BlockHasher();
    const tokens = countedTokens(10_000);
    const sizes = new Set<number>();
    for (let call = 0; call < 2_000; call += 1) {
      sizes.add(hasher.hashTokens(tokens, PLAIN).blockHashes.buffer.byteLength);
      hasher.chain(new Uint8Array(8 * (call % 1_000)));
      hasher.seedOf('my-lora', `tenant-${call}`);
    }
    expect([...sizes]).toEqual([65_536]);
  });

  it('that one very long call needed goes back with the next', () => {
    const hasher = new BlockHasher();
    const long = hasher.hashTokens(new Uint32Array(8_000_000), PLAIN);
    expect(long.blockHashes.buffer.byteLength).toBeGreaterThan(32_000_000);
    expect(hasher.hashTokens(countedTokens(32), PLAIN).blockHashes.buffer.byteLength).toBe(65_536);
  });
});

/** 1, 2, 3, … */
function countedTokens(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, index) => index + 1);
}
