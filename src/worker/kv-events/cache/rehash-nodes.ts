import { BlockMirror } from '../../../core/blocks/block-mirror.js';

/** Words of a node, beside its tokens. */
const WORDS = 9;
/** Nodes of a chunk. Growing adds chunks and never copies one. */
const CHUNK_BITS = 12;
const CHUNK_NODES = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_NODES - 1;

const SEQUENCE_LO = 0;
const SEQUENCE_HI = 1;
const CANONICAL_LO = 2;
const CANONICAL_HI = 3;
const PARENT = 4;
const FIRST_CHILD = 5;
const NEXT = 6;
const PREVIOUS = 7;
const STATE = 8;

/** Layout of the state: place in the canonical block in 12 bits, tiers, announced tiers, flags. */
const PLACE_MASK = 0xfff;
const TIERS_SHIFT = 12;
const ANNOUNCED_SHIFT = 16;
const TIERS_MASK = 0xf;
const HAS_CANONICAL = 1 << 20;
const WITHHELD = 1 << 21;

/** No node. */
export const NO_NODE = 0;

/**
 * An engine's own blocks as a forest, one tree for each canonical block that begins: a node for each own block, named by
 * a number from 1 on that holds until it is freed. Nodes lie densely in typed arrays: 36 bytes, the block's tokens, and
 * some 32 bytes in the index by sequence hash.
 */
export class RehashNodes {
  readonly #ownTokens: number;
  readonly #chunks: Uint32Array[] = [];
  readonly #tokens: Uint32Array[] = [];
  /** Sequence hash of an own block to its node, which stands in place of a sequence hash there. */
  readonly #index: BlockMirror;
  #count = 0;
  #end = 1;
  #firstFree = NO_NODE;

  /** At most `maxNodes` of `ownTokens` tokens each. */
  constructor(ownTokens: number, maxNodes: number) {
    this.#ownTokens = ownTokens;
    this.#index = new BlockMirror(maxNodes);
  }

  get count(): number {
    return this.#count;
  }

  /** One more than the largest number of a node. */
  get end(): number {
    return this.#end;
  }

