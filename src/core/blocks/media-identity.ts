import type { BlockHasher, HashUnitName } from './block-hasher.js';
import type { HashHalves } from './packed-hashes.js';

/** One image, sound or video of a prompt, as its engine identifies it. Plain data: it may cross between processes. */
export interface MediaItem {
  /** The engine's own identifier: vLLM's `mm_hash`. */
  readonly identifier: string;
  /** The first token that stands for it. */
  readonly offset: number;
  /** How many tokens stand for it. */
  readonly length: number;
}

/** Items of one prompt that are looked at: more than any engine takes, and each costs a hash for every block that it is in. @internal */
export const MAX_MEDIA_ITEMS = 1_024;
/** Longest identifier: hexadecimal SHA-512 has 128 characters, and clients may bring identifiers of their own. @internal */
export const MAX_IDENTIFIER_CHARS = 256;

/** What Dynamo's workers make of a media hash: its sixteen digits and zeros up to the length of vLLM's own. */
const DYNAMO_MARKER = /^[0-9a-fA-F]{16}0{48}$/;
/** High word of the seed; 0 belongs to names, 1 to salts (their seeds have a high word of 0). */
const MEDIA_SEED_HI = 2;
const ENCODER = new TextEncoder();

/**
 * What distinguishes a block with media from others with its tokens: a hash
 * of the identifier and of where the item begins, in tokens from the block's
 * start (negative where it began before it). That is what vLLM's own block hash
 * covers (`v1/core/kv_cache_utils.py`, `_gen_mm_extra_hash_keys`). The hash that
 * Dynamo gives an item is taken as it is, for its router knows no more.
 */
export function mediaIdentity(hasher: BlockHasher, identifier: string, offset: number): HashHalves {
  if (DYNAMO_MARKER.test(identifier))
    return {
      hi: Number.parseInt(identifier.slice(0, 8), 16),
      lo: Number.parseInt(identifier.slice(8, 16), 16),
    };
  return hasher.hashBytes(ENCODER.encode(identifier), { lo: offset >>> 0, hi: MEDIA_SEED_HI });
}

/**
 * For each block of so many tokens the identities of the media in it;
 * undefined where there are none. `blocks` is how many there are. With the unit
 * `bigram` an item that begins with the token behind a block is in it, too: vLLM's
 * hash covers what its draft model reads (`generate_lookahead_block_hash_extra_keys`).
 */
export function mediaByBlock(
  hasher: BlockHasher,
  items: readonly MediaItem[],
  {
    tokensPerBlock,
    blocks,
    unit,
  }: { readonly tokensPerBlock: number; readonly blocks: number; readonly unit: HashUnitName },
): readonly (readonly HashHalves[])[] | undefined {
  if (items.length === 0) return undefined;
  const behind = unit === 'bigram' ? 1 : 0;
  const found: HashHalves[][] = Array.from({ length: blocks }, () => []);
  for (const { identifier, offset, length } of items) {
    const end = Math.min(blocks, Math.ceil((offset + length) / tokensPerBlock));
    const start = Math.max(0, Math.floor((offset - behind) / tokensPerBlock));
    for (let block = start; block < end; block += 1)
      found[block]?.push(mediaIdentity(hasher, identifier, offset - block * tokensPerBlock));
  }
  return found;
}

/** What is wrong with the media of a prompt of so many tokens, to follow the prompt's name; undefined when nothing is. */
export function mediaProblem(items: readonly MediaItem[], tokenCount: number): string | undefined {
  if (items.length > MAX_MEDIA_ITEMS)
    return `media has ${items.length} items, at most ${MAX_MEDIA_ITEMS} are taken`;
  let end = 0;
  for (const [at, { identifier, offset, length }] of items.entries()) {
    if (identifier === '' || identifier.length > MAX_IDENTIFIER_CHARS)
      return `media[${at}].identifier has ${identifier.length} characters, it must have 1 to ${MAX_IDENTIFIER_CHARS}`;
    if (!Number.isInteger(offset) || !Number.isInteger(length) || offset < end || length < 1)
      return `media[${at}] begins at token ${offset} and has ${length}, it must begin at ${end} or later and have one or more`;
    end = offset + length;
    if (end > tokenCount) return `media[${at}] ends at token ${end}, and there are ${tokenCount}`;
  }
  return undefined;
}
