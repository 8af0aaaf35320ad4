import type { BlockHasher } from '../../../core/blocks/block-hasher.js';
import { tierBit } from '../../../core/blocks/block-mirror.js';
import type { HashHalves } from '../../../core/blocks/packed-hashes.js';
import { TIERS, type Tier } from '../../../core/blocks/tier.js';
import { isRehashable } from '../../../core/contract/rehash.js';
import type { BlockWriter } from '../relay/change-writer.js';
import type { CachePiece } from '../relay/relay-log.js';
import { NO_NODE, RehashNodes } from './rehash-nodes.js';

/** For each set of tiers the tiers that have one of them, or a nearer one. */
const AND_FARTHER: readonly number[] = Array.from({ length: 1 << TIERS.length }, (_, tiers) =>
  TIERS.reduce((all, _tier, at) => ((tiers & ((2 << at) - 1)) === 0 ? all : all | (1 << at)), 0),
);

/** What an own block is made of. There is one of it for each event. */
export interface LearnedStore {
  /** Tokens of all blocks of the event, in order. */
  readonly tokens: Uint32Array;
  readonly tokensPerBlock: number;
  readonly seed: HashHalves;
  /** The engine's hash of a block covers tokens behind it (EAGLE, MTP). */
  readonly reachesFarther: boolean;
  /** Whether a block is before it in its prompt, and the sequence hash of that one. */
  hasBefore: boolean;
  beforeLo: number;
  beforeHi: number;
  /** Its identity depends on media as well. */
  hasMedia: boolean;
}

export interface RehashedBlocksOptions {
  /** Tokens of a canonical block, 1 to `MAX_REHASHED_TOKENS`. */
  readonly canonicalTokens: number;
  /** Own blocks that are kept at most, those included that only hold others together. */
  readonly maxBlocks: number;
}

/**
 * What an engine holds in blocks of a size of its own, announced in larger canonical ones: a canonical block is announced while
 * the engine holds every part of it, in the farthest tier that a part is in. Tokens are kept, since a block may be
 * continued at any time; no others than those of blocks that are held, and of the few that hold such together.
 */
export class RehashedBlocks implements BlockWriter {
  readonly #options: RehashedBlocksOptions;
  readonly #writer: BlockWriter;
  /** Of its own: a call overwrites what views show that the caller of `learn` still reads. */
  readonly #hasher: BlockHasher;
  readonly #buffer: Uint32Array;
  #nodes: RehashNodes | undefined;
  #ownTokens = 0;
  /** Canonical blocks that are announced. */
  #announcedCount = 0;
  /** Nodes that are never announced. */
  #withheldCount = 0;
  #lack: string | undefined;
  /** Why nothing is announced at all; until the next `forget`. */
  #refusal: string | undefined;

  constructor(
    options: RehashedBlocksOptions,
    modules: { readonly writer: BlockWriter; readonly hasher: BlockHasher },
  ) {
    this.#options = options;
    this.#writer = modules.writer;
    this.#hasher = modules.hasher;
    this.#buffer = new Uint32Array(options.canonicalTokens);
  }

  /** Canonical blocks that are announced; one in several tiers counts once. */
  get size(): number {
    return this.#announcedCount;
  }

  /** Own blocks whose tokens are kept. */
  get ownBlocks(): number {
    return this.#nodes?.count ?? 0;
  }

  /** Bytes of the tokens and nodes that are kept. */
  get byteLength(): number {
    return this.#nodes?.byteLength ?? 0;
  }

