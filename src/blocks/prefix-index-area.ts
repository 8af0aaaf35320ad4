import { packedCount } from './packed-hashes.js';
import type { IndexFunctions, IndexMemory } from './prefix-index-kernel.js';

/** Holders of leading blocks: the first `count` of each list. Valid until the next call of `find`. */
export interface Matches {
  readonly count: number;
  readonly holders: Uint32Array;
  /** How many leading blocks the holder at the same place holds: 1 and more. */
  readonly depths: Uint32Array;
}

const MAX_HOLDERS = 65_535;
const HASH_BYTES = 8;

/** Where one thread puts hashes and finds answers, in the memory of an index. */
export class IndexArea {
  readonly #kernel: IndexFunctions;
  readonly #address: number;
  readonly #input: Uint8Array;
  readonly #inputBytes: number;
  readonly #matches: { count: number; readonly holders: Uint32Array; readonly depths: Uint32Array };

  constructor(kernel: IndexFunctions, memory: IndexMemory, address: number) {
    this.#kernel = kernel;
    this.#address = address;
    this.#inputBytes = HASH_BYTES * kernel.inputHashes();
    this.#input = new Uint8Array(memory.buffer, address + kernel.inputOffset(), this.#inputBytes);
    this.#matches = {
      count: 0,
      holders: new Uint32Array(memory.buffer, address + kernel.holdersOffset(), MAX_HOLDERS),
      depths: new Uint32Array(memory.buffer, address + kernel.depthsOffset(), MAX_HOLDERS),
    };
  }

  /** Calls `apply` with the number of hashes in the area, once for each piece that fits into it. */
  inPieces(sequenceHashes: Uint8Array, apply: (count: number) => boolean): void {
    const count = packedCount(sequenceHashes);
    if (sequenceHashes.length <= this.#inputBytes) {
      this.#input.set(sequenceHashes);
      apply(count);
      return;
    }
    for (let at = 0; at < sequenceHashes.length; at += this.#inputBytes) {
      const piece = sequenceHashes.subarray(at, at + this.#inputBytes);
      this.#input.set(piece);
      if (!apply(piece.length / HASH_BYTES)) return;
    }
  }

  /** `deepest` is the place of the tier in `TIERS`. */
  find(sequenceHashes: Uint8Array, deepest: number): Matches {
    const matches = this.#matches;
    const count = packedCount(sequenceHashes);
    if (sequenceHashes.length <= this.#inputBytes) {
      this.#input.set(sequenceHashes);
      matches.count = this.#kernel.find(this.#address, count, deepest);
    } else {
      this.#kernel.findStart(this.#address);
      this.inPieces(sequenceHashes, (piece) => this.#kernel.findMore(this.#address, piece, deepest) !== 0);
      matches.count = this.#kernel.findEnd(this.#address);
    }
    return matches;
  }
}
