import { type Matches, PrefixIndex, PrefixIndexError } from '../../../core/blocks/prefix-index.js';
import { type UnorderedMember, UnorderedSet } from '../../../edge/platform/data/unordered-set.js';
import { ActiveChains, NONE } from './active-chains.js';

/**
 * (block, rank) pairs of which it is known which they are: what 128 ranks with
 * 32,768 active blocks each have. Up to 65 bytes each in the table and the
 * index, 270 MB in all. Blocks beyond count by their number alone.
 */
const MAX_TRACKED_BLOCKS = 4 * 1024 * 1024;

/** Longest output that is believed; more than any engine generates for one request. */
const MAX_OUTPUT_TOKENS = 2 ** 32;

/** A prompt that is active somewhere. */
export interface ActivePrompt {
  /** Of its whole blocks, packed little-endian u64, chained; read during the call alone. */
  readonly sequenceHashes: Uint8Array;
  readonly tokenCount: number;
  /** How many of its leading blocks were active on the rank already, from `match`. */
  readonly sharedBlocks: number;
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
}

/** Pieces of the index's table that are looked at for what a rank left behind. */
const SWEEP_SEGMENTS = 8;

const FIRST_LEAVING_WORDS = 2_048;

/**
 * The active decoding blocks of each rank, from where requests were sent.
 * Blocks that requests on one rank share count once; a last partial block and
 * what a request generates count for it alone. Ranks are small numbers, good
 * until they are dropped.
 */
export class ActiveBlocks {
  readonly #tokensPerBlock: number;
  readonly #index = new PrefixIndex();
  readonly #chains: ActiveChains;
  /** By rank; holes where one was dropped. */
  readonly #loads: (Load | undefined)[] = [];
  /** Hashes that are about to leave the index. */
  #leaving = new Uint32Array(FIRST_LEAVING_WORDS);
  #leavingMessage = 0;
  #untrackedBlocks = 0;

  constructor(tokensPerBlock: number, maxTrackedBlocks: number = MAX_TRACKED_BLOCKS) {
    this.#tokensPerBlock = tokensPerBlock;
    this.#chains = new ActiveChains(maxTrackedBlocks);
  }

  /** (block, rank) pairs of which it is known which they are. */
  get trackedBlocks(): number {
    return this.#chains.size;
  }

  /** Whole prompt blocks, ever, for which there was no room, and which counted by their number alone. */
  get untrackedBlocks(): number {
    return this.#untrackedBlocks;
  }

  /** A number for one more rank. Throws `PrefixIndexError('too_many_holders')` beyond 65,535. */
  addRank(): number {
    const rank = this.#index.addHolder();
    this.#loads[rank] = { blocks: 0, prefillingTokens: 0, requests: new UnorderedSet() };
    return rank;
  }

  /** All that is active there ends, and its number may be given to another. */
  dropRank(rank: number): void {
    const load = this.#loads[rank];
    if (load === undefined) return;
    for (const request of load.requests.snapshot()) request.release();
    this.#loads[rank] = undefined;
    this.#index.dropHolder(rank);
    // Only what the index could not note as gone is left there.
    this.#index.sweep(SWEEP_SEGMENTS);
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

  /** Whether a block is active on a rank. */
  has(rank: number, low: number, high: number): boolean {
    return this.#chains.find(rank, low, high) !== NONE;
  }

  /** How many leading blocks of a prompt are active already, by rank. Valid until the next call. */
  match(sequenceHashes: Uint8Array): Matches {
    return this.#index.find(sequenceHashes, 'device');
  }

  /** A request is active on a rank from now on. Without a prompt only what it generates has blocks. */
  add(rank: number, prompt: ActivePrompt | undefined): ActiveRequest {
    const load = this.#loads[rank];
    if (load === undefined) throw new RangeError(`there is no rank ${rank}, or it was dropped`);
    const before = this.#chains.size;
    const { last, trackedBlocks } = prompt === undefined ? NOTHING : this.#hold(rank, prompt);
    load.blocks += this.#chains.size - before;
    const request = new Request(this.#tokensPerBlock, trackedBlocks, prompt, load, () => {
      load.blocks -= this.#letGo(rank, last);
    });
    load.requests.add(request);
    return request;
  }

