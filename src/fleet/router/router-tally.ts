import type { RoutingMode } from '../../core/agreement/state/cache-knowledge-counts.js';
import { PairTally } from './pairs/pair-tally.js';
import { CacheHits, type LostReason } from './results/lost-hits.js';

/** What came of the requests of one group since it is there. Plain numbers, read when asked. */
export class RouterTally {
  predictedCachedTokens = 0;
  actualCachedTokens = 0;
  readonly hits: CacheHits;
  readonly pairs: PairTally = new PairTally();
  readonly #decisions = new Map<RoutingMode, number>();

  /** `onLost`: see `CacheHits`. */
  constructor(onLost?: (reason: LostReason, tokens: number) => void) {
    this.hits = new CacheHits(onLost);
  }

  countDecision(mode: RoutingMode): void {
    this.#decisions.set(mode, this.decisionsOf(mode) + 1);
  }

  decisionsOf(mode: RoutingMode): number {
    return this.#decisions.get(mode) ?? 0;
  }
}
