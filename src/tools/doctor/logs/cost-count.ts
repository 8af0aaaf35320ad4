import type { Origin } from '../sightings.js';
import { BoundedCounts } from './bounded-counts.js';
import type { CostTally } from './log-summary.js';

const MAX_WEIGHTS = 16;

/** What a router says that its candidates would have cost, counted over its lines. */
export class CostCount {
  readonly #first: Origin;
  readonly #weights = new BoundedCounts(MAX_WEIGHTS);
  #count = 0;
  #withoutCache = 0;
  #largestCachedBlocks = 0;

  constructor(first: Origin) {
    this.#first = first;
  }

  /** `overlapWeight` is as the line writes it. */
  add(cachedBlocks: number, overlapWeight: string | undefined): void {
    this.#count += 1;
    if (cachedBlocks === 0) this.#withoutCache += 1;
    this.#largestCachedBlocks = Math.max(this.#largestCachedBlocks, cachedBlocks);
    if (overlapWeight !== undefined) this.#weights.add(overlapWeight);
  }

  finish(): CostTally {
    return {
      count: this.#count,
      withoutCache: this.#withoutCache,
      largestCachedBlocks: this.#largestCachedBlocks,
      overlapWeights: this.#weights.counts,
      first: this.#first,
    };
  }
}
