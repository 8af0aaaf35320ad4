import { TIERS, type Tier } from './tier.js';

/** Words of an entry: engine hash (2), sequence hash (2), namespace, and width with flags. */
const ENTRY_WORDS = 6;
/** Entries of a chunk: 96 KiB. Growing adds chunks and never copies one. */
const CHUNK_BITS = 12;
const CHUNK_ENTRIES = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_ENTRIES - 1;
/** The index is many small tables, so that no single store pays for growing all of it. */
const SEGMENTS = 256;
const FIRST_SLOTS = 16;

const ENGINE_LO = 0;
const ENGINE_HI = 1;
const SEQUENCE_LO = 2;
const SEQUENCE_HI = 3;
const NAMESPACE = 4;
const TRAITS = 5;

/** Layout of the traits: width less one in 20 bits, a bit per tier, the hidden flag, further copies in 7 bits. */
const WIDTH_MASK = 0xf_ffff;
const TIER_SHIFT = 20;
const TIER_MASK = 0xf;
const HIDDEN = 1 << 24;
const COPIES_SHIFT = 25;
/** Further copies on the device that fit into the traits; with one more, or a copy elsewhere, a table counts them. */
const MAX_PACKED_COPIES = 126;
const COUNTED_IN_TABLE = 127;
const DEVICE = 0;

/** The bit of a tier in a set of tiers. */
export function tierBit(tier: Tier): number {
  return 1 << TIERS.indexOf(tier);
}

/**
 * What a block is besides its hashes: `tokensPerBlock` from 1 to 1,048,576, the
 * bits of its tiers, and whether it is hidden: held by the engine but not to be
 * reported, as its sequence hash is not known.
 */
export function traitsOf(tokensPerBlock: number, tiers: number, hidden: boolean): number {
  return (tokensPerBlock - 1) | (tiers << TIER_SHIFT) | (hidden ? HIDDEN : 0);
}

/**
 * What one data-parallel rank holds: the engine's own block hash to our
 * sequence hash. Entries lie densely in chunks of typed arrays, 24 bytes each;
 * an index of 5 to 11 bytes an entry stands beside them. Entries are named by
 * their place, which holds until the next removal.
 */
export class BlockMirror {
  readonly #maxBlocks: number;
  readonly #chunks: Uint32Array[] = [];
  readonly #segments: (Uint32Array | undefined)[] = new Array(SEGMENTS).fill(undefined);
  readonly #segmentCounts = new Uint32Array(SEGMENTS);
  #perNamespace = new Uint32Array(16);
  #size = 0;
  #hiddenCount = 0;
  /** Copies beyond the first in each tier, of the few blocks whose copies do not fit into their traits. */
  readonly #furtherCopies = new Map<bigint, Uint32Array>();
  #copyCount = 0;

  constructor(maxBlocks: number) {
    this.#maxBlocks = maxBlocks;
  }

  /** Blocks held, hidden ones included; one in several tiers counts once. */
  get size(): number {
    return this.#size;
  }

  /** Those of them that are hidden. */
  get hiddenCount(): number {
    return this.#hiddenCount;
  }

  /** Copies beyond the first of a block in a tier. */
  get copyCount(): number {
    return this.#copyCount;
  }

  /** Bytes of its typed arrays. */
  get byteLength(): number {
    const arrays = [...this.#chunks, ...this.#segments, this.#segmentCounts, this.#perNamespace];
    return arrays.reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
  }

  /** How many blocks are in a namespace. */
  countIn(namespace: number): number {
    return this.#perNamespace[namespace] ?? 0;
  }

  /** Place of the block with this engine hash; -1 when it is not held. */
  find(lo: number, hi: number): number {
    const hash = mix(lo, hi);
    const segment = this.#segments[hash >>> 24];
    if (segment === undefined) return -1;
    const mask = segment.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const at = (segment[slot] as number) - 1;
      if (at < 0) return -1;
      const chunk = this.#chunks[at >>> CHUNK_BITS] as Uint32Array;
      const start = (at & CHUNK_MASK) * ENTRY_WORDS;
      if (chunk[start + ENGINE_LO] === lo && chunk[start + ENGINE_HI] === hi) return at;
    }
  }

