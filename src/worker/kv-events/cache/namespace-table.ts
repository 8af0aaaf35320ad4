import type { BlockHasher } from '../../../core/blocks/block-hasher.js';
import type { HashHalves } from '../../../core/blocks/packed-hashes.js';

/** Namespaces at a time by default. A salt may be new with every request. */
const MAX_NAMESPACES = 65_536;
/** Characters of all their names: 256 for each on average, which take 64 MiB as keys and values at two bytes each. */
const MAX_CHARS = 256 * MAX_NAMESPACES;
/** Unused ones are looked for when there are this many, and then at twice those in use. */
const FIRST_SWEEP = 1_024;

/** What sets blocks of the same tokens apart: LoRA adapter and cache salt, empty for none. */
export interface Namespace {
  readonly loraName: string;
  readonly cacheSalt: string;
  readonly seed: HashHalves;
}

/** Gives small numbers to the namespaces that are in use. */
export class NamespaceTable {
  readonly #hasher: BlockHasher;
  readonly #isUsed: (id: number) => boolean;
  readonly #maxNamespaces: number;
  readonly #ids = new Map<string, number>();
  readonly #namespaces: (Namespace | undefined)[] = [];
  #free: number[] = [];
  #sweepAt: number;
  #chars = 0;
  /** New namespaces until the next sweep may be, so that a full table is not swept for each that it refuses. */
  #pause = 0;

  /** `isUsed` says whether any block is still in a namespace; `maxNamespaces` are held at a time, default 65,536. */
  constructor(
    options: { readonly maxNamespaces?: number },
    modules: { readonly hasher: BlockHasher; readonly isUsed: (id: number) => boolean },
  ) {
    this.#maxNamespaces = options.maxNamespaces ?? MAX_NAMESPACES;
    this.#hasher = modules.hasher;
    this.#isUsed = modules.isUsed;
    this.#sweepAt = this.#nextSweep();
  }

  /** Its number; undefined when there are too many. */
  idOf(loraName: string, cacheSalt: string): number | undefined {
    const key = `${loraName.length}:${loraName}${cacheSalt}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#pause -= 1;
    const isFull = this.#ids.size >= this.#sweepAt || this.#chars + key.length > MAX_CHARS;
    if (isFull && this.#pause < 0) this.#sweep();
    if (this.#ids.size >= this.#maxNamespaces || this.#chars + key.length > MAX_CHARS) return undefined;
    this.#chars += key.length;
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
    this.#chars = 0;
    this.#sweepAt = this.#nextSweep();
    this.#pause = 0;
  }

  #sweep(): void {
    for (const [key, id] of this.#ids) {
      if (this.#isUsed(id)) continue;
      this.#ids.delete(key);
      this.#chars -= key.length;
      this.#namespaces[id] = undefined;
      this.#free.push(id);
    }
    this.#pause = Math.min(FIRST_SWEEP, this.#maxNamespaces) / 2;
    this.#sweepAt = this.#nextSweep();
  }

  #nextSweep(): number {
    return Math.min(this.#maxNamespaces, Math.max(FIRST_SWEEP, 2 * this.#ids.size));
  }
}