  /** Holds as many leading blocks as there is room for; the place of the last of them. */
  #hold(
    rank: number,
    { sequenceHashes, sharedBlocks }: ActivePrompt,
  ): { readonly last: number; readonly trackedBlocks: number } {
    const chains = this.#chains;
    const view = new DataView(sequenceHashes.buffer, sequenceHashes.byteOffset, sequenceHashes.length);
    const count = Math.floor(sequenceHashes.length / HASH_BYTES);
    let from = Math.min(sharedBlocks, count);
    let last = NONE;
    if (from > 0) {
      const at = HASH_BYTES * (from - 1);
      last = chains.find(rank, view.getUint32(at, true), view.getUint32(at + 4, true));
      // The index could not note that these blocks are gone: they are counted again.
      if (last === NONE) from = 0;
    }
    const to = this.#store(rank, sequenceHashes, from, from + Math.min(count - from, chains.room));
    chains.hold(last);
    for (let at = HASH_BYTES * from; at < HASH_BYTES * to; at += HASH_BYTES)
      last = chains.add(rank, view.getUint32(at, true), view.getUint32(at + 4, true), last);
    this.#untrackedBlocks += count - to;
    return { last, trackedBlocks: to };
  }

  /** Puts blocks into the index, all or, when it has no room, none; `to`, or `from`. */
  #store(rank: number, sequenceHashes: Uint8Array, from: number, to: number): number {
    if (from === to) return to;
    const added = sequenceHashes.subarray(HASH_BYTES * from, HASH_BYTES * to);
    try {
      this.#index.store(rank, 'device', added);
      return to;
    } catch (error) {
      if (!(error instanceof PrefixIndexError)) throw error;
      this.#unstore(rank, added);
      return from;
    }
  }

  #unstore(rank: number, sequenceHashes: Uint8Array): void {
    try {
      this.#index.remove(rank, 'device', sequenceHashes);
    } catch (error) {
      // No room even to note who is left: `#hold` sees it, and `dropRank` sweeps.
      if (!(error instanceof PrefixIndexError)) throw error;
    }
  }

  /** How many blocks are gone with the request that ended there. */
  #letGo(rank: number, last: number): number {
    this.#leavingMessage = 0;
    this.#chains.letGo(last, this.#leave);
    const words = this.#leavingMessage;
    if (words > 0) this.#unstore(rank, new Uint8Array(this.#leaving.buffer, 0, 4 * words));
    return words / 2;
  }

  readonly #leave = (lo: number, hi: number): void => {
    const at = this.#leavingMessage;
    if (at === this.#leaving.length) {
      const larger = new Uint32Array(2 * at);
      larger.set(this.#leaving);
      this.#leaving = larger;
    }
    this.#leaving[at] = lo;
    this.#leaving[at + 1] = hi;
    this.#leavingMessage = at + 2;
  };
}

const HASH_BYTES = 8;

const NOTHING = { last: NONE, trackedBlocks: 0 };

class Request implements ActiveRequest, UnorderedMember {
  place = -1;
  readonly #tokensPerBlock: number;
  readonly #trackedBlocks: number;
  readonly #promptTokens: number;
  #load: Load | undefined;
  readonly #letGo: () => void;
  /** Blocks that count for it alone. */
  #ownBlocks = 0;
  #prefillTokens: number;
  #outputTokens = 0;

  constructor(
    tokensPerBlock: number,
    trackedBlocks: number,
    prompt: ActivePrompt | undefined,
    load: Load,
    letGo: () => void,
  ) {
    this.#tokensPerBlock = tokensPerBlock;
    this.#trackedBlocks = trackedBlocks;
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
    this.prefillDone();
    this.forget();
    load.requests.delete(this);
    load.blocks -= this.#ownBlocks;
    this.#letGo();
  }

  /** It counts nowhere any more, because all that counted is gone. */
  forget(): void {
    this.#load = undefined;
  }

  #recount(load: Load): void {
    const blocks = Math.ceil((this.#promptTokens + this.#outputTokens) / this.#tokensPerBlock);
    const ownBlocks = Math.max(0, blocks - this.#trackedBlocks);
    load.blocks += ownBlocks - this.#ownBlocks;
    this.#ownBlocks = ownBlocks;
  }
}
