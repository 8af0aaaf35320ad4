import { TIERS } from '../../core/blocks/tier.js';
import {
  HOLDING_COLUMNS,
  LOAD_COLUMNS,
  type ViewHoldingRow,
  type ViewLoadRow,
} from '../../core/view/view-document.js';
import type { GroupIndex } from '../indexer/groups/group-index.js';
import type { LeftOut } from '../router/choice/candidate-list.js';
import type { RankLoad } from '../router/choice/worker-selector.js';
import type { ResultBooks } from '../router/results/result-books.js';
import type { GroupTraffic } from '../router/traffic/worker-traffic.js';

/** One group whose requests are routed; `GroupRouter` is one. */
export interface RoutedGroup {
  readonly traffic: GroupTraffic;
  readonly books: ResultBooks;
  /** Its candidates; those that are left out get no requests although the agreement offers them. */
  readonly list: { readonly leftOut: ReadonlyMap<string, LeftOut> };
  loads(): readonly RankLoad[];
}

type IdOf = (target: string) => number | undefined;

/** Places of the first columns of what is reserved, of traffic, and of results; the others follow in the order of `LOAD_COLUMNS`. */
const LOADS_AT = LOAD_COLUMNS.indexOf('activeRequests');
const TRAFFIC_AT = LOAD_COLUMNS.indexOf('decisions');
const RESULTS_AT = LOAD_COLUMNS.indexOf('results');

/** The numbers of the workers of one group, by worker; those that have none are left out. */
export function loadRows(group: RoutedGroup, idOf: IdOf): ViewLoadRow[] {
  const { traffic, books } = group;
  const rows = new Map<string, number[]>();
  const rowOf = (target: string): number[] | undefined => {
    const known = rows.get(target);
    if (known !== undefined) return known;
    const id = idOf(target);
    if (id === undefined) return undefined;
    const row: number[] = new Array(LOAD_COLUMNS.length).fill(0);
    row[0] = id;
    rows.set(target, row);
    return row;
  };
  const add = (row: number[], at: number, numbers: readonly number[]): void => {
    for (const [place, number] of numbers.entries()) row[at + place] = (row[at + place] ?? 0) + number;
  };
  for (const { candidate, activeRequests, activeBlocks, prefillingTokens } of group.loads()) {
    const row = rowOf(candidate.target);
    if (row !== undefined) add(row, LOADS_AT, [activeRequests, activeBlocks, prefillingTokens]);
  }
  for (const [target, worker] of traffic.workers) {
    const row = rowOf(target);
    if (row === undefined) continue;
    let failed = 0;
    for (const times of worker.failures.values()) failed += times;
    add(row, TRAFFIC_AT, [
      worker.decisions,
      worker.firstTokens,
      Math.round(worker.firstTokenMs),
      worker.promptTokens,
      worker.outputTokens,
      failed,
      worker.ejections,
    ]);
  }
  for (const [target, total] of books.totals()) {
    const row = rowOf(target);
    if (row === undefined) continue;
    const { requests, predictedTokens, reportedTokens, overTokens, underTokens, contradictions } = total;
    add(row, RESULTS_AT, [
      requests,
      predictedTokens,
      reportedTokens,
      overTokens,
      underTokens,
      contradictions,
    ]);
  }
  return [...rows.values()].filter((row) => row.some((number, at) => at > 0 && number !== 0));
}

/** What the caches of the workers of one group hold, by worker; those that hold nothing are left out. */
export function holdingRows(index: GroupIndex, idOf: IdOf): ViewHoldingRow[] {
  const rows = new Map<string, number[]>();
  for (const { target, cacheGroup, blocks } of index.holdings()) {
    // Blocks of further KV cache groups are of other widths.
    if (cacheGroup !== undefined) continue;
    const id = idOf(target);
    if (id === undefined) continue;
    let row = rows.get(target);
    if (row === undefined) {
      const { stored = 0, removed = 0 } = index.churnOf(target) ?? {};
      row = [id, ...TIERS.map(() => 0), stored, removed];
      rows.set(target, row);
    }
    for (const [at, held] of blocks.entries()) row[at + 1] = (row[at + 1] ?? 0) + held;
  }
  return [...rows.values()].filter((row) => row.length === HOLDING_COLUMNS.length);
}

/** Rows as they were sent last, and which of them are others now. */
export class SentRows {
  #rows = new Map<number, readonly number[]>();

  /** Every row that was sent last. */
  get all(): readonly (readonly number[])[] {
    return [...this.#rows.values()];
  }

  /** Takes the rows as they are now. Returns those that differ; of one that is missing now, a row of zeros. */
  update(rows: readonly (readonly number[])[], gone: readonly number[]): readonly (readonly number[])[] {
    const before = this.#rows;
    for (const id of gone) before.delete(id);
    const now = new Map<number, readonly number[]>();
    const changed: (readonly number[])[] = [];
    for (const row of rows) {
      const id = row[0] as number;
      const known = before.get(id);
      if (known !== undefined && row.every((number, at) => number === known[at])) now.set(id, known);
      else {
        now.set(id, row);
        changed.push(row);
      }
    }
    for (const [id, row] of before) {
      if (now.has(id)) continue;
      if (row.some((number, at) => at > 0 && number !== 0)) changed.push([id, ...row.slice(1).fill(0)]);
    }
    this.#rows = now;
    return changed;
  }
}
