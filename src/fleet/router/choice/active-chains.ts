/** No place: above the first block of a chain, and of a block that is not there. */
export const NONE = -1;

/** Words of an entry: hash (2), rank, place of the block before it, references, its neighbours in its bucket (2). */
const ENTRY_WORDS = 7;
const LO = 0;
const HI = 1;
const RANK = 2;
const BEFORE = 3;
const REFERENCES = 4;
const NEXT = 5;
const EARLIER = 6;

/** Entries of a chunk: 112 KiB. Growing adds chunks and never copies one. */
const CHUNK_BITS = 12;
const CHUNK_ENTRIES = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_ENTRIES - 1;
/** The buckets are many small tables, so that no single request pays for growing all of them. */
const SEGMENTS = 256;
const SEGMENT_SHIFT = 24;
const FIRST_BUCKETS = 16;

/**
 * The blocks that active requests hold on each rank, each once. A sequence hash
 * names all that lies before it, so that the requests of a rank make trees: a
 * block counts the blocks that follow it and the requests that end with it, and
 * a request needs to know its last block alone. Adding a request costs what is
 * new of it, and ending it what no other request holds, however alike the hashes are.
 * Typed arrays, 32 to 40 bytes a block in use; a place names a block until it
 * is gone.
 */
export class ActiveChains {
  readonly #maxBlocks: number;
  #chunks: Int32Array[] = [];
  #segments: (Int32Array | undefined)[] = new Array(SEGMENTS).fill(undefined);
  readonly #segmentCounts = new Uint32Array(SEGMENTS);
  #size = 0;
  /** Places that were ever used since all were free. */
  #used = 0;
  /** The first of the free places below that; linked as buckets are. */
  #free = NONE;

  constructor(maxBlocks: number) {
    this.#maxBlocks = maxBlocks;
  }

  /** (block, rank) pairs that are held. */
  get size(): number {
    return this.#size;
  }

  /** How many more there is room for. */
  get room(): number {
    return this.#maxBlocks - this.#size;
  }