  /** Why blocks that the engine holds are missing; undefined when none are. */
  get lack(): string | undefined {
    if (this.#refusal !== undefined || this.#lack !== undefined) return this.#refusal ?? this.#lack;
    return this.#withheldCount > 0 ? 'has blocks with media, which are not re-hashed' : undefined;
  }

  /** Takes an own block that is new, the one at `index` of its event, before it is announced as stored. */
  learn(lo: number, hi: number, index: number, store: LearnedStore): void {
    if (this.#refusal !== undefined || !this.#isTaken(store)) return;
    const nodes = this.#nodesOf(store.tokensPerBlock);
    if (nodes.find(lo, hi) !== NO_NODE) return;
    const previous = store.hasBefore ? nodes.find(store.beforeLo, store.beforeHi) : NO_NODE;
    if (store.hasBefore && previous === NO_NODE) {
      this.#lack ??= 'has blocks that follow others which could not be re-hashed';
      return;
    }
    const parts = this.#options.canonicalTokens / this.#ownTokens;
    const place = previous === NO_NODE ? 0 : (nodes.place(previous) + 1) % parts;
    const parent = place === 0 ? NO_NODE : previous;
    const node = nodes.add(lo, hi, place, parent, store.tokens, index * this.#ownTokens);
    if (node === NO_NODE) {
      this.#lack ??= `holds more than ${this.#options.maxBlocks} blocks`;
      return;
    }
    if (store.hasMedia || (previous !== NO_NODE && nodes.isWithheld(previous))) {
      nodes.setWithheld(node);
      this.#withheldCount += 1;
      return;
    }
    const isFirst = place === 0 && previous !== NO_NODE;
    if (isFirst) nodes.setCanonical(node, nodes.canonicalLo(previous), nodes.canonicalHi(previous));
    if (place === parts - 1) this.#hash(nodes, node, store.seed);
  }

  stored(tier: Tier, _tokensPerBlock: number, lo: number, hi: number): void {
    const node = this.#nodes?.find(lo, hi) ?? NO_NODE;
    if (this.#nodes === undefined || node === NO_NODE) return;
    this.#nodes.setTiers(node, this.#nodes.tiers(node) | tierBit(tier));
    this.#refresh(this.#nodes, node);
  }

  removed(tier: Tier, lo: number, hi: number): void {
    const nodes = this.#nodes;
    const node = nodes?.find(lo, hi) ?? NO_NODE;
    if (nodes === undefined || node === NO_NODE) return;
    nodes.setTiers(node, nodes.tiers(node) & ~tierBit(tier));
    this.#refresh(nodes, node);
    this.#release(nodes, node);
  }

  cleared(): void {
    this.#writer.cleared();
    this.#drop();
  }

  piece(): void {
    // Nothing is announced again in other words here: there is one group.
  }

  take(): ReturnType<BlockWriter['take']> {
    return this.#writer.take();
  }

  /** From now on nothing is announced, for this reason. */
  refuse(reason: string): void {
    if (this.#refusal !== undefined) return;
    this.cleared();
    this.#refusal = reason;
  }

  /** Forgets all blocks, without a word to readers. */
  clear(): void {
    this.#drop();
    this.#lack = undefined;
  }

  /** Forgets also why nothing was announced. */
  forget(): void {
    this.clear();
    this.#refusal = undefined;
  }

  /**
   * Everything that is announced now, from at most `maxNodes` own blocks a step, while blocks come and go between steps: what
   * stays is in it, some perhaps twice.
   */
  pieces(maxNodes: number): { next(): CachePiece | undefined } {
    const ready: CachePiece[] = [];
    let from = 1;
    return {
      next: () => {
        while (ready.length === 0) {
          const end = this.#nodes?.end ?? 0;
          if (from >= end) return undefined;
          const to = Math.min(end, from + Math.max(1, maxNodes));
          ready.push(...this.#piecesOf(from, to));
          from = to;
        }
        return ready.shift();
      },
    };
  }

  #isTaken({ tokensPerBlock, reachesFarther }: LearnedStore): boolean {
    const { canonicalTokens } = this.#options;
    if (reachesFarther) this.#lack ??= 'hashes pairs of tokens (EAGLE), which are not re-hashed';
    else if (!isRehashable(tokensPerBlock, canonicalTokens))
      this.#lack ??= `has blocks of ${tokensPerBlock} tokens, which do not divide ${canonicalTokens}`;
    else if (this.#ownTokens !== 0 && this.#ownTokens !== tokensPerBlock)
      this.#lack ??= `has blocks of ${this.#ownTokens} and of ${tokensPerBlock} tokens, and one size alone is re-hashed`;
    else return true;
    return false;
  }

  #nodesOf(ownTokens: number): RehashNodes {
    this.#nodes ??= new RehashNodes(ownTokens, this.#options.maxBlocks);
    this.#ownTokens = ownTokens;
    return this.#nodes;
  }

  /** Works out the canonical sequence hash of the block that ends with `node`. */
  #hash(nodes: RehashNodes, node: number, seed: HashHalves): void {
    const { canonicalTokens } = this.#options;
    const width = this.#ownTokens;
    let first = node;
    for (let at = canonicalTokens - width; ; at -= width) {
      nodes.copyTokens(first, this.#buffer, at);
      if (at === 0) break;
      first = nodes.parent(first);
    }
    const parent = nodes.hasCanonical(first)
      ? { lo: nodes.canonicalLo(first), hi: nodes.canonicalHi(first) }
      : undefined;
    const { sequenceHashes } = this.#hasher.hashTokens(this.#buffer, {
      tokensPerBlock: canonicalTokens,
      unit: 'token',
      seed,
      parent,
    });
    const { buffer, byteOffset } = sequenceHashes;
    const view = new DataView(buffer, byteOffset, 8);
    nodes.setCanonical(node, view.getUint32(0, true), view.getUint32(4, true));
  }

  /** The tiers of a part are others: so may be those of each canonical block that it is part of. */
  #refresh(nodes: RehashNodes, part: number): void {
    const last = this.#options.canonicalTokens / this.#ownTokens - 1;
    let node = part;
    for (;;) {
      if (nodes.place(node) === last) this.#announce(nodes, node);
      const child = nodes.firstChild(node);
      if (child !== NO_NODE) {
        node = child;
        continue;
      }
      while (node !== part && nodes.next(node) === NO_NODE) node = nodes.parent(node);
      if (node === part) return;
      node = nodes.next(node);
    }
  }

  /** Announces of the canonical block that ends with `node` what readers do not know yet. */
  #announce(nodes: RehashNodes, node: number): void {
    if (nodes.isWithheld(node)) return;
    let everywhere = AND_FARTHER.length - 1;
    let anywhere = 0;
    for (let part = node; part !== NO_NODE && everywhere !== 0; part = nodes.parent(part)) {
      const tiers = nodes.tiers(part);
      everywhere &= AND_FARTHER[tiers] as number;
      anywhere |= tiers;
    }
    const announced = nodes.announced(node);
    const now = everywhere & anywhere;
    if (now === announced) return;
    nodes.setAnnounced(node, now);
    if (announced === 0) this.#announcedCount += 1;
    if (now === 0) this.#announcedCount -= 1;
    const lo = nodes.canonicalLo(node);
    const hi = nodes.canonicalHi(node);
    for (let at = 0; at < TIERS.length; at += 1) {
      const bit = 1 << at;
      const tier = TIERS[at] as Tier;
      if ((announced & ~now & bit) !== 0) this.#writer.removed(tier, lo, hi, undefined);
      if ((now & ~announced & bit) !== 0)
        this.#writer.stored(tier, this.#options.canonicalTokens, lo, hi, undefined);
    }
  }

  /** Frees a node that no rank holds and no other needs, and each before it that was kept for it alone. */
  #release(nodes: RehashNodes, from: number): void {
    let node = from;
    while (node !== NO_NODE && nodes.tiers(node) === 0 && nodes.firstChild(node) === NO_NODE) {
      const parent = nodes.parent(node);
      if (nodes.isWithheld(node)) this.#withheldCount -= 1;
      nodes.free(node);
      node = parent;
    }
  }

  #drop(): void {
    this.#nodes = undefined;
    this.#ownTokens = 0;
    this.#announcedCount = 0;
    this.#withheldCount = 0;
  }

  #piecesOf(from: number, to: number): CachePiece[] {
    const nodes = this.#nodes as RehashNodes;
    return TIERS.flatMap((tier, at) => {
      let count = 0;
      for (let node = from; node < to; node += 1) if ((nodes.announced(node) & (1 << at)) !== 0) count += 1;
      if (count === 0) return [];
      const view = new DataView(new ArrayBuffer(8 * count));
      let offset = 0;
      for (let node = from; node < to; node += 1) {
        if ((nodes.announced(node) & (1 << at)) === 0) continue;
        view.setUint32(offset, nodes.canonicalLo(node), true);
        view.setUint32(offset + 4, nodes.canonicalHi(node), true);
        offset += 8;
      }
      const tokensPerBlock = this.#options.canonicalTokens;
      return [{ tier, tokensPerBlock, sequenceHashes: new Uint8Array(view.buffer) }];
    });
  }
}
