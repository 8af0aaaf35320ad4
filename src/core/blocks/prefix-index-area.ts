import { HASH_BYTES, packedCount } from './packed-hashes.js';
import type { IndexFunctions, IndexMemory } from './prefix-index-kernel.js';

/** Holders of leading blocks: the first `count` of each list. Valid until the next call of `find`. */
export interface Matches {
  readonly count: number;
  readonly holders: Uint32Array;
  /** How many leading blocks the holder at the same place holds: 1 and more. */
  readonly depths: Uint32Array;
}

/** Blocks in one answer of `held`: the bits of a number. */
const HELD_BLOCKS = 32;

/** Puts hashes into the memory of an index, and finds the answers there. */
export class IndexArea {
  readonly #kernel: IndexFunctions;
  readonly #input: Uint8Array;
  readonly #inputBytes: number;
  readonly #matches: { count: number; readonly holders: Uint32Array; readonly depths: Uint32Array };

  /** What `held` was asked about last, as long as it lies in the area, and which of it. */
  #heldOf: Uint8Array | undefined;
  #heldFrom = 0;
  #heldEnd = 0;

  constructor(kernel: IndexFunctions, memory: IndexMemory) {
    this.#kernel = kernel;
    this.#inputBytes = HASH_BYTES * kernel.inputHashes();
    this.#input = new Uint8Array(memory.buffer, kernel.inputAddress(), this.#inputBytes);
    const maxHolders = kernel.maxHolders();
    this.#matches = {
      count: 0,
      holders: new Uint32Array(memory.buffer, kernel.holdersAddress(), maxHolders),
      depths: new Uint32Array(memory.buffer, kernel.depthsAddress(), maxHolders),
    };
  }

  /** How many hashes fit into the area. */
  get room(): number {
    return this.#inputBytes / HASH_BYTES;
  }

  /** Puts in as many hashes as fit, from number `first` on; how many those are. */
  put(sequenceHashes: Uint8Array, first: number): number {
    this.#heldOf = undefined;
    const isWhole = first === 0 && sequenceHashes.length <= this.#inputBytes;
    const piece = isWhole
      ? sequenceHashes
      : sequenceHashes.subarray(HASH_BYTES * first, HASH_BYTES * first + this.#inputBytes);
    this.#input.set(piece);
    return piece.length / HASH_BYTES;
  }

  /** As `PrefixIndex.held`; `tier` is the place of the tier in `TIERS`. */
  held(holder: number, tier: number, sequenceHashes: Uint8Array, first: number): number {
    const end = Math.min(first + HELD_BLOCKS, sequenceHashes.length / HASH_BYTES);
    // Many holders are asked about the same hashes, one after the other.
    if (this.#heldOf !== sequenceHashes || first < this.#heldFrom || end > this.#heldEnd) {
      this.#heldEnd = first + this.put(sequenceHashes, first);
      this.#heldFrom = first;
      this.#heldOf = sequenceHashes;
    }
    return this.#kernel.heldOf(holder, tier, first - this.#heldFrom, end - first) >>> 0;
  }

  /** `deepest` is the place of the tier in `TIERS`. */
  find(sequenceHashes: Uint8Array, deepest: number): Matches {
    const matches = this.#matches;
    const count = packedCount(sequenceHashes);
    const kernel = this.#kernel;
    if (count <= this.room) {
      this.put(sequenceHashes, 0);
      matches.count = kernel.find(count, deepest);
    } else {
      kernel.findStart();
      for (let at = 0; at < count; at += this.room) {
        const piece = this.put(sequenceHashes, at);
        if (kernel.findMore(piece, deepest) === 0) break;
      }
      matches.count = kernel.findEnd();
    }
    return matches;
  }
}