  /** Bytes of its typed arrays. */
  get byteLength(): number {
    const arrays = [...this.#chunks, ...this.#segments];
    return arrays.reduce((sum, array) => sum + (array?.byteLength ?? 0), this.#segmentCounts.byteLength);
  }

  /** Place of a block on a rank; `NONE` when no active request holds it there. */
  find(rank: number, lo: number, hi: number): number {
    const hash = mix(rank, lo, hi);
    const segment = this.#segments[hash >>> SEGMENT_SHIFT];
    if (segment === undefined) return NONE;
    const low = lo | 0;
    const high = hi | 0;
    let place = segment[hash & (segment.length - 1)] as number;
    while (place !== NONE) {
      const chunk = this.#chunks[place >>> CHUNK_BITS] as Int32Array;
      const start = (place & CHUNK_MASK) * ENTRY_WORDS;
      if (chunk[start + LO] === low && chunk[start + HI] === high && chunk[start + RANK] === rank)
        return place;
      place = chunk[start + NEXT] as number;
    }
    return NONE;
  }

  /** One more request, or one more following block, holds the block at a place. Harmless for `NONE`. */
  hold(place: number): void {
    if (place !== NONE) this.#set(place, REFERENCES, this.#word(place, REFERENCES) + 1);
  }

  /**
   * Adds a block after the one at `before`, of which one reference passes to
   * it; it is held once itself. There has to be room. Its place.
   */
  add(rank: number, lo: number, hi: number, before: number): number {
    let place = this.#free;
    if (place === NONE) {
      place = this.#used;
      this.#used += 1;
      if (this.#chunks[place >>> CHUNK_BITS] === undefined)
        this.#chunks.push(new Int32Array(CHUNK_ENTRIES * ENTRY_WORDS));
    } else this.#free = this.#word(place, NEXT);
    const chunk = this.#chunks[place >>> CHUNK_BITS] as Int32Array;
    const start = (place & CHUNK_MASK) * ENTRY_WORDS;
    chunk[start + LO] = lo;
    chunk[start + HI] = hi;
    chunk[start + RANK] = rank;
    chunk[start + BEFORE] = before;
    chunk[start + REFERENCES] = 1;
    this.#index(place, mix(rank, lo, hi));
    this.#size += 1;
    return place;
  }

  /**
   * Takes one reference from the block at `place`. When no request holds it any
   * more it goes, and with it its reference to the one before it. Calls back
   * with each block that went, the last one first.
   */
  letGo(place: number, gone: (lo: number, hi: number) => void): void {
    let last = place;
    while (last !== NONE) {
      const references = this.#word(last, REFERENCES) - 1;
      if (references > 0) {
        this.#set(last, REFERENCES, references);
        return;
      }
      const before = this.#word(last, BEFORE);
      gone(this.#word(last, LO), this.#word(last, HI));
      this.#remove(last);
      last = before;
    }
  }

  #remove(place: number): void {
    this.#unindex(place);
    this.#set(place, NEXT, this.#free);
    this.#free = place;
    this.#size -= 1;
    if (this.#size > 0) return;
    // What a rush needed goes back once all of it is over.
    this.#chunks = this.#chunks.slice(0, 1);
    this.#used = 0;
    this.#free = NONE;
  }

  #word(place: number, field: number): number {
    const chunk = this.#chunks[place >>> CHUNK_BITS] as Int32Array;
    return chunk[(place & CHUNK_MASK) * ENTRY_WORDS + field] as number;
  }

  #set(place: number, field: number, value: number): void {
    const chunk = this.#chunks[place >>> CHUNK_BITS] as Int32Array;
    chunk[(place & CHUNK_MASK) * ENTRY_WORDS + field] = value;
  }

  #mixAt(place: number): number {
    return mix(this.#word(place, RANK), this.#word(place, LO), this.#word(place, HI));
  }

  #index(place: number, hash: number): void {
    const number = hash >>> SEGMENT_SHIFT;
    const count = (this.#segmentCounts[number] as number) + 1;
    this.#segmentCounts[number] = count;
    let segment = this.#segments[number];
    if (segment === undefined) {
      segment = new Int32Array(FIRST_BUCKETS).fill(NONE);
      this.#segments[number] = segment;
    } else if (count > segment.length) segment = this.#resize(number, segment, 2 * segment.length);
    this.#link(segment, place, hash);
  }

  #link(segment: Int32Array, place: number, hash: number): void {
    const bucket = hash & (segment.length - 1);
    const next = segment[bucket] as number;
    this.#set(place, EARLIER, NONE);
    this.#set(place, NEXT, next);
    if (next !== NONE) this.#set(next, EARLIER, place);
    segment[bucket] = place;
  }

  #unindex(place: number): void {
    const hash = this.#mixAt(place);
    const number = hash >>> SEGMENT_SHIFT;
    const segment = this.#segments[number] as Int32Array;
    const next = this.#word(place, NEXT);
    const earlier = this.#word(place, EARLIER);
    if (next !== NONE) this.#set(next, EARLIER, earlier);
    if (earlier === NONE) segment[hash & (segment.length - 1)] = next;
    else this.#set(earlier, NEXT, next);
    const count = (this.#segmentCounts[number] as number) - 1;
    this.#segmentCounts[number] = count;
    // The smallest table stays: one for each block of a lone prompt would be made and dropped with it.
    if (segment.length > FIRST_BUCKETS && count * 8 < segment.length)
      this.#resize(number, segment, segment.length / 2);
  }

  #resize(number: number, old: Int32Array, buckets: number): Int32Array {
    const segment = new Int32Array(buckets).fill(NONE);
    this.#segments[number] = segment;
    for (const first of old) {
      for (let place = first; place !== NONE; ) {
        const next = this.#word(place, NEXT);
        this.#link(segment, place, this.#mixAt(place));
        place = next;
      }
    }
    return segment;
  }
}

/** The same block on many ranks has to come to many buckets. */
function mix(rank: number, lo: number, hi: number): number {
  let hash = lo ^ Math.imul(hi, 0x9e37_79b1) ^ Math.imul(rank + 1, 0x27d4_eb2f);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
