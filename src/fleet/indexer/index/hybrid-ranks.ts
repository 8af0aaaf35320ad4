import { type BlockPresence, longestHit, type PresenceShortcuts } from '../../../core/blocks/longest-hit.js';
import { HASH_BYTES } from '../../../core/blocks/packed-hashes.js';
import type { Matches, PrefixIndex } from '../../../core/blocks/prefix-index.js';
import type { AskedPrompt } from './asked-index.js';
import type { RankRules } from './rank-rules.js';

/** A rank whose hits follow rules of their own, and under which numbers its blocks are in the index. */
export interface HybridRank {
  readonly rules: RankRules;
  /** Of the main group. */
  readonly holder: number;
  /** By place in the rules; undefined where it holds nothing of that group. */
  readonly holders: readonly (number | undefined)[];
}

/** Of one group of the rank that is looked at: the blocks that were asked last. */
interface Asked {
  holder: number | undefined;
  hashes: Uint8Array | undefined;
  /** Which 32 blocks `bits` are of; -1 before the first. */
  word: number;
  bits: number;
}

const WORD_BITS = 5;
const WORD_MASK = 31;

/**
 * The ranks of one index whose engines have other KV cache groups than one of
 * full attention, or another rule for hits. Of those with several groups the
 * accelerator's own memory counts alone: how engines find their hits in other
 * tiers is not known. Models with full attention alone never come here, unless
 * their hits are aligned or have a block taken off.
 */
