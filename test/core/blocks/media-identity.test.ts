import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../../src/core/blocks/block-hasher.js';
import {
  MAX_IDENTIFIER_CHARS,
  MAX_MEDIA_ITEMS,
  type MediaItem,
  mediaByBlock,
  mediaIdentity,
  mediaProblem,
} from '../../../src/core/blocks/media-identity.js';

const hasher = new BlockHasher();
const SEED = hasher.seedOf('', '');

/** The sequence hashes of a prompt, in hexadecimal. */
function hashesOf(tokens: readonly number[], items: readonly MediaItem[], tokensPerBlock: number): string[] {
  const media = mediaByBlock(hasher, items, {
    tokensPerBlock,
    blocks: Math.floor(tokens.length / tokensPerBlock),
    unit: 'token',
  });
  const options = { tokensPerBlock, unit: 'token', seed: SEED, media } as const;
  const { sequenceHashes, count } = hasher.hashTokens(Uint32Array.from(tokens), options);
  return Array.from({ length: count }, (_, at) =>
    Buffer.from(sequenceHashes.subarray(8 * at, 8 * at + 8)).toString('hex'),
  );
}

/** Items that follow each other in a prompt, and its length. */
const prompts = fc
  .array(
    fc.record({
      identifier: fc.string({ minLength: 1, maxLength: 80 }),
      gap: fc.nat(40),
      length: fc.integer({ min: 1, max: 90 }),
    }),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((parts) => {
    const items: MediaItem[] = [];
    let end = 0;
    for (const { identifier, gap, length } of parts) {
      items.push({ identifier, offset: end + gap, length });
      end += gap + length;
    }
    return { items, tokens: Array.from({ length: end + 20 }, (_, at) => at % 7) };
  });

describe('blocks of a prompt with media', () => {
  it('are independent of them before the first, and never the same from there on', () => {
    fc.assert(
      fc.property(prompts, fc.integer({ min: 1, max: 33 }), ({ items, tokens }, width) => {
        const [first, ...others] = items as [MediaItem, ...MediaItem[]];
        const free = Math.floor(first.offset / width);
        const own = hashesOf(tokens, items, width);
        const text = hashesOf(tokens, [], width);
        const other = hashesOf(tokens, [{ ...first, identifier: `${first.identifier}+` }, ...others], width);
        expect(own.slice(0, free)).toEqual(text.slice(0, free));
        expect(own.slice(0, free)).toEqual(other.slice(0, free));
        for (let block = free; block < own.length; block += 1)
          expect(new Set([own[block], text[block], other[block]]).size).toBe(3);
      }),
    );
  });

  it('are others where two images change places, or begin a token later', () => {
    const tokens = Array(32).fill(8);
    const [a, b] = [
      { identifier: 'a', offset: 0, length: 8 },
      { identifier: 'b', offset: 8, length: 8 },
    ] as const;
    const swapped = [
      { ...a, identifier: 'b' },
      { ...b, identifier: 'a' },
    ];
    const later = [a, { ...b, offset: 9 }];
    const all = [[a, b], swapped, later].map((items) => hashesOf(tokens, items, 32)[0]);
    expect(new Set(all).size).toBe(3);
  });
});

describe('the identity of a medium', () => {
  it('is Dynamo’s own hash where it gave one', () => {
    const marker = `0123456789abcdef${'0'.repeat(48)}`;
    expect(mediaIdentity(hasher, marker, 5)).toEqual({ hi: 0x01234567, lo: 0x89abcdef });
  });

  it('depends on identifier and offset', () => {
    const all = [
      mediaIdentity(hasher, 'a', 0),
      mediaIdentity(hasher, 'a', -1),
      mediaIdentity(hasher, 'b', 0),
    ];
    expect(new Set(all.map(({ lo, hi }) => `${hi} ${lo}`)).size).toBe(3);
  });
});

describe('media that are out of range', () => {
  const item = (more: Partial<MediaItem>): MediaItem => ({ identifier: 'a', offset: 0, length: 1, ...more });

  it.each<[string, readonly MediaItem[]]>([
    ['has 1025 items', Array.from({ length: MAX_MEDIA_ITEMS + 1 }, (_, offset) => item({ offset }))],
    ['identifier has 0', [item({ identifier: '' })]],
    ['identifier has 257', [item({ identifier: 'x'.repeat(MAX_IDENTIFIER_CHARS + 1) })]],
    ['begins at token -1', [item({ offset: -1 })]],
    ['begins at token 0.5', [item({ offset: 0.5 })]],
    ['has 0', [item({ length: 0 })]],
    ['must begin at 3', [item({ length: 3 }), item({ offset: 2 })]],
    ['ends at token 10001, and there are 10000', [item({ offset: 10_000 })]],
  ])('are named: %s', (text, items) => {
    expect(mediaProblem(items, 10_000)).toContain(text);
  });

  it('are not those that fill a prompt', () => {
    expect(mediaProblem([item({ length: 4 }), item({ offset: 4, length: 6 })], 10)).toBeUndefined();
  });
});
