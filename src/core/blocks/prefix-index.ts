import { packedCount } from './packed-hashes.js';
import { IndexArea, type Matches } from './prefix-index-area.js';
import { PrefixIndexError } from './prefix-index-error.js';
import {
  type IndexFunctions,
  type IndexMemory,
  makeIndexMemory,
  startIndexKernel,
} from './prefix-index-kernel.js';
import { TIERS, type Tier } from './tier.js';

export type { Matches } from './prefix-index-area.js';
export { PrefixIndexError } from './prefix-index-error.js';

/** Takes one block of a scan: both halves of its sequence hash, and the holders of it. */
export type VisitBlock = (low: number, high: number, holders: readonly number[]) => void;

/** How large a prefix index may become. */
export interface PrefixIndexOptions {
  /** Largest memory in bytes, 2 MiB to 4 GiB less 64 KiB, which is the default. Taken only as it is needed. */
  readonly maxBytes?: number;
}

/** Ids of holder sets from here on are addresses divided by 16; those below are a single holder plus one. */
const FIRST_SHARED_ID = 65_536;
const SET_UNIT_BYTES = 16;
const SET_COUNT_WORD = 3;
const SET_HEAD_BYTES = 16;
const MAX_SCANNED = 32_768;
const END_OF_SCAN = 0xffff_ffff;

/**
 * Which holders have which blocks, by sequence hash and tier. A holder is a
 * small number for one data-parallel rank of one worker. Sequence hashes are
 * chained, so that a block's hash alone names all that lies before it: no
 * parents are kept, and nothing is kept for a single pair of holder and block.
 * The work is done in WebAssembly (`kernel/index`).
 */
export class PrefixIndex {
  readonly #memory: IndexMemory;
  readonly #kernel: IndexFunctions;
  readonly #area: IndexArea;
  readonly #free: number[] = [];
  readonly #dropped = new Set<number>();
  #holders = 0;
  #pairs = 0;

  /** Throws `PrefixIndexError('no_memory')`. */
  constructor(options: PrefixIndexOptions = {}) {
    this.#memory = makeIndexMemory(options.maxBytes);
    this.#kernel = startIndexKernel(this.#memory);
    this.#area = new IndexArea(this.#kernel, this.#memory);
  }

  /** A new slot; one that was used before only after its entries are gone. Throws `PrefixIndexError('too_many_holders')` beyond 65,535. */
  addHolder(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const maxHolders = this.#kernel.maxHolders();
    if (this.#holders === maxHolders) {
      throw new PrefixIndexError(
        'too_many_holders',
        `a prefix index takes at most ${maxHolders} holders, of which ${this.#dropped.size} were taken out and are not swept yet`,
      );
    }
    this.#holders += 1;
    return this.#holders - 1;
  }

  /** Takes a holder out: no answer names it from now on; its entries go as `sweep` is called. */
  dropHolder(holder: number): void {
    this.#check(holder);
    this.#kernel.dropHolder(holder);
    this.#dropped.add(holder);
    this.#reuseWhenSwept(holder);
  }