export class HybridRanks {
  readonly #index: PrefixIndex;
  readonly #tokensPerBlock: number;
  /** By the holder of the main group. */
  readonly #ranks = new Map<number, HybridRank>();
  /** Those of which the leading blocks of the main group say nothing. */
  readonly #notFull = new Set<HybridRank>();
  /** Holders of groups other than the main one, which no answer names. */
  readonly #groupHolders = new Set<number>();
  /** Ranks by block width, the index's own width left out. */
  readonly #widths = new Map<number, number>();
  #otherWidths: readonly number[] = [];
  /** What a call of `find` answers: the arrays are those of the index, and are written over in place. */
  readonly #answer: { count: number; holders: Uint32Array; depths: Uint32Array } = {
    count: 0,
    holders: new Uint32Array(0),
    depths: new Uint32Array(0),
  };
  /** Hits in the accelerator's memory, kept while other tiers are looked up. */
  #hits: [holder: number, blocks: number][] = [];
  // Of the rank that is looked at.
  readonly #asked: Asked[] = [];
  /** Place of a group whose leading blocks are known; -1 for none. */
  #leading = -1;
  #depth = 0;
  readonly #isPresent: BlockPresence = (group, block) => this.#has(group, block);
  readonly #shortcuts: PresenceShortcuts = {
    leading: (group, limit) => this.#countLeading(group, limit),
    last: (group, block) => this.#lastOf(group, block),
  };

  constructor(index: PrefixIndex, tokensPerBlock: number) {
    this.#index = index;
    this.#tokensPerBlock = tokensPerBlock;
  }

  /** Whether answers of the index are answers already. */
  get isEmpty(): boolean {
    return this.#ranks.size === 0 && this.#groupHolders.size === 0;
  }

  /** Block widths other than the main group's that prompts have to be hashed for. */
  get otherWidths(): readonly number[] {
    return this.#otherWidths;
  }

  /** Takes a rank; one that was taken under the same holder before is replaced. */
  set(rank: HybridRank): void {
    this.delete(rank.holder);
    this.#ranks.set(rank.holder, rank);
    if (!rank.rules.isMainFull) this.#notFull.add(rank);
    this.#countWidths(rank, 1);
  }

  /** The rank follows no rules any more, or holds nothing. */
  delete(holder: number): void {
    const rank = this.#ranks.get(holder);
    if (rank === undefined) return;
    this.#ranks.delete(holder);
    this.#notFull.delete(rank);
    this.#countWidths(rank, -1);
  }

  /** The holder is of a group that is not the main one: no answer names it. */
  addGroupHolder(holder: number): void {
    this.#groupHolders.add(holder);
  }

  deleteGroupHolder(holder: number): void {
    this.#groupHolders.delete(holder);
  }

  /** Leading blocks in the accelerator's memory: `leading`, with hits of hybrid ranks in place of their main group's blocks. */
  inDevice(leading: Matches, prompt: AskedPrompt): Matches {
    const answer = this.#begin(leading);
    for (let at = 0; at < leading.count; at += 1) {
      const holder = leading.holders[at] as number;
      const depth = leading.depths[at] as number;
      const rank = this.#ranks.get(holder);
      if (rank === undefined) {
        if (!this.#groupHolders.has(holder)) add(answer, holder, depth);
      } else if (rank.rules.isMainFull) add(answer, holder, this.#hitOf(rank, depth, prompt));
    }
    for (const rank of this.#notFull) add(answer, rank.holder, this.#hitOf(rank, undefined, prompt));
    return answer;
  }

  /** Before `inLowerTier` of the same prompt: keeps what ranks of several groups have in the accelerator's memory. */
  keepHits(inDevice: Matches | undefined): void {
    this.#hits = [];
    for (let at = 0; at < (inDevice?.count ?? 0); at += 1) {
      const holder = inDevice?.holders[at] as number;
      const rank = this.#ranks.get(holder);
      if (rank !== undefined && !countsAllTiers(rank))
        this.#hits.push([holder, inDevice?.depths[at] as number]);
    }
  }

  /** Leading blocks in several tiers: `leading`, with the hits that were kept. */
  inLowerTier(leading: Matches, prompt: AskedPrompt): Matches {
    const answer = this.#begin(leading);
    for (let at = 0; at < leading.count; at += 1) {
      const holder = leading.holders[at] as number;
      const depth = leading.depths[at] as number;
      const rank = this.#ranks.get(holder);
      if (rank !== undefined) {
        if (countsAllTiers(rank)) add(answer, holder, this.#hitOf(rank, depth, prompt));
      } else if (!this.#groupHolders.has(holder)) add(answer, holder, depth);
    }
    for (const [holder, blocks] of this.#hits) add(answer, holder, blocks);
    return answer;
  }

  #begin(leading: Matches): { count: number; holders: Uint32Array; depths: Uint32Array } {
    const answer = this.#answer;
    answer.count = 0;
    answer.holders = leading.holders;
    answer.depths = leading.depths;
    return answer;
  }

  /** In whole blocks of the index's width. */
  #hitOf({ rules, holders }: HybridRank, depth: number | undefined, prompt: AskedPrompt): number {
    this.#leading = depth === undefined ? -1 : rules.main;
    this.#depth = depth ?? 0;
    for (let place = 0; place < rules.groups.length; place += 1) {
      const asked = this.#askedAt(place);
      const width = rules.widths[place] as number;
      asked.holder = holders[place];
      asked.hashes = width === this.#tokensPerBlock ? prompt.sequenceHashes : prompt.otherWidths?.get(width);
      asked.word = -1;
    }
    // Of a prompt that came in hashes more may follow, so that its last whole block counts.
    const promptTokens = prompt.isOpenEnded === true ? prompt.tokenCount + 1 : prompt.tokenCount;
    const hit = longestHit(rules.rules, this.#isPresent, promptTokens, this.#shortcuts);
    return Math.floor(hit / this.#tokensPerBlock);
  }

  #has(group: number, block: number): boolean {
    if (group === this.#leading) return block < this.#depth;
    return ((this.#wordOf(group, block >>> WORD_BITS) >>> (block & WORD_MASK)) & 1) === 1;
  }

  #countLeading(group: number, limit: number): number {
    if (group === this.#leading) return Math.min(limit, this.#depth);
    for (let first = 0; first < limit; first += WORD_MASK + 1) {
      const missing = ~this.#wordOf(group, first >>> WORD_BITS);
      // The lowest bit that is set, alone.
      if (missing !== 0) return Math.min(limit, first + WORD_MASK - Math.clz32(missing & -missing));
    }
    return limit;
  }

  #lastOf(group: number, block: number): number {
    if (group === this.#leading) return Math.min(block, this.#depth - 1);
    if (block < 0) return -1;
    // Of the first word what lies behind the block does not count.
    let mask = 0xffff_ffff >>> (WORD_MASK - (block & WORD_MASK));
    for (let word = block >>> WORD_BITS; word >= 0; word -= 1) {
      const held = this.#wordOf(group, word) & mask;
      if (held !== 0) return (word << WORD_BITS) + WORD_MASK - Math.clz32(held);
      mask = 0xffff_ffff;
    }
    return -1;
  }

  /** Of 32 blocks those that are cached; none behind the prompt. */
  #wordOf(group: number, word: number): number {
    const asked = this.#asked[group] as Asked;
    if (asked.word === word) return asked.bits;
    const { holder, hashes } = asked;
    const first = word << WORD_BITS;
    const isKnown = holder !== undefined && hashes !== undefined && first * HASH_BYTES < hashes.length;
    asked.bits = isKnown ? this.#index.held(holder, 'device', hashes, first) : 0;
    asked.word = word;
    return asked.bits;
  }

  #askedAt(place: number): Asked {
    let asked = this.#asked[place];
    if (asked === undefined) {
      asked = { holder: undefined, hashes: undefined, word: -1, bits: 0 };
      this.#asked[place] = asked;
    }
    return asked;
  }

  #countWidths({ rules }: HybridRank, change: number): void {
    let isOther = false;
    for (const width of new Set(rules.widths)) {
      if (width === this.#tokensPerBlock) continue;
      const count = (this.#widths.get(width) ?? 0) + change;
      if (count === 0) this.#widths.delete(width);
      else this.#widths.set(width, count);
      isOther ||= count === 0 || count === change;
    }
    if (isOther) this.#otherWidths = [...this.#widths.keys()].sort((a, b) => a - b);
  }
}

/** Whether it is full attention alone, whose leading blocks may lie in any tier. */
function countsAllTiers({ rules }: HybridRank): boolean {
  return rules.isMainFull && rules.groups.length === 1;
}

function add(
  answer: { count: number; holders: Uint32Array; depths: Uint32Array },
  holder: number,
  blocks: number,
): void {
  if (blocks === 0) return;
  answer.holders[answer.count] = holder;
  answer.depths[answer.count] = blocks;
  answer.count += 1;
}
