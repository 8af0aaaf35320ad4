import { createHash } from 'node:crypto';

/** One KV block of a simulated engine. */
export interface KvBlock {
  /** The engine's own name for it, 64 bits; of its tokens and all before them. */
  readonly hash: bigint;
  /** The block before it; undefined for the first of a prompt. */
  readonly parentHash: bigint | undefined;
  readonly tokenIds: readonly number[];
}

/** What a prompt changed. */
export interface ComputedPrompt {
  /** Leading blocks that were there already, and were not computed again. */
  readonly reusedBlocks: number;
  /** Blocks that were computed, each after its parent. */
  readonly stored: readonly KvBlock[];
  /** Blocks that had to go for them. */
  readonly evicted: readonly KvBlock[];
}

/** The KV cache of a simulated engine: whole blocks, found again by their prefix; the least recently used go first. */
export class KvCache {
  readonly #tokensPerBlock: number;
  readonly #totalBlocks: number;
  /** The least recently used first, and children before their parents. */
  readonly #held = new Map<bigint, KvBlock>();

  constructor(options: { readonly tokensPerBlock: number; readonly totalBlocks: number }) {
    this.#tokensPerBlock = options.tokensPerBlock;
    this.#totalBlocks = options.totalBlocks;
  }

  /** Blocks that are held now. */
  get size(): number {
    return this.#held.size;
  }

  /** Computes a prompt. What does not fill a block, or does not fit into the whole cache, is not kept. */
  compute(tokenIds: readonly number[]): ComputedPrompt {
    const prompt = this.#blocksOf(tokenIds);
    const stored = prompt.filter(({ hash }) => !this.#held.has(hash));
    // What the prompt itself needs is not evicted for it.
    for (const { hash } of prompt) this.#held.delete(hash);
    const evicted: KvBlock[] = [];
    for (const block of this.#held.values()) {
      if (this.#held.size + prompt.length <= this.#totalBlocks) break;
      this.#held.delete(block.hash);
      evicted.push(block);
    }
    for (const block of [...prompt].reverse()) this.#held.set(block.hash, block);
    return { reusedBlocks: prompt.length - stored.length, stored, evicted };
  }

  #blocksOf(tokenIds: readonly number[]): KvBlock[] {
    const width = this.#tokensPerBlock;
    const count = Math.min(Math.floor(tokenIds.length / width), this.#totalBlocks);
    const blocks: KvBlock[] = [];
    for (let index = 0; index < count; index += 1) {
      const tokens = tokenIds.slice(index * width, (index + 1) * width);
      const parentHash = blocks.at(-1)?.hash;
      blocks.push({ hash: hashOf(tokens, parentHash), parentHash, tokenIds: tokens });
    }
    return blocks;
  }
}

/** No two engines need the same hash, and nobody else can compute it: only the tokens show who holds what. */
function hashOf(tokenIds: readonly number[], parentHash: bigint | undefined): bigint {
  return createHash('sha256')
    .update(`${parentHash ?? 'first'} ${tokenIds.join(' ')}`)
    .digest()
    .readBigUInt64BE();
}
