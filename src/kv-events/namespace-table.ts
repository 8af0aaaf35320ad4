import type { BlockHasher } from '../blocks/block-hasher.js';
import type { HashWords } from '../blocks/packed-hashes.js';

/** Namespaces at a time. A salt may be new with every request. */
const MAX_NAMESPACES = 65_536;
/** Unused ones are looked for when there are this many, and then at twice those in use. */
const FIRST_SWEEP = 1_024;

/** What sets blocks of the same tokens apart: LoRA adapter and cache salt, empty for none. */
export interface Namespace {
  readonly loraName: string;
  readonly cacheSalt: string;
  readonly seed: HashWords;
}

/** Gives small numbers to the namespaces that are in use. */
export class NamespaceTable {
  readonly #hasher: BlockHasher;
  readonly #isUsed: (id: number) => boolean;
  readonly #ids = new Map<string, number>();
  readonly #namespaces: (Namespace | undefined)[] = [];
  #free: number[] = [];
  #sweepAt = FIRST_SWEEP;
  /** New namespaces until the next sweep may be, so that a full table is not swept for each that it refuses. */
  #pause = 0;

  /** `isUsed` tells whether any block is still in a namespace. */
  constructor(hasher: BlockHasher, isUsed: (id: number) => boolean) {
    this.#hasher = hasher;
    this.#isUsed = isUsed;
  }

  /** Its number; undefined when there are too many. */
  idOf(loraName: string, cacheSalt: string): number | undefined {
    const key = `${loraName.length}:${loraName}${cacheSalt}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#pause -= 1;
    if (this.#ids.size >= this.#sweepAt && this.#pause < 0) this.#sweep();
    if (this.#ids.size >= MAX_NAMESPACES) return undefined;
    const id = this.#free.pop() ?? this.#namespaces.length;
    this.#ids.set(key, id);
    const seed = this.#hasher.seedOf(loraName, cacheSalt);
    this.#namespaces[id] = { loraName, cacheSalt, seed };
    return id;
  }

  at(id: number): Namespace | undefined {
    return this.#namespaces[id];
  }

  clear(): void {
    this.#ids.clear();
    this.#namespaces.length = 0;
    this.#free = [];
    this.#sweepAt = FIRST_SWEEP;
    this.#pause = 0;
  }

  #sweep(): void {
    for (const [key, id] of this.#ids) {
      if (this.#isUsed(id)) continue;
      this.#ids.delete(key);
      this.#namespaces[id] = undefined;
      this.#free.push(id);
    }
    this.#pause = FIRST_SWEEP / 2;
    this.#sweepAt = Math.max(FIRST_SWEEP, Math.min(MAX_NAMESPACES, 2 * this.#ids.size));
  }
}
