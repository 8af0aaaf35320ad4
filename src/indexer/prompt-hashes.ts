import { BlockHasher, type HashUnitName } from '../blocks/block-hasher.js';
import type { Prompt } from '../gen/kvaccord/v1/indexer.js';
import { RpcError } from '../rpc/errors.js';

/** Longest prompt in tokens: four times what any model takes, and more than fits into a message. */
const MAX_TOKENS = 4 * 1024 * 1024;

/** Longest prompt in hashes: as many as fit into a message of 4 MiB. */
const MAX_HASHES = 512 * 1024;

/** Longest LoRA name or cache salt that is hashed. */
const MAX_NAME_CHARS = 4_096;

/** Turns prompts into what the index is asked with. */
export class PromptHashes {
  /** Made when somebody asks with tokens or block hashes: the kernel has to be compiled. */
  #hasher: BlockHasher | undefined;

  /**
   * The prompt's whole blocks as packed sequence hashes, good until the next
   * call. Throws an `RpcError` `invalid_argument`.
   */
  read(
    prompt: Prompt | undefined,
    contract: { readonly tokensPerBlock: number; readonly hashUnit: HashUnitName },
  ): Uint8Array {
    const form = prompt?.form;
    switch (form?.$case) {
      case 'tokenIds':
        return this.#hashTokens(form.value.ids, prompt?.loraName ?? '', prompt?.cacheSalt ?? '', contract);
      case 'blockHashes':
        return this.#open().chain(checked('prompt.block_hashes', form.value));
      case 'sequenceHashes':
        return checked('prompt.sequence_hashes', form.value);
      default:
        throw invalid('prompt must have token_ids, block_hashes or sequence_hashes');
    }
  }

  #hashTokens(
    ids: readonly number[],
    loraName: string,
    cacheSalt: string,
    { tokensPerBlock, hashUnit }: { readonly tokensPerBlock: number; readonly hashUnit: HashUnitName },
  ): Uint8Array {
    if (ids.length > MAX_TOKENS)
      throw invalid(`prompt.token_ids has ${ids.length} tokens, at most ${MAX_TOKENS} are taken`);
    for (const [field, text] of [
      ['lora_name', loraName],
      ['cache_salt', cacheSalt],
    ]) {
      if ((text?.length ?? 0) > MAX_NAME_CHARS)
        throw invalid(`prompt.${field} has more than ${MAX_NAME_CHARS} characters`);
    }
    const hasher = this.#open();
    const seed = hasher.seedOf(loraName, cacheSalt);
    return hasher.hashTokens(Uint32Array.from(ids), { tokensPerBlock, unit: hashUnit, seed }).sequenceHashes;
  }

  #open(): BlockHasher {
    this.#hasher ??= new BlockHasher();
    return this.#hasher;
  }
}

function checked(field: string, packed: Uint8Array): Uint8Array {
  if (packed.length % 8 !== 0)
    throw invalid(`${field} has ${packed.length} bytes, which are no whole hashes of 8`);
  if (packed.length / 8 > MAX_HASHES)
    throw invalid(`${field} has ${packed.length / 8} hashes, at most ${MAX_HASHES} are taken`);
  return packed;
}

function invalid(message: string): RpcError {
  return new RpcError('invalid_argument', message);
}
