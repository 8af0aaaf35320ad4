import { createXXHash3, type IHasher } from 'hash-wasm';

/** Width of every block of the chain tests. */
export const TOKENS_PER_BLOCK = 4;

/** What a request says besides its tokens; empty strings say nothing. */
export interface Namespace {
  readonly loraName: string;
  readonly cacheSalt: string;
}

/** One block of one sequence, known by all that lies before it. */
export interface ChainBlock {
  readonly namespace: Namespace;
  readonly parent: ChainBlock | undefined;
  readonly tokens: readonly number[];
  readonly sequenceHash: bigint;
  /** What the engine calls it: of 64 bits, and nothing that the sequence hash reports. */
  readonly engineHash: bigint;
}

/** The namespaces of the chain tests. */
export const NAMESPACES: readonly Namespace[] = [
  { loraName: '', cacheSalt: '' },
  { loraName: 'adapter-a', cacheSalt: '' },
  { loraName: '', cacheSalt: 'tenant-1' },
  { loraName: 'adapter-a', cacheSalt: 'tenant-1' },
];

/**
 * All blocks that a test may speak of, hashed as `KvEvents` has them by code
 * that shares nothing with the product's. A prompt is a path of small numbers,
 * one for each block, so that prompts share prefixes.
 */
export class ChainBlocks {
  readonly #seeded: readonly IHasher[];
  readonly #chain: IHasher;
  readonly #known = new Map<string, ChainBlock>();

  private constructor(seeded: readonly IHasher[], chain: IHasher) {
    this.#seeded = seeded;
    this.#chain = chain;
  }

  static async create(): Promise<ChainBlocks> {
    const seeds = await Promise.all(
      NAMESPACES.map(async ({ loraName, cacheSalt }) => {
        const lora = loraName === '' ? 0n : await hashOf(loraName, 0);
        const salt = cacheSalt === '' ? 0n : await hashOf(cacheSalt, 1);
        return BigInt.asUintN(64, 1337n + lora + salt);
      }),
    );
    const seeded = await Promise.all(
      seeds.map((seed) => createXXHash3(Number(seed & 0xffff_ffffn), Number(seed >> 32n))),
    );
    return new ChainBlocks(seeded, await createXXHash3(1337, 0));
  }

  /** The blocks of a prompt, in order. */
  along(namespace: number, path: readonly number[]): ChainBlock[] {
    const blocks: ChainBlock[] = [];
    for (let end = 1; end <= path.length; end += 1) {
      const key = `${namespace}:${path.slice(0, end).join()}`;
      const block = this.#known.get(key) ?? this.#make(namespace, path[end - 1] ?? 0, blocks.at(-1));
      this.#known.set(key, block);
      blocks.push(block);
    }
    return blocks;
  }

  #make(namespace: number, choice: number, parent: ChainBlock | undefined): ChainBlock {
    const tokens = Array.from({ length: TOKENS_PER_BLOCK }, (_, at) => 100 * choice + at);
    const message = Buffer.alloc(4 * tokens.length);
    for (const [at, token] of tokens.entries()) message.writeUInt32LE(token, 4 * at);
    const own = digest(this.#seeded[namespace] as IHasher, message);
    let sequenceHash = own;
    if (parent !== undefined) {
      const link = Buffer.alloc(16);
      link.writeBigUInt64LE(parent.sequenceHash, 0);
      link.writeBigUInt64LE(own, 8);
      sequenceHash = digest(this.#chain, link);
    }
    const engineHash = BigInt.asUintN(64, sequenceHash * 0x9e37_79b9_7f4a_7c15n + 1n);
    return { namespace: NAMESPACES[namespace] as Namespace, parent, tokens, sequenceHash, engineHash };
  }
}

/** The sequence hashes of blocks, packed little-endian u64. */
export function packedHashes(blocks: readonly ChainBlock[]): Uint8Array {
  const packed = Buffer.alloc(8 * blocks.length);
  for (const [at, { sequenceHash }] of blocks.entries()) packed.writeBigUInt64LE(sequenceHash, 8 * at);
  return packed;
}

async function hashOf(text: string, seed: number): Promise<bigint> {
  return digest(await createXXHash3(seed, 0), Buffer.from(text));
}

function digest(hasher: IHasher, bytes: Uint8Array): bigint {
  return BigInt(`0x${hasher.init().update(bytes).digest('hex')}`);
}
