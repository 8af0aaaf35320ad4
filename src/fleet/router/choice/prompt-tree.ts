import { HASH_BYTES } from '../../../core/blocks/packed-hashes.js';
import type { Matches } from '../../../core/blocks/prefix-index.js';
import { HASH_WORDS, PromptRun } from './prompt-run.js';
import { RunTable } from './run-table.js';

/** Longest run: what is copied where a prompt parts from another one in the middle of it, 32 KiB. */
const MAX_RUN_BLOCKS = 4_096;

const FIRST_MATCHES = 64;

/** What one request holds of its prompt. */
export interface HeldPrompt {
  readonly last: PromptRun;
  /** Its leading blocks that are held: all, where there is room for them. */
  readonly blocks: number;
}

/**
 * The prompts that active requests hold on each rank, blocks that they share once. Sequence hashes are chained, so that prompts
 * make a tree; blocks without a fork or an end between them are one run. A request costs the runs of its prompt, and comparing
 * and copying its hashes, whatever the number of its blocks: nothing is looked up and nothing allocated for a block. 8 bytes a
 * block, once for all ranks that hold it, and at most two runs for a request and one for 2,048 blocks.
 */
export class PromptTree {
  readonly #maxBlocks: number;
  readonly #root = new PromptRun(0, new Uint32Array(0));
  readonly #runs = new RunTable();
  #lastNumber = 0;
  #size = 0;
  #holders = new Uint32Array(FIRST_MATCHES);
  #depths = new Uint32Array(FIRST_MATCHES);
  /** By rank: the look in which it was seen last. */
  #seen = new Float64Array(FIRST_MATCHES);
  #looks = 0;
  /** Runs of the prompt that is looked for, and the blocks up to their ends. */
  readonly #path: PromptRun[] = [];
  readonly #ends: number[] = [];

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

  /** How many leading blocks of a prompt are held, by rank. Valid until the next call. */
  match(sequenceHashes: Uint8Array): Matches {
    const words = wordsOf(sequenceHashes);
    this.#follow(words);
    this.#looks += 1;
    let count = 0;
    // Who holds a run holds all before it: the last ones first, each rank has its depth where it is seen first.
    for (let at = this.#path.length - 1; at >= 0; at -= 1) {
      const { holders } = this.#path[at] as PromptRun;
      if (holders.size === count) continue;
      this.#reserve(holders.size);
      for (const rank of holders.keys()) {
        if (this.#seen[rank] === this.#looks) continue;
        this.#seen[rank] = this.#looks;
        this.#holders[count] = rank;
        this.#depths[count] = this.#ends[at] as number;
        count += 1;
      }
    }
    this.#path.length = 0;
    this.#ends.length = 0;
    return { count, holders: this.#holders, depths: this.#depths };
  }

  /** A request on a rank holds as many leading blocks of its prompt as there is room for. To be let go once. */
  hold(rank: number, sequenceHashes: Uint8Array): HeldPrompt {
    this.#knowRank(rank);
    const words = wordsOf(sequenceHashes);
    const count = words.length / HASH_WORDS;
    let last = this.#root;
    let from = 0;
    while (from < count) {
      const next = this.#runAfter(last, words, from);
      if (next === undefined) break;
      const common = next.commonBlocks(words, from, next.holders.has(rank) ? next.blocks : this.room);
      if (common === 0) break;
      const isWhole = common === next.blocks;
      last = isWhole ? next : this.#split(next, common);
      this.#count(last, rank);
      from += common;
      if (!isWhole) break;
    }
    const end = from + Math.min(count - from, this.room);
    while (from < end) {
      const to = Math.min(end, from + MAX_RUN_BLOCKS);
      last = this.#append(last, words.slice(HASH_WORDS * from, HASH_WORDS * to), rank);
      from = to;
    }
    return { last, blocks: from };
  }

  /** A request on a rank ended; how many blocks nobody holds there any more. */
  letGo(rank: number, { last }: HeldPrompt): number {
    let gone = 0;
    for (let run = last; run.before !== undefined; run = run.before) {
      const left = (run.holders.get(rank) as number) - 1;
      if (left > 0) run.holders.set(rank, left);
      else {
        run.holders.delete(rank);
        gone += run.blocks;
      }
      run.requests -= 1;
    }
    this.#size -= gone;
    let run = last;
    while (run.before !== undefined && run.requests === 0) {
      const { before } = run;
      this.#runs.delete(run);
      run.takeOut();
      run = before;
    }
    this.#join(run);
    return gone;
  }

  #follow(words: Uint32Array): void {
    const count = words.length / HASH_WORDS;
    let run = this.#root;
    let from = 0;
    while (from < count) {
      const next = this.#runAfter(run, words, from);
      if (next === undefined) return;
      const common = next.commonBlocks(words, from, next.blocks);
      from += common;
      this.#path.push(next);
      this.#ends.push(from);
      if (common < next.blocks) return;
      run = next;
    }
  }

  #runAfter(before: PromptRun, words: Uint32Array, from: number): PromptRun | undefined {
    const at = HASH_WORDS * from;
    return this.#runs.find(before, words[at] as number, words[at + 1] as number);
  }

