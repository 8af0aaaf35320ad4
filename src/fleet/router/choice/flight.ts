import { HASH_BYTES } from '../../../core/blocks/packed-hashes.js';
import type { ActiveBlocks, ActiveRequest } from './active-blocks.js';
import type { RoutedPrompt } from './survey.js';

/** Evicted blocks that are kept for one rank; beyond, all that was on its way there is compared with nothing. */
const MAX_EVICTED = 4_096;

/** Which blocks of prompts on their way were evicted from their ranks, in the order of time. */
export class Evictions {
  /** By rank: when each block was evicted last, by its hash. */
  readonly #byRank = new Map<number, Map<bigint, number>>();
  /** By rank: when all of its blocks went. */
  readonly #allGone = new Map<number, number>();
  #now = 0;

  /** A moment after all that is known so far. */
  get now(): number {
    return this.#now;
  }

  /** A block of a prompt on its way is gone from a rank. */
  add(rank: number, hash: bigint): void {
    this.#now += 1;
    const known = this.#byRank.get(rank) ?? new Map<bigint, number>();
    if (known.size >= MAX_EVICTED) {
      this.addAll(rank);
      return;
    }
    this.#byRank.set(rank, known.set(hash, this.#now));
  }

  /** All blocks are gone from a rank. */
  addAll(rank: number): void {
    this.#now += 1;
    this.#byRank.delete(rank);
    this.#allGone.set(rank, this.#now);
  }

  /** How many of the leading `count` blocks stand before the first that was evicted after `since`. */
  kept(rank: number, { sequenceHashes }: RoutedPrompt, count: number, since: number): number {
    if ((this.#allGone.get(rank) ?? 0) > since) return 0;
    const gone = this.#byRank.get(rank);
    if (gone === undefined) return count;
    const view = new DataView(sequenceHashes.buffer, sequenceHashes.byteOffset, sequenceHashes.length);
    for (let at = 0; at < count; at += 1)
      if ((gone.get(view.getBigUint64(HASH_BYTES * at, true)) ?? 0) > since) return at;
    return count;
  }

  /** Nothing is on its way there any more. */
  forget(rank: number): void {
    this.#byRank.delete(rank);
    this.#allGone.delete(rank);
  }

  /** Nothing is on its way anywhere. */
  clear(): void {
    this.#byRank.clear();
    this.#allGone.clear();
  }
}

/**
 * One prompt on its way to a rank: from its decision until the index must have
 * heard of it, its blocks are expected where it goes.
 */
export class Flight {
  readonly #prompt: RoutedPrompt;
  readonly #rank: number;
  readonly #inFlight: ActiveBlocks;
  readonly #evictions: Evictions;
  readonly #since: number;
  #hold: ActiveRequest | undefined;
  #keptBlocks: number | undefined;

  constructor(
    { prompt, rank }: { readonly prompt: RoutedPrompt; readonly rank: number },
    modules: { readonly inFlight: ActiveBlocks; readonly evictions: Evictions; readonly hold: ActiveRequest },
  ) {
    const { inFlight, evictions, hold } = modules;
    this.#prompt = copyOf(prompt);
    this.#rank = rank;
    this.#inFlight = inFlight;
    this.#evictions = evictions;
    this.#since = evictions.now;
    this.#hold = hold;
  }

  get #blocks(): number {
    return this.#prompt.sequenceHashes.length / HASH_BYTES;
  }

  /** The prompt, which outlives the call that it came with. */
  get prompt(): RoutedPrompt {
    return this.#prompt;
  }

  /** Leading blocks before the first that was evicted since the decision. */
  get keptBlocks(): number {
    return this.#keptBlocks ?? this.#evictions.kept(this.#rank, this.#prompt, this.#blocks, this.#since);
  }

  /** Whether any block of it was evicted since the decision. */
  get wasEvicted(): boolean {
    return this.keptBlocks < this.#blocks;
  }

  /** Its blocks are expected there no longer; may be called again. */
  end(): void {
    if (this.#hold === undefined) return;
    this.#keptBlocks = this.keptBlocks;
    this.#hold.release();
    this.#hold = undefined;
    if (this.#inFlight.requestsOn(this.#rank) === 0) this.#evictions.forget(this.#rank);
  }
}

function copyOf(prompt: RoutedPrompt): RoutedPrompt {
  const { sequenceHashes, otherWidths } = prompt;
  return {
    ...prompt,
    sequenceHashes: sequenceHashes.slice(),
    ...(otherWidths === undefined
      ? {}
      : { otherWidths: new Map([...otherWidths].map(([width, hashes]) => [width, hashes.slice()])) }),
  };
}