  /** Bytes of its typed arrays. */
  get byteLength(): number {
    const arrays = [...this.#chunks, ...this.#tokens];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, this.#index.byteLength);
  }

  /** The node of the own block with this sequence hash; `NO_NODE` when there is none. */
  find(lo: number, hi: number): number {
    const at = this.#index.find(lo, hi);
    return at < 0 ? NO_NODE : this.#index.sequenceLo(at);
  }

  /**
   * Adds the block of the tokens from `from` on, at a place in its canonical block, after `parent` in the same canonical
   * block; `NO_NODE` when there is no room.
   */
  add(lo: number, hi: number, place: number, parent: number, tokens: Uint32Array, from: number): number {
    const isReused = this.#firstFree !== NO_NODE;
    const node = isReused ? this.#firstFree : this.#end;
    if (!this.#index.add(lo, hi, node, 0, 0, 0)) return NO_NODE;
    if (isReused) this.#firstFree = this.#word(node, NEXT);
    else this.#end += 1;
    this.#count += 1;
    const { words, start } = this.#room(node);
    words.fill(0, start, start + WORDS);
    words[start + SEQUENCE_LO] = lo;
    words[start + SEQUENCE_HI] = hi;
    words[start + PARENT] = parent;
    words[start + STATE] = place;
    const own = this.#tokens[node >>> CHUNK_BITS] as Uint32Array;
    const width = this.#ownTokens;
    const to = (node & CHUNK_MASK) * width;
    for (let at = 0; at < width; at += 1) own[to + at] = tokens[from + at] as number;
    if (parent !== NO_NODE) {
      const next = this.#word(parent, FIRST_CHILD);
      words[start + NEXT] = next;
      if (next !== NO_NODE) this.#set(next, PREVIOUS, node);
      this.#set(parent, FIRST_CHILD, node);
    }
    return node;
  }

  /** Takes out a node without children. */
  free(node: number): void {
    const parent = this.parent(node);
    const next = this.#word(node, NEXT);
    const previous = this.#word(node, PREVIOUS);
    if (next !== NO_NODE) this.#set(next, PREVIOUS, previous);
    if (previous !== NO_NODE) this.#set(previous, NEXT, next);
    else if (parent !== NO_NODE) this.#set(parent, FIRST_CHILD, next);
    this.#index.remove(this.#index.find(this.#word(node, SEQUENCE_LO), this.#word(node, SEQUENCE_HI)));
    this.#set(node, STATE, 0);
    this.#set(node, NEXT, this.#firstFree);
    this.#firstFree = node;
    this.#count -= 1;
  }

  clear(): void {
    this.#chunks.length = 0;
    this.#tokens.length = 0;
    this.#index.clear();
    this.#count = 0;
    this.#end = 1;
    this.#firstFree = NO_NODE;
  }

  /** The node before it in the same canonical block. */
  parent(node: number): number {
    return this.#word(node, PARENT);
  }

  firstChild(node: number): number {
    return this.#word(node, FIRST_CHILD);
  }

  /** The next child of the same parent. */
  next(node: number): number {
    return this.#word(node, NEXT);
  }

  /** Its place among the own blocks of its canonical block, from 0. */
  place(node: number): number {
    return this.#word(node, STATE) & PLACE_MASK;
  }

  /** The bits of the tiers that hold it. */
  tiers(node: number): number {
    return (this.#word(node, STATE) >>> TIERS_SHIFT) & TIERS_MASK;
  }

  setTiers(node: number, tiers: number): void {
    const state = this.#word(node, STATE) & ~(TIERS_MASK << TIERS_SHIFT);
    this.#set(node, STATE, state | (tiers << TIERS_SHIFT));
  }

  /** The bits of the tiers in which its canonical block was announced; of a last node. */
  announced(node: number): number {
    return (this.#word(node, STATE) >>> ANNOUNCED_SHIFT) & TIERS_MASK;
  }

  setAnnounced(node: number, tiers: number): void {
    const state = this.#word(node, STATE) & ~(TIERS_MASK << ANNOUNCED_SHIFT);
    this.#set(node, STATE, state | (tiers << ANNOUNCED_SHIFT));
  }

  /** Whether its canonical block, and each that follows, is never announced. */
  isWithheld(node: number): boolean {
    return (this.#word(node, STATE) & WITHHELD) !== 0;
  }

  setWithheld(node: number): void {
    this.#set(node, STATE, this.#word(node, STATE) | WITHHELD);
  }

  /**
   * Of a last node, the canonical sequence hash of its block; of a first one that is not the last as well, that of the
   * block before. Otherwise, and where no block is before, there is none.
   */
  hasCanonical(node: number): boolean {
    return (this.#word(node, STATE) & HAS_CANONICAL) !== 0;
  }

  canonicalLo(node: number): number {
    return this.#word(node, CANONICAL_LO);
  }

  canonicalHi(node: number): number {
    return this.#word(node, CANONICAL_HI);
  }

  setCanonical(node: number, lo: number, hi: number): void {
    this.#set(node, CANONICAL_LO, lo);
    this.#set(node, CANONICAL_HI, hi);
    this.#set(node, STATE, this.#word(node, STATE) | HAS_CANONICAL);
  }

  /** Copies its tokens into `into`, from `at` on. */
  copyTokens(node: number, into: Uint32Array, at: number): void {
    const own = this.#tokens[node >>> CHUNK_BITS] as Uint32Array;
    const width = this.#ownTokens;
    const from = (node & CHUNK_MASK) * width;
    for (let place = 0; place < width; place += 1) into[at + place] = own[from + place] as number;
  }

  #room(node: number): { readonly words: Uint32Array; readonly start: number } {
    const chunk = node >>> CHUNK_BITS;
    while (this.#chunks.length <= chunk) {
      this.#chunks.push(new Uint32Array(CHUNK_NODES * WORDS));
      this.#tokens.push(new Uint32Array(CHUNK_NODES * this.#ownTokens));
    }
    return { words: this.#chunks[chunk] as Uint32Array, start: (node & CHUNK_MASK) * WORDS };
  }

  #word(node: number, field: number): number {
    const chunk = this.#chunks[node >>> CHUNK_BITS] as Uint32Array;
    return chunk[(node & CHUNK_MASK) * WORDS + field] as number;
  }

  #set(node: number, field: number, value: number): void {
    const chunk = this.#chunks[node >>> CHUNK_BITS] as Uint32Array;
    chunk[(node & CHUNK_MASK) * WORDS + field] = value;
  }
}