  #count(run: PromptRun, rank: number): void {
    const requests = run.holders.get(rank) ?? 0;
    if (requests === 0) this.#size += run.blocks;
    run.holders.set(rank, requests + 1);
    run.requests += 1;
  }

  #append(before: PromptRun, words: Uint32Array, rank: number): PromptRun {
    const run = this.#make(words);
    run.placeAfter(before);
    this.#runs.add(run);
    this.#count(run, rank);
    return run;
  }

  #make(words: Uint32Array, holders?: Map<number, number>, requests?: number): PromptRun {
    this.#lastNumber += 1;
    return new PromptRun(this.#lastNumber, words, holders, requests);
  }

  /** Makes two runs of one; the first, of so many blocks. The second is the one that was: requests end there. */
  #split(run: PromptRun, blocks: number): PromptRun {
    const { before, words, holders, requests } = run;
    const head = this.#make(words.slice(0, HASH_WORDS * blocks), new Map(holders), requests);
    this.#runs.delete(run);
    run.takeOut();
    run.words = words.slice(HASH_WORDS * blocks);
    head.placeAfter(before as PromptRun);
    run.placeAfter(head);
    this.#runs.add(head);
    this.#runs.add(run);
    return head;
  }

  /** Makes one run of two, where nobody ends and nobody parts between them. */
  #join(run: PromptRun): void {
    const { before, onlyAfter: after } = run;
    if (before === undefined || after === undefined || after.requests !== run.requests) return;
    if (run.blocks + after.blocks > MAX_RUN_BLOCKS) return;
    const words = new Uint32Array(run.words.length + after.words.length);
    words.set(run.words);
    words.set(after.words, run.words.length);
    for (const one of [after, run]) {
      this.#runs.delete(one);
      one.takeOut();
    }
    after.words = words;
    after.placeAfter(before);
    this.#runs.add(after);
  }

  #knowRank(rank: number): void {
    if (rank < this.#seen.length) return;
    const larger = new Float64Array(2 * rank);
    larger.set(this.#seen);
    this.#seen = larger;
  }

  #reserve(count: number): void {
    if (count <= this.#holders.length) return;
    // What was found of this look stands in the first ones.
    const [holders, depths] = [new Uint32Array(2 * count), new Uint32Array(2 * count)];
    holders.set(this.#holders);
    depths.set(this.#depths);
    this.#holders = holders;
    this.#depths = depths;
  }
}

/** Packed hashes as words; copied where they are not aligned. */
function wordsOf(sequenceHashes: Uint8Array): Uint32Array {
  const length = HASH_WORDS * Math.floor(sequenceHashes.length / HASH_BYTES);
  if (sequenceHashes.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0)
    return new Uint32Array(sequenceHashes.buffer, sequenceHashes.byteOffset, length);
  const copy = new Uint32Array(length);
  new Uint8Array(copy.buffer).set(sequenceHashes.subarray(0, copy.byteLength));
  return copy;
}