  /**
   * Drops entries of holders that were taken out, in at most `maxSegments`
   * pieces of the table of up to 2,560 entries, below a millisecond each; true when
   * nothing is left to do. Not in a loop without end: while memory is so short
   * that it cannot even be noted who is left, nothing is dropped.
   */
  sweep(maxSegments: number): boolean {
    let gone = 0;
    for (let segment = 0; segment < maxSegments && this.#kernel.isSwept() === 0; segment += 1)
      gone += this.#kernel.sweepSegment();
    this.#pairs -= gone;
    if (gone > 0) for (const holder of this.#dropped) this.#reuseWhenSwept(holder);
    return this.#kernel.isSwept() !== 0;
  }

  /**
   * The holder has these blocks, packed little-endian u64 at any alignment.
   * Idempotent. The number of pairs that are new. Throws
   * `PrefixIndexError('no_memory')` and leaves what was stored before it.
   */
  store(holder: number, tier: Tier, sequenceHashes: Uint8Array): number {
    return this.#apply(holder, tier, sequenceHashes, this.#kernel.storeAll, 1);
  }

  /**
   * The holder has these blocks no longer. Idempotent. The number of pairs that
   * are gone. Throws `PrefixIndexError('no_memory')` when there is no room even
   * to note who is left; what was removed before it stays removed.
   */
  remove(holder: number, tier: Tier, sequenceHashes: Uint8Array): number {
    return this.#apply(holder, tier, sequenceHashes, this.#kernel.removeAll, -1);
  }

  /** Leading blocks of each holder, counting all tiers up to and including `deepest`: a block counts when any of those tiers has it. */
  find(sequenceHashes: Uint8Array, deepest: Tier): Matches {
    return this.#area.find(sequenceHashes, TIERS.indexOf(deepest));
  }

  /**
   * Which of up to 32 blocks a holder has in one tier, from number `first` of
   * the hashes on: bit n of the answer is block `first + n`. What `find`
   * answered before stays valid. A list that was asked about is not read again
   * until another call of this index reads hashes.
   */
  held(holder: number, tier: Tier, sequenceHashes: Uint8Array, first: number): number {
    this.#check(holder);
    return this.#area.held(holder, TIERS.indexOf(tier), sequenceHashes, first);
  }

  /** Blocks of a holder in one tier; those of one that was taken out until they are swept. */
  blocksOf(holder: number, tier: Tier): number {
    if (!this.#isKnown(holder)) throw new RangeError(`there is no holder ${holder}`);
    return this.#kernel.blocksOf(holder, TIERS.indexOf(tier));
  }

  /** Distinct blocks, those of each tier by themselves. */
  get blocks(): number {
    return TIERS.reduce((sum, _tier, index) => sum + this.#kernel.entries(index), 0);
  }

  /** Pairs of a holder and a block in a tier. */
  get pairs(): number {
    return this.#pairs;
  }

  /** Memory taken, used or kept for use. */
  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /**
   * For debugging: calls `visit` with the entries of one tier, at most
   * `maxEntries` (but up to five), from `cursor` on, which is 0 at first.
   * Returns the next cursor, or undefined at the end. Entries that change
   * meanwhile may be missed or seen twice.
   */
  scan(tier: Tier, cursor: number, maxEntries: number, visit: VisitBlock): number | undefined {
    const kernel = this.#kernel;
    const next = kernel.scan(TIERS.indexOf(tier), cursor, Math.min(maxEntries, MAX_SCANNED)) >>> 0;
    const count = kernel.scannedEntries();
    // What is visited may ask this index, so that what was found is copied before.
    const [los, his, ids] = [kernel.holdersAddress(), kernel.depthsAddress(), kernel.scannedIdsAddress()].map(
      (address) => new Uint32Array(this.#memory.buffer, address, count).slice(),
    ) as [Uint32Array, Uint32Array, Uint32Array];
    const members = Array.from(ids, (id) => this.#membersOf(id));
    for (const [index, holders] of members.entries()) {
      if (holders.length > 0) visit(los[index] as number, his[index] as number, holders);
    }
    return next === END_OF_SCAN ? undefined : next;
  }

  #apply(
    holder: number,
    tier: Tier,
    sequenceHashes: Uint8Array,
    apply: (holder: number, tier: number, count: number) => number,
    sign: 1 | -1,
  ): number {
    this.#check(holder);
    const tierIndex = TIERS.indexOf(tier);
    const count = packedCount(sequenceHashes);
    let changed = 0;
    let isFull = false;
    for (let at = 0; at < count && !isFull; at += this.#area.room) {
      changed += apply(holder, tierIndex, this.#area.put(sequenceHashes, at));
      isFull = this.#kernel.outOfMemory() !== 0;
    }
    this.#pairs += sign * changed;
    if (isFull) throw this.#noMemory();
    return changed;
  }

  #isKnown(holder: number): boolean {
    return Number.isInteger(holder) && holder >= 0 && holder < this.#holders;
  }

  #check(holder: number): void {
    if (!this.#isKnown(holder) || this.#dropped.has(holder))
      throw new RangeError(`there is no holder ${holder}, or it was taken out`);
  }

  #reuseWhenSwept(holder: number): void {
    if (TIERS.some((_tier, index) => this.#kernel.blocksOf(holder, index) !== 0)) return;
    this.#kernel.reuseHolder(holder);
    this.#dropped.delete(holder);
    this.#free.push(holder);
  }

  #membersOf(id: number): number[] {
    if (id < FIRST_SHARED_ID) return this.#dropped.has(id - 1) ? [] : [id - 1];
    const address = id * SET_UNIT_BYTES;
    const count = new Uint32Array(this.#memory.buffer, address)[SET_COUNT_WORD] as number;
    const members = new Uint16Array(this.#memory.buffer, address + SET_HEAD_BYTES, count);
    return [...members].filter((holder) => !this.#dropped.has(holder));
  }

  #noMemory(): PrefixIndexError {
    return new PrefixIndexError(
      'no_memory',
      `the prefix index is full: it has ${this.memoryBytes} bytes and cannot get more, or hashes are too much alike`,
    );
  }
}
