import type { ViewHoldingRow, ViewWorker } from '../../core/view/view-document.js';
import { type HoldingColumn, holdingOf } from './loads.js';

/** Where a block lies: the accelerator's own memory, the host's, a disk, shared or remote storage. */
export type Tier = 'device' | 'host' | 'disk' | 'external';

/** The nearest first, each with the column of its blocks. */
const TIERS: readonly (readonly [Tier, HoldingColumn])[] = [
  ['device', 'deviceBlocks'],
  ['host', 'hostBlocks'],
  ['disk', 'diskBlocks'],
  ['external', 'externalBlocks'],
];

/** Blocks of one tier. */
export interface TierBlocks {
  readonly kind: Tier;
  readonly value: number;
}

/** Blocks that the cache of one worker holds, as its KV events say. */
export interface CacheRow {
  readonly worker: ViewWorker;
  /** One for each tier, also for those that hold nothing. */
  readonly tiers: readonly TierBlocks[];
  /** Over all tiers. */
  readonly total: number;
  /** Blocks that have come and gone since the epoch began. */
  readonly stored: number;
  readonly removed: number;
}

/** The workers of which is known what they hold, those that hold most first. */
export function cacheRowsOf(
  workers: readonly ViewWorker[],
  holdings: ReadonlyMap<number, ViewHoldingRow>,
): CacheRow[] {
  return workers
    .flatMap((worker) => {
      const row = holdings.get(worker.id);
      return row === undefined ? [] : [cacheRowOf(worker, row)];
    })
    .sort((a, b) => b.total - a.total);
}

function cacheRowOf(worker: ViewWorker, row: ViewHoldingRow): CacheRow {
  const tiers = TIERS.map(([kind, column]) => ({ kind, value: holdingOf(row, column) }));
  return {
    worker,
    tiers,
    total: tiers.reduce((sum, { value }) => sum + value, 0),
    stored: holdingOf(row, 'stored'),
    removed: holdingOf(row, 'removed'),
  };
}

/** Blocks of one tier of a worker. */
export function blocksIn(tier: Tier, { tiers }: CacheRow): number {
  return tiers.find(({ kind }) => kind === tier)?.value ?? 0;
}

/** The tiers that hold a block of any worker. */
export function tiersInUse(rows: readonly CacheRow[]): Tier[] {
  return TIERS.map(([kind]) => kind).filter((kind) => rows.some((row) => blocksIn(kind, row) > 0));
}
