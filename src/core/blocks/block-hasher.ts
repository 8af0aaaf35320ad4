import { HASH_KERNEL_BASE64 } from './kernels/hash-kernel.js';
import { HASH_BYTES, type HashHalves, packedCount } from './packed-hashes.js';
import { type KernelFunction, KernelModule, WasmKernel } from './wasm-kernel.js';

/** What a block's hash covers: its own tokens, or these and the first token of the next block. */
export type HashUnitName = 'token' | 'bigram';

/** How tokens are hashed. */
export interface HashOptions {
  /** Tokens of a block, 1 to 1,048,576. */
  readonly tokensPerBlock: number;
  readonly unit: HashUnitName;
  /** From `seedOf`. */
  readonly seed: HashHalves;
  /** Sequence hash of the block before the first; absent: the tokens begin a sequence. */
  readonly parent?: HashHalves | undefined;
  /** For each block the hashes of the media in it, in any order; absent or empty: none. At most 65,536 a block. */
  readonly media?: readonly (readonly HashHalves[])[] | undefined;
}

/**
 * Views into the kernel's memory, packed little-endian u64: valid until the
 * next call of the same hasher, which overwrites them or leaves them empty.
 */
export interface HashedBlocks {
  readonly count: number;
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
}

interface HashFunctions {
  readonly inputOffset: KernelFunction;
  readonly hashBlocks: KernelFunction;
  readonly chainBlocks: KernelFunction;
}

/** The seed of everything but names: `XXH3_SEED` of Dynamo's KV router. */
const SEED: HashHalves = { lo: 1337, hi: 0 };
const NAME_SEED: HashHalves = { lo: 0, hi: 0 };
const SALT_SEED: HashHalves = { lo: 1, hi: 0 };

const NO_PARENT: HashHalves = { lo: 0, hi: 0 };

const MAX_TOKENS_PER_BLOCK = 1_048_576;
const MAX_CALL_TOKENS = 16 * 1_048_576;
const MAX_CALL_BYTES = 4 * MAX_CALL_TOKENS;
const MAX_MEDIA_PER_BLOCK = 65_536;
/** Tokens, both hashes of each when a block is one token, the longest message with media, the kernel's own. */
const MAX_MEMORY_BYTES =
  MAX_CALL_BYTES +
  2 * HASH_BYTES * MAX_CALL_TOKENS +
  4 * (MAX_TOKENS_PER_BLOCK + 1) +
  HASH_BYTES * MAX_MEDIA_PER_BLOCK +
  65_536;
/** What one enormous call needed beyond this goes back with the next call. */
const KEPT_MEMORY_BYTES = 16 * 1_048_576;

const MODULE = new KernelModule(HASH_KERNEL_BASE64);
const ENCODER = new TextEncoder();

/**
 * Hashes tokens block by block as Dynamo's KV router does: XXH3-64 of each
 * block's tokens, then a chain over these that encodes where in which sequence
 * a block stands. Errors are of the caller's making: a `RangeError` for what is
 * out of range, before anything is hashed.
 */
export class BlockHasher {
  #kernel: WasmKernel<HashFunctions>;
  readonly #input: number;

  /** Takes 64 KiB at first; throws an error when memory cannot be had. */
  constructor() {
    this.#kernel = new WasmKernel<HashFunctions>(MODULE, MAX_MEMORY_BYTES);
    this.#input = this.#kernel.functions.inputOffset();
  }

  /** The seed of the blocks of a LoRA adapter and a cache salt; an empty string is none. */
  seedOf(loraName: string, cacheSalt: string): HashHalves {
    let seed = SEED;
    if (loraName !== '') seed = sum(seed, this.hashBytes(ENCODER.encode(loraName), NAME_SEED));
    if (cacheSalt !== '') seed = sum(seed, this.hashBytes(ENCODER.encode(cacheSalt), SALT_SEED));
    return seed;
  }

