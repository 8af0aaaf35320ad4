import { packedCount } from '../../../core/blocks/packed-hashes.js';
import type { Matches } from '../../../core/blocks/prefix-index.js';
import { type UnorderedMember, UnorderedSet } from '../../../edge/platform/data/unordered-set.js';
import { BlockFilter } from './block-filter.js';
import { type HeldPrompt, PromptTree } from './prompt-tree.js';

/**
 * (block, rank) pairs of which it is known which they are: what 128 ranks with
 * 32,768 active blocks each have. 8 bytes each at most, 32 MiB in all, and some
 * hundreds for a request. Blocks beyond count by their number alone.
 */
const MAX_TRACKED_BLOCKS = 4 * 1024 * 1024;

/** As many as the index of an epoch takes. */
const MAX_RANKS = 65_535;

/** Longest output that is believed; more than any engine generates for one request. */
const MAX_OUTPUT_TOKENS = 2 ** 32;

/** A prompt that is active somewhere. */
export interface ActivePrompt {
  /** Of its whole blocks, packed little-endian u64, chained; read during the call alone. */
  readonly sequenceHashes: Uint8Array;
  readonly tokenCount: number;
  /** Tokens that the rank has to compute. */
  readonly prefillTokens: number;
}

/** One request that is active on one rank; all calls are harmless once it has ended. */
export interface ActiveRequest {
  /** The first token has come. */
  prefillDone(): void;
  /** All tokens that were generated so far; less than before is not believed. */
  progress(outputTokens: number): void;
  release(): void;
}

/** What is active on one rank. */
interface Load {
  /** Tracked ones and those that count by their number. */
  blocks: number;
  prefillingTokens: number;
  readonly requests: UnorderedSet<Request>;
  /** Made when it is asked whether a block is active there; undefined while that is not asked. */
  filter: BlockFilter | undefined;
}

/**
 * The active decoding blocks of each rank, from where requests were sent.
 * Blocks that requests on one rank share count once; a last partial block and
 * what a request generates count for it alone. Ranks are small numbers, good
 * until they are dropped.
 */
export class ActiveBlocks {
  readonly #tokensPerBlock: number;
  readonly #prompts: PromptTree;
  /** By rank; holes where one was dropped. */
  readonly #loads: (Load | undefined)[] = [];
  readonly #freeRanks: number[] = [];
  #untrackedBlocks = 0;

  constructor(tokensPerBlock: number, maxTrackedBlocks: number = MAX_TRACKED_BLOCKS) {
    this.#tokensPerBlock = tokensPerBlock;
    this.#prompts = new PromptTree(maxTrackedBlocks);
  }

  /** (block, rank) pairs of which it is known which they are. */
  get trackedBlocks(): number {
    return this.#prompts.size;
  }

  /** Whole prompt blocks, ever, for which there was no room, and which counted by their number alone. */
  get untrackedBlocks(): number {
    return this.#untrackedBlocks;
  }

  /** A number for one more rank; undefined where there are 65,535. */
  addRank(): number | undefined {
    const rank = this.#freeRanks.pop() ?? this.#loads.length;
    if (rank === MAX_RANKS) return undefined;
    this.#loads[rank] = { blocks: 0, prefillingTokens: 0, requests: new UnorderedSet(), filter: undefined };
    return rank;
  }

  /** All that is active there ends, and its number may be given to another. */
  dropRank(rank: number): void {
    const load = this.#loads[rank];
    if (load === undefined) return;
    for (const request of load.requests.snapshot()) request.release();
    this.#loads[rank] = undefined;
    this.#freeRanks.push(rank);
  }

