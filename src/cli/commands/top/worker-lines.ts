import { onOneLine } from '../../../core/text/printable.js';
import { cutToWidth, textWidth } from '../../../core/text/text-width.js';
import { workerName } from '../../../core/text/worker-name.js';
import type { ViewDocument, ViewWorker } from '../../../core/view/view-document.js';
import { shortDuration, shortNumber } from './format-number.js';
import type { Rates, WorkerNumbers } from './rates.js';
import type { Sort } from './settings.js';
import { sparkline } from './sparkline.js';
import { type Line, wrapped } from './top-line.js';

/** Bars of one worker. */
const BARS = 12;

/** Widest name; the rest shows as an ellipsis. */
const MAX_NAME_COLUMNS = 36;
const MIN_NAME_COLUMNS = 16;

const GAP = '  ';
const INDENT = '    ';

interface Row {
  readonly worker: ViewWorker;
  readonly numbers: WorkerNumbers;
  readonly blocks: number;
}

interface Column {
  readonly title: string;
  readonly isNumber: boolean;
  cellOf(row: Row, isPlain: boolean): string;
}

const column = (title: string, isNumber: boolean, cellOf: Column['cellOf']): Column => ({
  title,
  isNumber,
  cellOf,
});

/** In their order on the screen; the name stands before them. */
const COLUMNS: readonly Column[] = [
  column('STATE', false, ({ worker }) => worker.shown),
  column('REQUESTS', false, ({ worker }) => worker.requests),
  column('ACTIVE', true, ({ numbers }) => shortNumber(numbers.activeRequests)),
  column('REQ/S', true, ({ numbers }) => shortNumber(numbers.requestsPerSecond)),
  column('TOK/S', true, ({ numbers }) => shortNumber(numbers.tokensPerSecond)),
  column('TTFT', true, ({ numbers }) => shortDuration(numbers.firstTokenMs)),
  column('ERRORS', true, ({ numbers }) => shortNumber(numbers.failedRequests)),
  column('BLOCKS', true, ({ blocks }) => shortNumber(blocks)),
  column('CACHE VIEW', false, ({ worker }) => worker.cacheView ?? '-'),
  column('ROLE', false, ({ worker }) => worker.role ?? '-'),
  column('NODE', false, ({ worker }) => worker.node ?? '-'),
  column('ENGINE', false, ({ worker }) => `${worker.engine ?? '-'} ${worker.engineVersion ?? ''}`.trim()),
  column('LOAD', false, ({ numbers }, isPlain) => sparkline(numbers.bars, BARS, isPlain)),
];

/** Left out where they do not fit, the first one first. */
const SPARE: readonly string[] = [
  'ENGINE',
  'NODE',
  'ROLE',
  'CACHE VIEW',
  'REQUESTS',
  'BLOCKS',
  'LOAD',
  'TTFT',
  'TOK/S',
  'ACTIVE',
];

export interface WorkerLinesOptions {
  readonly columns: number;
  readonly sort: Sort;
  readonly isReversed: boolean;
  /** Lower case; empty takes all. */
  readonly filter: string;
  readonly group: string | undefined;
  readonly isPlain: boolean;
  readonly nowMs: number;
}

