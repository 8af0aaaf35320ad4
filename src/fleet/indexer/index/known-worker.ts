import {
  CACHE_VIEWS,
  type CacheView,
  NOTHING_PUBLISHED,
  worseCacheView,
} from '../../../core/contract/wire/cache-view.js';
import { cacheViewOf, type Rank, type ReasonedCacheView } from './known-rank.js';

/** What the index knows of one worker. */
export interface KnownWorker {
  readonly target: string;
  /** Changes when the relay learns another name for the same engine start. */
  instanceId: string;
  readonly streamId: string;
  /** Why its stream began again, as its relay says; may be empty. */
  readonly startReason: string;
  /** The last change that was applied; undefined while the snapshot is under way. */
  sequence: number | undefined;
  readonly ranks: Map<number, Rank>;
  /** Blocks held, all ranks and tiers. */
  blocks: number;
  /** Blocks that were stored, and that were removed, since its stream began. */
  stored: number;
  removed: number;
  /** Why some of its events were not applied; empty when all was. */
  refusal: string;
}

/** Why nothing is known of a worker whose relay gives no reason itself. */
const NO_RANKS = 'it names no rank whose KV events are read';

/** How much is known of what a worker holds: as much as of its worst rank. */
export function cacheViewOfWorker(worker: KnownWorker | undefined): ReasonedCacheView {
  if (worker === undefined) return { level: 'none', reason: 'it has not reported yet what it holds' };
  if (worker.sequence === undefined) return { level: 'partial', reason: 'its snapshot is under way' };
  if (worker.ranks.size === 0) {
    const { startReason } = worker;
    return { level: 'none', reason: startReason === '' ? NO_RANKS : startReason };
  }
  const worst = worstOf(worker.ranks);
  if (worker.refusal === '' || worseCacheView(worst.level, 'partial') !== 'partial') return worst;
  return { level: 'partial', reason: worker.refusal };
}

/** How much is known of what one rank of a worker holds. */
export function cacheViewOfWorkerRank(worker: KnownWorker | undefined, rank: number): CacheView {
  if (worker === undefined) return 'none';
  if (worker.sequence === undefined) return 'partial';
  const known = worker.ranks.get(rank);
  const view = known === undefined ? 'none' : cacheViewOf(known).level;
  return worker.refusal === '' ? view : worseCacheView(view, 'partial');
}

function worstOf(ranks: ReadonlyMap<number, Rank>): ReasonedCacheView {
  let worst: ReasonedCacheView = { level: 'exact', reason: '' };
  for (const rank of ranks.values()) {
    const { level, reason } = cacheViewOf(rank);
    const isWorse = CACHE_VIEWS.indexOf(level) - CACHE_VIEWS.indexOf(worst.level);
    // Of two that are alike, the one with a fault is named, and not the one that is idle.
    if (isWorse < 0 || (isWorse === 0 && !worst.reason.includes(NOTHING_PUBLISHED))) continue;
    worst = { level, reason: ranks.size === 1 ? reason : `rank ${rank.rank}: ${reason}` };
  }
  return worst;
}