  /** Adds a block that is not held, with traits from `traitsOf`; false when there is no more room. */
  add(
    lo: number,
    hi: number,
    sequenceLo: number,
    sequenceHi: number,
    namespace: number,
    traits: number,
  ): boolean {
    const at = this.#size;
    if (at >= this.#maxBlocks) return false;
    let chunk = this.#chunks[at >>> CHUNK_BITS];
    if (chunk === undefined) {
      chunk = new Uint32Array(CHUNK_ENTRIES * ENTRY_WORDS);
      this.#chunks.push(chunk);
    }
    this.#size = at + 1;
    const start = (at & CHUNK_MASK) * ENTRY_WORDS;
    chunk[start + ENGINE_LO] = lo;
    chunk[start + ENGINE_HI] = hi;
    chunk[start + SEQUENCE_LO] = sequenceLo;
    chunk[start + SEQUENCE_HI] = sequenceHi;
    chunk[start + NAMESPACE] = namespace;
    chunk[start + TRAITS] = traits;
    if ((traits & HIDDEN) !== 0) this.#hiddenCount += 1;
    this.#countNamespace(namespace, 1);
    this.#index(at, mix(lo, hi));
    return true;
  }

  sequenceLo(at: number): number {
    return this.#word(at, SEQUENCE_LO);
  }

  sequenceHi(at: number): number {
    return this.#word(at, SEQUENCE_HI);
  }

  namespace(at: number): number {
    return this.#word(at, NAMESPACE);
  }

  tokensPerBlock(at: number): number {
    return (this.#word(at, TRAITS) & WIDTH_MASK) + 1;
  }

  tiers(at: number): number {
    return (this.#word(at, TRAITS) >>> TIER_SHIFT) & TIER_MASK;
  }

  hidden(at: number): boolean {
    return (this.#word(at, TRAITS) & HIDDEN) !== 0;
  }

  setTiers(at: number, tiers: number): void {
    const traits = this.#word(at, TRAITS) & ~(TIER_MASK << TIER_SHIFT);
    this.#set(at, TRAITS, traits | (tiers << TIER_SHIFT));
  }

  /** The engine has one more copy of the block in a tier that it is in; `tier` is its place in `TIERS`. */
  addCopy(at: number, tier: number): void {
    this.#copyCount += 1;
    const packed = this.#packedCopies(at);
    if (packed < MAX_PACKED_COPIES && tier === DEVICE) {
      this.#setPackedCopies(at, packed + 1);
      return;
    }
    const table = this.#copiesInTable(at, packed);
    table[tier] = (table[tier] ?? 0) + 1;
  }

  /** The engine has one copy less in a tier; false when that was the last one there. */
  dropCopy(at: number, tier: number): boolean {
    const packed = this.#packedCopies(at);
    if (packed === 0) return false;
    if (packed !== COUNTED_IN_TABLE) {
      if (tier !== DEVICE) return false;
      this.#setPackedCopies(at, packed - 1);
    } else {
      const table = this.#copiesInTable(at, packed);
      const further = table[tier] ?? 0;
      if (further === 0) return false;
      table[tier] = further - 1;
    }
    this.#copyCount -= 1;
    return true;
  }

  /** From now on every block counts as one copy in each tier that it is in. */
  forgetCopies(): void {
    if (this.#copyCount === 0) return;
    for (let at = 0; at < this.#size; at++) this.#setPackedCopies(at, 0);
    this.#furtherCopies.clear();
    this.#copyCount = 0;
  }

  /** From now on the block is not reported any more. */
  hide(at: number): void {
    if (this.hidden(at)) return;
    this.#hiddenCount += 1;
    this.#set(at, TRAITS, this.#word(at, TRAITS) | HIDDEN);
  }

  /** Takes a block out; the last one moves to its place. */
  remove(at: number): void {
    if (this.hidden(at)) this.#hiddenCount -= 1;
    this.#removeCopies(at);
    this.#countNamespace(this.namespace(at), -1);
    this.#unindex(at);
    const last = this.#size - 1;
    if (at !== last) {
      const hash = this.#mixAt(last);
      const segment = this.#segments[hash >>> 24] as Uint32Array;
      segment[slotOf(segment, last, hash)] = at + 1;
      for (let field = 0; field < ENTRY_WORDS; field++) this.#set(at, field, this.#word(last, field));
    }
    this.#size = last;
    // One empty chunk stays, so that a size that swings about a border costs nothing.
    if (this.#chunks.length - 2 >= (last + CHUNK_MASK) >>> CHUNK_BITS) this.#chunks.pop();
  }

  clear(): void {
    this.#size = 0;
    this.#hiddenCount = 0;
    this.#furtherCopies.clear();
    this.#copyCount = 0;
    this.#chunks.length = 0;
    this.#segments.fill(undefined);
    this.#segmentCounts.fill(0);
    this.#perNamespace = new Uint32Array(16);
  }

  #packedCopies(at: number): number {
    return this.#word(at, TRAITS) >>> COPIES_SHIFT;
  }

  #setPackedCopies(at: number, copies: number): void {
    const others = this.#word(at, TRAITS) & ~(-1 << COPIES_SHIFT);
    this.#set(at, TRAITS, others | (copies << COPIES_SHIFT));
  }

  #copiesInTable(at: number, packed: number): Uint32Array {
    const key = this.#engineHash(at);
    const known = this.#furtherCopies.get(key);
    if (known !== undefined) return known;
    const table = new Uint32Array(TIERS.length);
    table[DEVICE] = packed;
    this.#furtherCopies.set(key, table);
    this.#setPackedCopies(at, COUNTED_IN_TABLE);
    return table;
  }

  #removeCopies(at: number): void {
    const packed = this.#packedCopies(at);
    if (packed === 0) return;
    if (packed !== COUNTED_IN_TABLE) {
      this.#copyCount -= packed;
      return;
    }
    const key = this.#engineHash(at);
    for (const further of this.#furtherCopies.get(key) ?? []) this.#copyCount -= further;
    this.#furtherCopies.delete(key);
  }

  #engineHash(at: number): bigint {
    return (BigInt(this.#word(at, ENGINE_HI)) << 32n) | BigInt(this.#word(at, ENGINE_LO));
  }

  #word(at: number, field: number): number {
    const chunk = this.#chunks[at >>> CHUNK_BITS] as Uint32Array;
    return chunk[(at & CHUNK_MASK) * ENTRY_WORDS + field] as number;
  }

  #set(at: number, field: number, value: number): void {
    const chunk = this.#chunks[at >>> CHUNK_BITS] as Uint32Array;
    chunk[(at & CHUNK_MASK) * ENTRY_WORDS + field] = value;
  }

  #mixAt(at: number): number {
    return mix(this.#word(at, ENGINE_LO), this.#word(at, ENGINE_HI));
  }

  #countNamespace(namespace: number, change: number): void {
    if (namespace >= this.#perNamespace.length) {
      const larger = new Uint32Array(Math.max(namespace + 1, 2 * this.#perNamespace.length));
      larger.set(this.#perNamespace);
      this.#perNamespace = larger;
    }
    this.#perNamespace[namespace] = this.countIn(namespace) + change;
  }

  #index(at: number, hash: number): void {
    const number = hash >>> 24;
    const count = (this.#segmentCounts[number] ?? 0) + 1;
    this.#segmentCounts[number] = count;
    let segment = this.#segments[number];
    if (segment === undefined || count * 4 > segment.length * 3) {
      segment = this.#resized(segment, segment === undefined ? FIRST_SLOTS : 2 * segment.length);
      this.#segments[number] = segment;
    }
    place(segment, at, hash);
  }

  #resized(old: Uint32Array | undefined, slots: number): Uint32Array {
    const segment = new Uint32Array(slots);
    for (const entry of old ?? []) {
      if (entry !== 0) place(segment, entry - 1, this.#mixAt(entry - 1));
    }
    return segment;
  }

  /** Takes the slot out and moves those after it up, so that no probe stops too early. */
  #unindex(at: number): void {
    const hash = this.#mixAt(at);
    const number = hash >>> 24;
    const segment = this.#segments[number] as Uint32Array;
    const mask = segment.length - 1;
    let hole = slotOf(segment, at, hash);
    for (let next = (hole + 1) & mask; ; next = (next + 1) & mask) {
      const entry = segment[next] as number;
      if (entry === 0) break;
      const home = this.#mixAt(entry - 1) & mask;
      if (((next - home) & mask) >= ((next - hole) & mask)) {
        segment[hole] = entry;
        hole = next;
      }
    }
    segment[hole] = 0;
    const count = (this.#segmentCounts[number] as number) - 1;
    this.#segmentCounts[number] = count;
    if (segment.length > FIRST_SLOTS && count * 8 < segment.length) {
      this.#segments[number] = this.#resized(segment, segment.length / 2);
    }
  }
}

/** The slot of an entry that is in the segment. */
function slotOf(segment: Uint32Array, at: number, hash: number): number {
  const mask = segment.length - 1;
  let slot = hash & mask;
  while (segment[slot] !== at + 1) slot = (slot + 1) & mask;
  return slot;
}

function place(segment: Uint32Array, at: number, hash: number): void {
  const mask = segment.length - 1;
  let slot = hash & mask;
  while (segment[slot] !== 0) slot = (slot + 1) & mask;
  segment[slot] = at + 1;
}

/** Engines' hashes are good already; simulators' are small numbers in a row. */
function mix(lo: number, hi: number): number {
  let hash = lo ^ Math.imul(hi, 0x9e37_79b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