/** A head, a line for each worker, and below those with a fault why. */
export function workerLines(
  document: ViewDocument,
  rates: Rates,
  options: WorkerLinesOptions,
): { readonly head: Line; readonly lines: readonly Line[]; readonly count: number } {
  const { columns, isPlain, nowMs, group, filter } = options;
  const blocks = new Map(
    document.holdings.map(([id = -1, device = 0, host = 0, disk = 0, external = 0]) => [
      id,
      device + host + disk + external,
    ]),
  );
  const rows = document.workers
    .filter((worker) => group === undefined || worker.group === group)
    .filter((worker) => filter === '' || textOf(worker).includes(filter))
    .map((worker) => ({
      worker,
      numbers: rates.of(worker.id, nowMs),
      blocks: blocks.get(worker.id) ?? 0,
    }))
    .sort(orderOf(options));
  const shown = [...COLUMNS];
  const cells = new Map(COLUMNS.map((one) => [one, rows.map((row) => onOneLine(one.cellOf(row, isPlain)))]));
  const widths = new Map(
    COLUMNS.map((one) => [
      one,
      (cells.get(one) ?? []).reduce((most, cell) => Math.max(most, textWidth(cell)), textWidth(one.title)),
    ]),
  );
  const names = rows.map(({ worker }) => onOneLine(workerName(worker)));
  const widest = Math.min(
    MAX_NAME_COLUMNS,
    Math.max(MIN_NAME_COLUMNS, ...names.slice(0, 5_000).map((name) => textWidth(name))),
  );
  const others = (): number => shown.reduce((sum, one) => sum + GAP.length + (widths.get(one) ?? 0), 0);
  for (const title of SPARE) {
    if (others() + widest <= columns) break;
    const at = shown.findIndex((one) => one.title === title);
    if (at >= 0) shown.splice(at, 1);
  }
  const nameColumns = Math.max(MIN_NAME_COLUMNS, Math.min(widest, columns - others()));
  const lineOf = (name: string, cellOf: (one: Column) => string): string =>
    [
      padded(name, nameColumns, false),
      ...shown.map((one) => padded(cellOf(one), widths.get(one) ?? 0, one.isNumber)),
    ].join(GAP);
  return {
    head: { text: lineOf('WORKER', ({ title }) => title), tone: 'title' },
    lines: rows.flatMap(({ worker }, at) => {
      const line: Line = {
        text: lineOf(names[at] ?? '', (one) => cells.get(one)?.[at] ?? ''),
        tone: worker.tone === 'good' ? 'plain' : worker.tone,
      };
      const isFault = worker.why !== '' && worker.requests !== 'yes';
      return isFault
        ? [line, ...wrapped({ text: `${INDENT}${onOneLine(worker.why)}`, tone: worker.tone }, columns)]
        : [line];
    }),
    count: rows.length,
  };
}

function padded(text: string, width: number, isNumber: boolean): string {
  const cut = textWidth(text) <= width ? text : `${cutToWidth(text, width - 1)}…`;
  const gap = ' '.repeat(Math.max(0, width - textWidth(cut)));
  return isNumber ? gap + cut : cut + gap;
}

/** Where a filter is looked for. */
function textOf(worker: ViewWorker): string {
  const { workerId, target, shown, role, engine, node, rack, group, cacheView, requests } = worker;
  return [workerId, target, shown, role, engine, node, rack, group, cacheView, requests]
    .join('\n')
    .toLowerCase();
}

function orderOf({ sort, isReversed }: WorkerLinesOptions): (a: Row, b: Row) => number {
  const byName = (a: Row, b: Row): number => {
    const [one, other] = [workerName(a.worker), workerName(b.worker)];
    return one < other ? -1 : one > other ? 1 : 0;
  };
  const most =
    (read: (row: Row) => number) =>
    (a: Row, b: Row): number =>
      read(b) - read(a);
  const orders: Readonly<Record<Sort, (a: Row, b: Row) => number>> = {
    state: (a, b) => a.worker.rank - b.worker.rank,
    name: byName,
    requests: most(({ numbers }) => numbers.requestsPerSecond || numbers.decisions / 1e12),
    load: most(({ numbers }) => numbers.activeRequests),
    tokens: most(({ numbers }) => numbers.tokensPerSecond),
    ttft: most(({ numbers }) => numbers.firstTokenMs ?? -1),
    errors: most(({ numbers }) => numbers.failedRequests),
    blocks: most(({ blocks }) => blocks),
  };
  const order = orders[sort];
  const sign = isReversed ? -1 : 1;
  return (a, b) => sign * order(a, b) || byName(a, b);
}
