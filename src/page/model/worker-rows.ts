import { workerName } from '../../core/text/worker-name.js';
import type { ViewWorker } from '../../core/view/view-document.js';

/** By what a table can be sorted. */
export type SortColumn =
  | 'urgency'
  | 'worker'
  | 'group'
  | 'tokensPerBlock'
  | 'cacheView'
  | 'engine'
  | 'role'
  | 'active'
  | 'rate'
  | 'errors'
  | 'node';

/** What a reader asked to see. */
export interface RowFilter {
  /** Words that all have to be found, in any order. */
  readonly text: string;
  /** Of one model; empty for all. */
  readonly group: string;
  /** Of one state, or `kept out`; empty for all. */
  readonly shown: string;
}

/** How rows stand. */
export interface RowOrder {
  readonly column: SortColumn;
  readonly isDescending: boolean;
}

/** Numbers that a table is sorted by. */
export interface RowNumbers {
  active(id: number): number;
  rate(id: number): number;
  errors(id: number): number;
}

/** The filter for workers that get no requests, or nothing but tries, although they should. */
export const KEPT_OUT = 'kept out';

/** Whether it gets less than all its requests although nobody asked it to leave. */
export function isKeptOut({ requests, shown }: ViewWorker): boolean {
  return (requests === 'no' || requests === 'tries') && shown !== 'draining';
}

/** The workers that a filter leaves, in order. */
export function rowsOf(
  workers: readonly ViewWorker[],
  filter: RowFilter,
  order: RowOrder,
  numbers: RowNumbers,
): ViewWorker[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = workers.filter(
    (worker) =>
      (filter.group === '' || worker.group === filter.group) &&
      (filter.shown === '' ||
        (filter.shown === KEPT_OUT ? isKeptOut(worker) : worker.shown === filter.shown)) &&
      (words.length === 0 || hasWords(worker, words)),
  );
  const compare = comparer(order.column, numbers);
  const sign = order.isDescending ? -1 : 1;
  return rows.sort((a, b) => sign * compare(a, b) || byUrgency(a, b));
}

/** How many workers are in each state, worst first. */
export function countsOf(
  workers: readonly ViewWorker[],
): readonly { readonly shown: string; readonly tone: ViewWorker['tone']; readonly count: number }[] {
  const counts = new Map<string, { tone: ViewWorker['tone']; rank: number; count: number }>();
  for (const { shown, tone, rank } of workers) {
    const known = counts.get(shown);
    if (known === undefined) counts.set(shown, { tone, rank, count: 1 });
    else {
      known.count += 1;
      known.rank = Math.min(known.rank, rank);
    }
  }
  return [...counts].map(([shown, each]) => ({ shown, ...each })).sort((a, b) => a.rank - b.rank);
}

/** States as they are counted, worst first; what is not known stands in the middle. */
const STATES = [
  'ejected',
  'dissenting',
  'incomplete',
  'lost',
  'discovered',
  'draining',
  'reported',
  'conforming',
  'verified',
];

/** Counts by state, worst first. */
export function worstFirst(
  counts: Readonly<Record<string, number>>,
): readonly { readonly shown: string; readonly count: number }[] {
  const rank = (shown: string): number => {
    const at = STATES.indexOf(shown);
    return at === -1 ? STATES.indexOf('draining') : at;
  };
  return Object.entries(counts)
    .map(([shown, count]) => ({ shown, count }))
    .sort((a, b) => rank(a.shown) - rank(b.shown));
}

function hasWords(worker: ViewWorker, words: readonly string[]): boolean {
  const { group, target, workerId, shown, why, engine, engineVersion, role, node, rack, zone, gpus } = worker;
  const text = [group, target, workerId, shown, why, engine, engineVersion, role, node, rack, zone, gpus]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

type Compare = (a: ViewWorker, b: ViewWorker) => number;

function comparer(column: SortColumn, { active, rate, errors }: RowNumbers): Compare {
  switch (column) {
    case 'urgency':
      return byUrgency;
    case 'worker':
      return byName;
    case 'tokensPerBlock':
      return (a, b) => (a.tokensPerBlock ?? 0) - (b.tokensPerBlock ?? 0);
    case 'active':
      return (a, b) => active(a.id) - active(b.id);
    case 'rate':
      return (a, b) => rate(a.id) - rate(b.id);
    case 'errors':
      return (a, b) => errors(a.id) - errors(b.id);
    default:
      return (a, b) => compareTexts(a[column] ?? '', b[column] ?? '');
  }
}

function byUrgency(a: ViewWorker, b: ViewWorker): number {
  return a.rank - b.rank || byName(a, b);
}

function byName(a: ViewWorker, b: ViewWorker): number {
  return compareTexts(workerName(a), workerName(b));
}

const TEXTS = new Intl.Collator('en', { numeric: true });

function compareTexts(a: string, b: string): number {
  return TEXTS.compare(a, b);
}