  /** The hashes of all whole blocks of `tokens`, of which there are at most 16,777,216 in a call. */
  hashTokens(tokens: Uint32Array, options: HashOptions): HashedBlocks {
    const { tokensPerBlock, unit, seed, parent, media } = options;
    if (!Number.isInteger(tokensPerBlock) || tokensPerBlock < 1 || tokensPerBlock > MAX_TOKENS_PER_BLOCK)
      throw new RangeError(`tokens per block must be 1 to ${MAX_TOKENS_PER_BLOCK}, not ${tokensPerBlock}`);
    if (tokens.length > MAX_CALL_TOKENS)
      throw new RangeError(
        `at most ${MAX_CALL_TOKENS} tokens can be hashed in one call, not ${tokens.length}`,
      );
    const window = unit === 'bigram' ? tokensPerBlock + 1 : tokensPerBlock;
    const count = tokens.length < window ? 0 : Math.floor((tokens.length - window) / tokensPerBlock) + 1;
    const messageBytes = longestMessage(media, count, 4 * window);

    const blocks = aligned(this.#input + 4 * tokens.length);
    const sequences = blocks + HASH_BYTES * count;
    const message = sequences + HASH_BYTES * count;
    const { functions, words } = this.#reserve(message + messageBytes);
    words.set(tokens, this.#input / 4);
    const hasParent = parent === undefined ? 0 : 1;
    const { lo, hi } = parent ?? NO_PARENT;
    // biome-ignore format: as many as they are, they are read in the order of the kernel
    functions.hashBlocks(
      this.#input, 4 * window, 4 * tokensPerBlock, count, seed.lo, seed.hi, hasParent, lo, hi, blocks, sequences,
    );
    if (media !== undefined && messageBytes > 0) {
      for (let index = 0; index < count; index += 1) {
        const hashes = media[index];
        if (hashes === undefined || hashes.length === 0) continue;
        const start = this.#input + 4 * tokensPerBlock * index;
        this.#hashWithMedia(start, 4 * window, hashes, seed, message, blocks + HASH_BYTES * index);
      }
      functions.chainBlocks(blocks, count, hasParent, lo, hi, sequences);
    }
    return {
      count,
      blockHashes: this.#view(blocks, count),
      sequenceHashes: this.#view(sequences, count),
    };
  }

  /** Chains block hashes, packed little-endian u64, to sequence hashes; a view like those of `hashTokens`. */
  chain(blockHashes: Uint8Array, parent?: HashHalves): Uint8Array {
    const count = packedCount(blockHashes);
    if (count > MAX_CALL_TOKENS)
      throw new RangeError(`at most ${MAX_CALL_TOKENS} blocks can be chained in one call, not ${count}`);
    const sequences = this.#input + HASH_BYTES * count;
    const source = this.#kept(blockHashes);
    const { bytes, functions } = this.#reserve(sequences + HASH_BYTES * count);
    bytes.set(source, this.#input);
    const { lo, hi } = parent ?? NO_PARENT;
    functions.chainBlocks(this.#input, count, parent === undefined ? 0 : 1, lo, hi, sequences);
    return this.#view(sequences, count);
  }

  /** XXH3-64 of at most 64 MiB. */
  hashBytes(bytes: Uint8Array, seed: HashHalves): HashHalves {
    if (bytes.length > MAX_CALL_BYTES)
      throw new RangeError(`at most ${MAX_CALL_BYTES} bytes can be hashed in one call, not ${bytes.length}`);
    const hash = aligned(this.#input + bytes.length);
    const source = this.#kept(bytes);
    const kernel = this.#reserve(hash + HASH_BYTES);
    kernel.bytes.set(source, this.#input);
    this.#hashOne(this.#input, bytes.length, seed, hash);
    return { lo: kernel.words[hash / 4] as number, hi: kernel.words[hash / 4 + 1] as number };
  }

  #hashWithMedia(
    tokens: number,
    tokenBytes: number,
    media: readonly HashHalves[],
    seed: HashHalves,
    message: number,
    hash: number,
  ): void {
    const { bytes, words } = this.#kernel;
    bytes.copyWithin(message, tokens, tokens + tokenBytes);
    let at = (message + tokenBytes) / 4;
    for (const { lo, hi } of [...media].sort(compare)) {
      words[at] = lo;
      words[at + 1] = hi;
      at += 2;
    }
    this.#hashOne(message, tokenBytes + HASH_BYTES * media.length, seed, hash);
  }

  /** One block that begins a sequence: its sequence hash is its block hash. */
  #hashOne(message: number, bytes: number, seed: HashHalves, hash: number): void {
    this.#kernel.functions.hashBlocks(message, bytes, 0, 1, seed.lo, seed.hi, 0, 0, 0, hash, hash);
  }

  #reserve(bytes: number): WasmKernel<HashFunctions> {
    // Memory of a kernel only grows: what is too large is left, and freed when nobody holds a view of it.
    if (this.#kernel.bytes.length > KEPT_MEMORY_BYTES && bytes <= KEPT_MEMORY_BYTES)
      this.#kernel = new WasmKernel<HashFunctions>(MODULE, MAX_MEMORY_BYTES);
    this.#kernel.reserve(bytes);
    return this.#kernel;
  }

  /** `bytes`, whatever happens to the memory: what is a view of it would be empty once it grows. */
  #kept(bytes: Uint8Array): Uint8Array {
    return bytes.buffer === this.#kernel.bytes.buffer ? bytes.slice() : bytes;
  }

  #view(offset: number, count: number): Uint8Array {
    return this.#kernel.bytes.subarray(offset, offset + HASH_BYTES * count);
  }
}

/** Bytes of the longest block with its media; 0 when no block has any. */
function longestMessage(
  media: readonly (readonly HashHalves[])[] | undefined,
  count: number,
  tokenBytes: number,
): number {
  let most = 0;
  for (let index = 0; index < Math.min(count, media?.length ?? 0); index += 1)
    most = Math.max(most, media?.[index]?.length ?? 0);
  if (most > MAX_MEDIA_PER_BLOCK)
    throw new RangeError(`a block can have at most ${MAX_MEDIA_PER_BLOCK} media, not ${most}`);
  return most === 0 ? 0 : tokenBytes + HASH_BYTES * most;
}

function aligned(offset: number): number {
  return Math.ceil(offset / HASH_BYTES) * HASH_BYTES;
}

function compare(a: HashHalves, b: HashHalves): number {
  return a.hi - b.hi || a.lo - b.lo;
}

function sum(a: HashHalves, b: HashHalves): HashHalves {
  const lo = a.lo + b.lo;
  return { lo: lo >>> 0, hi: (a.hi + b.hi + (lo > 0xffff_ffff ? 1 : 0)) >>> 0 };
}
