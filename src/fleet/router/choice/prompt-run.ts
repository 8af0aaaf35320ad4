/** Words of a sequence hash: low and high. */
export const HASH_WORDS = 2;

/**
 * Blocks that come one after the other in every active prompt that has the first of them. A run knows the one before it, so that
 * the last run of a prompt names all of it.
 */
export class PromptRun {
  /** Sequence hashes, the low word of each before its high one. */
  words: Uint32Array;
  before: PromptRun | undefined;
  /** Requests whose prompts have it, by rank: 1 and more. */
  readonly holders: Map<number, number>;
  /** The same on all ranks. */
  requests: number;
  /** The runs that follow it: the first of a list, of which each knows its neighbours. */
  firstAfter: PromptRun | undefined;
  nextBeside: PromptRun | undefined;
  earlierBeside: PromptRun | undefined;
  /** Neighbours in its bucket; kept by `RunTable` alone. */
  nextInBucket: PromptRun | undefined;
  earlierInBucket: PromptRun | undefined;
  /** What finds it among others: of the run before it, and its own first block. */
  hash = 0;
  /** Unlike that of any other run of its tree. */
  readonly number: number;

  constructor(
    number: number,
    words: Uint32Array,
    holders: Map<number, number> = new Map(),
    requests: number = 0,
  ) {
    this.number = number;
    this.words = words;
    this.holders = holders;
    this.requests = requests;
  }

  get blocks(): number {
    return this.words.length / HASH_WORDS;
  }

  /** How many blocks are those of `words` from block `from` on, of at most `most`. */
  commonBlocks(words: Uint32Array, from: number, most: number): number {
    const own = this.words;
    const start = HASH_WORDS * from;
    const end = HASH_WORDS * Math.min(most, this.blocks, words.length / HASH_WORDS - from);
    let at = 0;
    while (at < end && own[at] === words[start + at]) at += 1;
    return Math.floor(at / HASH_WORDS);
  }

  /** It follows another one from now on. */
  placeAfter(before: PromptRun): void {
    this.before = before;
    this.earlierBeside = undefined;
    this.nextBeside = before.firstAfter;
    if (before.firstAfter !== undefined) before.firstAfter.earlierBeside = this;
    before.firstAfter = this;
  }

  /** It follows none any more. */
  takeOut(): void {
    const { before, nextBeside, earlierBeside } = this;
    if (nextBeside !== undefined) nextBeside.earlierBeside = earlierBeside;
    if (earlierBeside !== undefined) earlierBeside.nextBeside = nextBeside;
    else if (before !== undefined) before.firstAfter = nextBeside;
    this.before = undefined;
    this.nextBeside = undefined;
    this.earlierBeside = undefined;
  }

  /** The one run that follows it; undefined where there is none, or more. */
  get onlyAfter(): PromptRun | undefined {
    const { firstAfter } = this;
    return firstAfter?.nextBeside === undefined ? firstAfter : undefined;
  }
}
