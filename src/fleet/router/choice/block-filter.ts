import { HASH_WORDS, type PromptRun } from './prompt-run.js';
import type { HeldPrompt } from './prompt-tree.js';

/** Bits for each block there is room for: of those that are not in it, one in so many is taken for one that is. */
const BITS_OF_BLOCK = 8;
const BITS_OF_WORD = 32;
const WORD_SHIFT = 5;

/** Blocks that may come after it was made, before it is made again. */
const SPARE_BLOCKS = 4_096;

/** Which blocks may be on their way to a rank: says no of most that are not, and never of one that is. */
export class BlockFilter {
  readonly #bits: Uint32Array;
  readonly #mask: number;
  #room: number;

  /** With the blocks of these prompts. */
  constructor(prompts: readonly HeldPrompt[]) {
    const all = new Set<PromptRun>();
    let blocks = 0;
    for (const { last } of prompts) {
      for (let run: PromptRun | undefined = last; run !== undefined && !all.has(run); run = run.before) {
        all.add(run);
        blocks += run.blocks;
      }
    }
    this.#room = blocks + SPARE_BLOCKS;
    // A power of two, of which the low word of a hash names a bit.
    const bits = 2 ** Math.ceil(Math.log2(BITS_OF_BLOCK * (blocks + this.#room)));
    this.#bits = new Uint32Array(bits / BITS_OF_WORD);
    this.#mask = bits - 1;
    for (const { words } of all) this.#add(words);
  }

  /** Takes in the blocks of one more prompt; false where there is no room for them, and another filter is to be made. */
  add({ last, blocks }: HeldPrompt): boolean {
    this.#room -= blocks;
    if (this.#room < 0) return false;
    for (let run: PromptRun | undefined = last; run !== undefined; run = run.before) this.#add(run.words);
    return true;
  }

  /** Whether a block may be among them, by the low word of its hash. */
  mayHave(lo: number): boolean {
    const bit = lo & this.#mask;
    return ((this.#bits[bit >>> WORD_SHIFT] as number) & (1 << (bit & (BITS_OF_WORD - 1)))) !== 0;
  }

  #add(words: Uint32Array): void {
    for (let at = 0; at < words.length; at += HASH_WORDS) {
      const bit = (words[at] as number) & this.#mask;
      this.#bits[bit >>> WORD_SHIFT] =
        (this.#bits[bit >>> WORD_SHIFT] as number) | (1 << (bit & (BITS_OF_WORD - 1)));
    }
  }
}
