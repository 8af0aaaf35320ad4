/** No slot: an end of a list. */
const NONE = -1;

const FIRST_CAPACITY = 1_024;

/** One entry as `oldest` gives it. */
export interface Expiring {
  readonly holder: number;
  readonly low: number;
  readonly high: number;
  /** Monotonic milliseconds. */
  readonly atMs: number;
}

/**
 * (holder, block) pairs in the order in which they were last touched, oldest
 * first. Lists and buckets in typed arrays, about 50 bytes a pair: a million
 * pairs as objects would cost several times as much.
 */
export class ExpiryQueue {
  #capacity = FIRST_CAPACITY;
  #size = 0;
  #low = new Uint32Array(FIRST_CAPACITY);
  #high = new Uint32Array(FIRST_CAPACITY);
  #holder = new Uint32Array(FIRST_CAPACITY);
  #atMs = new Float64Array(FIRST_CAPACITY);
  #older = new Int32Array(FIRST_CAPACITY);
  #newer = new Int32Array(FIRST_CAPACITY);
  /** The next of the same bucket, or of the free slots. */
  #next = new Int32Array(FIRST_CAPACITY);
  #buckets: Int32Array = new Int32Array(2 * FIRST_CAPACITY).fill(NONE);
  #free = NONE;
  /** Slots that were ever used. */
  #used = 0;
  #oldest = NONE;
  #newest = NONE;

  get size(): number {
    return this.#size;
  }

  /** The entry that was touched the longest ago; undefined when there is none. */
  get oldest(): Expiring | undefined {
    const slot = this.#oldest;
    if (slot === NONE) return undefined;
    return {
      holder: at(this.#holder, slot),
      low: at(this.#low, slot),
      high: at(this.#high, slot),
      atMs: at(this.#atMs, slot),
    };
  }

  /** Puts a pair to the newest end, adding it where it is new. */
  touch(holder: number, low: number, high: number, atMs: number): void {
    let slot = this.#find(holder, low, high);
    if (slot === NONE) slot = this.#add(holder, low, high);
    else this.#unlink(slot);
    this.#atMs[slot] = atMs;
    this.#older[slot] = this.#newest;
    this.#newer[slot] = NONE;
    if (this.#newest === NONE) this.#oldest = slot;
    else this.#newer[this.#newest] = slot;
    this.#newest = slot;
  }

  /** Takes out the oldest; harmless when there is none. */
  dropOldest(): void {
    if (this.#oldest !== NONE) this.#remove(this.#oldest);
  }

  /** Takes out all pairs of a holder. Walks everything: for workers that leave. */
  dropHolder(holder: number): void {
    for (let slot = this.#oldest; slot !== NONE; ) {
      const newer = at(this.#newer, slot);
      if (at(this.#holder, slot) === holder) this.#remove(slot);
      slot = newer;
    }
  }

  #find(holder: number, low: number, high: number): number {
    let slot = at(this.#buckets, this.#bucketOf(holder, low, high));
    while (slot !== NONE) {
      const isIt =
        at(this.#low, slot) === low && at(this.#high, slot) === high && at(this.#holder, slot) === holder;
      if (isIt) return slot;
      slot = at(this.#next, slot);
    }
    return NONE;
  }

  #add(holder: number, low: number, high: number): number {
    if (this.#free === NONE && this.#used === this.#capacity) this.#grow();
    let slot = this.#free;
    if (slot === NONE) {
      slot = this.#used;
      this.#used += 1;
    } else this.#free = at(this.#next, slot);
    this.#holder[slot] = holder;
    this.#low[slot] = low;
    this.#high[slot] = high;
    this.#chain(slot);
    this.#size += 1;
    return slot;
  }

  #remove(slot: number): void {
    this.#unlink(slot);
    const bucket = this.#bucketOf(at(this.#holder, slot), at(this.#low, slot), at(this.#high, slot));
    let before = at(this.#buckets, bucket);
    if (before === slot) this.#buckets[bucket] = at(this.#next, slot);
    else {
      while (at(this.#next, before) !== slot) before = at(this.#next, before);
      this.#next[before] = at(this.#next, slot);
    }
    this.#next[slot] = this.#free;
    this.#free = slot;
    this.#size -= 1;
  }

  /** Takes a slot out of the order of age. */
  #unlink(slot: number): void {
    const older = at(this.#older, slot);
    const newer = at(this.#newer, slot);
    if (older === NONE) this.#oldest = newer;
    else this.#newer[older] = newer;
    if (newer === NONE) this.#newest = older;
    else this.#older[newer] = older;
  }

  /** Puts a slot into its bucket. */
  #chain(slot: number): void {
    const bucket = this.#bucketOf(at(this.#holder, slot), at(this.#low, slot), at(this.#high, slot));
    this.#next[slot] = at(this.#buckets, bucket);
    this.#buckets[bucket] = slot;
  }

  #bucketOf(holder: number, low: number, high: number): number {
    // The hashes are even already; the holder only has to move them apart.
    return (
      (Math.imul(holder + 1, 0x9e3779b1) ^ low ^ Math.imul(high, 0x85ebca6b)) & (this.#buckets.length - 1)
    );
  }

  #grow(): void {
    this.#capacity *= 2;
    this.#low = larger(this.#low, new Uint32Array(this.#capacity));
    this.#high = larger(this.#high, new Uint32Array(this.#capacity));
    this.#holder = larger(this.#holder, new Uint32Array(this.#capacity));
    this.#atMs = larger(this.#atMs, new Float64Array(this.#capacity));
    this.#older = larger(this.#older, new Int32Array(this.#capacity));
    this.#newer = larger(this.#newer, new Int32Array(this.#capacity));
    this.#next = larger(this.#next, new Int32Array(this.#capacity));
    this.#buckets = new Int32Array(2 * this.#capacity).fill(NONE);
    // Called only while no slot is free: all that were ever used are in use.
    for (let slot = 0; slot < this.#used; slot += 1) this.#chain(slot);
  }
}

function at(array: Uint32Array | Int32Array | Float64Array, index: number): number {
  return array[index] as number;
}

function larger<A extends Uint32Array | Int32Array | Float64Array>(from: A, to: A): A {
  to.set(from);
  return to;
}
