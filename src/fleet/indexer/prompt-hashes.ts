import { BlockHasher, type HashUnitName } from '../../core/blocks/block-hasher.js';
import { type MediaItem, mediaByBlock, mediaProblem } from '../../core/blocks/media-identity.js';
import { MAX_NAME_CHARS } from '../../core/blocks/name-limits.js';
import { invalidArgument } from '../../edge/rpc/errors.js';
import type { Prompt } from '../../gen/kvaccord/v1/indexer.js';
import type { AskedPrompt } from './index/asked-index.js';

/** Longest prompt in tokens: four times what any model takes, and more than fits into a message. */
const MAX_TOKENS = 4 * 1024 * 1024;

/** Longest prompt in hashes: as many as fit into a message of 4 MiB. */
const MAX_HASHES = 512 * 1024;

/** How a prompt is cut and hashed; `AskedIndex` is one. */
export interface HashContract {
  readonly tokensPerBlock: number;
  readonly hashUnit: HashUnitName;
  /** Further block widths to hash tokens for; default none. */
  readonly otherWidths?: readonly number[];
}

/** A prompt by its tokens. */
export interface TokenPrompt {
  readonly tokens: ArrayLike<number>;
  /** Empty for none. */
  readonly loraName: string;
  /** Empty for none. */
  readonly cacheSalt: string;
  /** Its images, sounds and videos, in order; default none. */
  readonly media?: readonly MediaItem[] | undefined;
  /** Whether more of it follows, of which nothing is known; default false. */
  readonly isPrefix?: boolean | undefined;
}

/** Why a prompt cannot be hashed, mostly for its length, to follow the prompt's name; undefined when it can. */
export function tooLongMessage({ tokens, loraName, cacheSalt, media = [] }: TokenPrompt): string | undefined {
  if (tokens.length > MAX_TOKENS)
    return `token_ids has ${tokens.length} tokens, at most ${MAX_TOKENS} are taken`;
  if (loraName.length > MAX_NAME_CHARS) return `lora_name has more than ${MAX_NAME_CHARS} characters`;
  if (cacheSalt.length > MAX_NAME_CHARS) return `cache_salt has more than ${MAX_NAME_CHARS} characters`;
  return mediaProblem(media, tokens.length);
}

/** Turns prompts into what the index is asked with. */
export class PromptHashes {
  /** Made when a caller asks with tokens or block hashes: the kernel has to be compiled. */
  #hasher: BlockHasher | undefined;

  /**
   * A prompt as it came over gRPC; its hashes are good until the next prompt is
   * hashed. One that came in hashes has none of other widths. Throws an `RpcError`
   * `invalid_argument`.
   */
  read(prompt: Prompt | undefined, contract: HashContract): AskedPrompt {
    const form = prompt?.form;
    switch (form?.$case) {
      case 'tokenIds':
        return this.#readTokens(form.value.ids, prompt, contract);
      case 'packedTokenIds':
        return this.#readTokens(unpackTokenIds(form.value), prompt, contract);
      case 'blockHashes':
        return ofHashes(this.#open().chain(checked('prompt.block_hashes', form.value)), contract);
      case 'sequenceHashes':
        return ofHashes(checked('prompt.sequence_hashes', form.value), contract);
      default:
        throw invalidArgument(
          'prompt must have token_ids, packed_token_ids, block_hashes or sequence_hashes',
        );
    }
  }

  /** A prompt that is not too long; its hashes are good until the next prompt is hashed. */
  hash(
    { tokens, loraName, cacheSalt, media = [], isPrefix }: TokenPrompt,
    contract: HashContract,
  ): AskedPrompt {
    const { tokensPerBlock, hashUnit: unit, otherWidths = [] } = contract;
    const hasher = this.#open();
    const seed = hasher.seedOf(loraName, cacheSalt);
    const ids = tokens instanceof Uint32Array ? tokens : Uint32Array.from(tokens);
    const hash = (width: number): Uint8Array => {
      const blocks = Math.floor(ids.length / width);
      const byBlock = mediaByBlock(hasher, media, { tokensPerBlock: width, blocks, unit });
      return hasher.hashTokens(ids, { tokensPerBlock: width, unit, seed, media: byBlock }).sequenceHashes;
    };
    const known = {
      tokenCount: tokens.length,
      ...(isPrefix === true ? { isPrefix, isOpenEnded: true } : {}),
    };
    if (otherWidths.length === 0) return { sequenceHashes: hash(tokensPerBlock), ...known };
    // Copied, because the hasher writes over what it gave before.
    const others = new Map(otherWidths.map((width) => [width, hash(width).slice()]));
    return { sequenceHashes: hash(tokensPerBlock), ...known, otherWidths: others };
  }

  #readTokens(tokens: ArrayLike<number>, prompt: Prompt | undefined, contract: HashContract): AskedPrompt {
    const { loraName = '', cacheSalt = '', media, isPrefix } = prompt ?? {};
    const asked = { tokens, loraName, cacheSalt, media: media?.items, isPrefix };
    const problem = tooLongMessage(asked);
    if (problem !== undefined) throw invalidArgument(`prompt.${problem}`);
    return this.hash(asked, contract);
  }

  #open(): BlockHasher {
    this.#hasher ??= new BlockHasher();
    return this.#hasher;
  }
}

/** How many tokens a prompt has; undefined where it came in hashes. Reads no token. */
export function tokenCountOf({ form }: Prompt): number | undefined {
  if (form?.$case === 'tokenIds') return form.value.ids.length;
  return form?.$case === 'packedTokenIds' ? form.value.length / BYTES_PER_TOKEN : undefined;
}

/** A token id is a little-endian u32. */
const BYTES_PER_TOKEN = 4;

function unpackTokenIds(packed: Uint8Array): Uint32Array {
  if (packed.length % BYTES_PER_TOKEN !== 0)
    throw invalidArgument(
      `prompt.packed_token_ids has ${packed.length} bytes, which are no whole token ids of 4`,
    );
  // Copied, because the bytes of a message begin anywhere.
  const tokens = new Uint32Array(packed.length / BYTES_PER_TOKEN);
  new Uint8Array(tokens.buffer).set(packed);
  return tokens;
}

/** Token ids in the form that `packed_token_ids` has. */
export function packTokenIds(tokens: Uint32Array): Buffer {
  return Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength);
}

function ofHashes(sequenceHashes: Uint8Array, { tokensPerBlock }: HashContract): AskedPrompt {
  return { sequenceHashes, tokenCount: (sequenceHashes.length / 8) * tokensPerBlock, isOpenEnded: true };
}

function checked(field: string, packed: Uint8Array): Uint8Array {
  if (packed.length % 8 !== 0)
    throw invalidArgument(`${field} has ${packed.length} bytes, which are no whole hashes of 8`);
  if (packed.length / 8 > MAX_HASHES)
    throw invalidArgument(`${field} has ${packed.length / 8} hashes, at most ${MAX_HASHES} are taken`);
  return packed;
}