  /** Ends all requests immediately; nothing can be added afterwards. */
  close(): void {
    for (const load of this.#loads) for (const request of load?.requests.snapshot() ?? []) request.forget();
    this.#loads.length = 0;
  }

  blocksOn(rank: number): number {
    return this.#loads[rank]?.blocks ?? 0;
  }

  requestsOn(rank: number): number {
    return this.#loads[rank]?.requests.size ?? 0;
  }

  /** Prompt tokens that are being computed: of requests whose first token has not come. */
  prefillingTokensOn(rank: number): number {
    return this.#loads[rank]?.prefillingTokens ?? 0;
  }

  /** Whether a block may be active on a rank, by the low word of its hash: true of each that is, and of one in eight others at most. */
  mayHave(rank: number, lo: number): boolean {
    const load = this.#loads[rank];
    if (load === undefined || load.requests.size === 0) return false;
    load.filter ??= new BlockFilter(load.requests.snapshot().flatMap(({ held }) => held ?? []));
    return load.filter.mayHave(lo);
  }

  /** How many leading blocks of a prompt are active already, by rank. Valid until the next call. */
  match(sequenceHashes: Uint8Array): Matches {
    return this.#prompts.match(sequenceHashes);
  }

  /** A request is active on a rank from now on. Without a prompt only what it generates has blocks. */
  add(rank: number, prompt: ActivePrompt | undefined): ActiveRequest {
    const load = this.#loads[rank];
    if (load === undefined) throw new RangeError(`there is no rank ${rank}, or it was dropped`);
    const before = this.#prompts.size;
    const held = prompt === undefined ? undefined : this.#hold(rank, prompt);
    load.blocks += this.#prompts.size - before;
    if (held !== undefined && load.filter?.add(held) === false) load.filter = undefined;
    const request = new Request(this.#tokensPerBlock, held, prompt, load, (ended) => {
      if (ended !== undefined) load.blocks -= this.#prompts.letGo(rank, ended);
      if (load.requests.size === 0) load.filter = undefined;
    });
    load.requests.add(request);
    return request;
  }

  #hold(rank: number, { sequenceHashes }: ActivePrompt): HeldPrompt {
    const held = this.#prompts.hold(rank, sequenceHashes);
    this.#untrackedBlocks += packedCount(sequenceHashes) - held.blocks;
    return held;
  }
}

class Request implements ActiveRequest, UnorderedMember {
  place = -1;
  readonly #tokensPerBlock: number;
  readonly #promptTokens: number;
  #load: Load | undefined;
  /** What it holds of its prompt, until it ends. */
  held: HeldPrompt | undefined;
  readonly #letGo: (held: HeldPrompt | undefined) => void;
  /** Blocks that count for it alone. */
  #ownBlocks = 0;
  #prefillTokens: number;
  #outputTokens = 0;

  constructor(
    tokensPerBlock: number,
    held: HeldPrompt | undefined,
    prompt: ActivePrompt | undefined,
    load: Load,
    letGo: (held: HeldPrompt | undefined) => void,
  ) {
    this.#tokensPerBlock = tokensPerBlock;
    this.held = held;
    this.#promptTokens = prompt?.tokenCount ?? 0;
    this.#prefillTokens = prompt?.prefillTokens ?? 0;
    this.#load = load;
    this.#letGo = letGo;
    load.prefillingTokens += this.#prefillTokens;
    this.#recount(load);
  }

  prefillDone(): void {
    if (this.#load === undefined) return;
    this.#load.prefillingTokens -= this.#prefillTokens;
    this.#prefillTokens = 0;
  }

  progress(outputTokens: number): void {
    if (this.#load === undefined || !(outputTokens > this.#outputTokens)) return;
    this.#outputTokens = Math.min(Math.floor(outputTokens), MAX_OUTPUT_TOKENS);
    this.#recount(this.#load);
  }

  release(): void {
    const load = this.#load;
    if (load === undefined) return;
    const { held } = this;
    this.prefillDone();
    this.forget();
    load.requests.delete(this);
    load.blocks -= this.#ownBlocks;
    this.#letGo(held);
  }

  /** It counts nowhere any more, because all that counted is gone. */
  forget(): void {
    this.#load = undefined;
    this.held = undefined;
  }

  #recount(load: Load): void {
    const blocks = Math.ceil((this.#promptTokens + this.#outputTokens) / this.#tokensPerBlock);
    const ownBlocks = Math.max(0, blocks - (this.held?.blocks ?? 0));
    load.blocks += ownBlocks - this.#ownBlocks;
    this.#ownBlocks = ownBlocks;
  }
}
