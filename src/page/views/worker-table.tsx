import type { JSX, VNode } from 'preact';
import type { ViewWorker } from '../../core/view/view-document.js';
import { fullNumber, percent, shortNumber } from '../model/format.js';
import { loadOf } from '../model/loads.js';
import type { RowOrder, SortColumn } from '../model/worker-rows.js';
import { Name, Spark, Tone } from './parts.js';
import { go, history, loadsById } from './state.js';
import { useNarrow } from './use-narrow.js';
import { VirtualRows } from './virtual-rows.js';

interface Column {
  readonly title: string;
  readonly sort: SortColumn | undefined;
  /** Shown from this width of the table on: `always`, `medium`, `wide`. */
  readonly from: 'always' | 'medium' | 'wide';
  readonly isNumber?: true;
  cell(worker: ViewWorker): VNode | string;
}

const COLUMNS: readonly Column[] = [
  {
    title: 'State',
    sort: 'urgency',
    from: 'always',
    cell: ({ tone, shown }) => <Tone tone={tone} text={shown} />,
  },
  {
    title: 'Worker',
    sort: 'worker',
    from: 'always',
    cell: ({ workerId, target }) => (
      <>
        <Name text={workerId === '' ? target : workerId} />
        {workerId === '' || workerId === target ? null : <bdi class="dim"> {target}</bdi>}
      </>
    ),
  },
  { title: 'Model', sort: 'group', from: 'wide', cell: ({ group }) => <Name text={group} /> },
  { title: 'Requests', sort: undefined, from: 'medium', cell: ({ requests }) => requests },
  {
    title: 'Block',
    sort: 'tokensPerBlock',
    from: 'medium',
    isNumber: true,
    cell: ({ tokensPerBlock }) => (tokensPerBlock === undefined ? '–' : String(tokensPerBlock)),
  },
  { title: 'Cache view', sort: 'cacheView', from: 'medium', cell: ({ cacheView }) => cacheView ?? '–' },
  {
    title: 'Engine',
    sort: 'engine',
    from: 'wide',
    cell: ({ engine, engineVersion }) => (
      <Name text={engine === undefined ? '–' : `${engine} ${engineVersion ?? ''}`} />
    ),
  },
  { title: 'Role', sort: 'role', from: 'wide', cell: ({ role }) => role ?? '–' },
  {
    title: 'Active',
    sort: 'active',
    from: 'medium',
    isNumber: true,
    cell: ({ id }) => fullNumber(loadOf(loadsById.value.get(id), 'activeRequests')),
  },
  {
    title: 'Requests/s',
    sort: 'rate',
    from: 'medium',
    isNumber: true,
    cell: ({ id }) => (
      <>
        <Spark values={history.curveOf(id, 'decisions')} />
        <span class="rate">{rateText(id)}</span>
      </>
    ),
  },
  {
    title: 'Cached',
    sort: undefined,
    from: 'wide',
    isNumber: true,
    cell: ({ id }) => {
      const row = loadsById.value.get(id);
      return percent(loadOf(row, 'reportedTokens'), loadOf(row, 'promptTokens'));
    },
  },
  {
    title: 'Errors',
    sort: 'errors',
    from: 'medium',
    isNumber: true,
    cell: ({ id }) => fullNumber(loadOf(loadsById.value.get(id), 'failedRequests')),
  },
  { title: 'Node', sort: 'node', from: 'wide', cell: ({ node }) => <Name text={node ?? '–'} /> },
];

function rateText(id: number): string {
  const rates = history.ratesOf(id);
  return rates === undefined ? '–' : shortNumber(rates.requests);
}

const LINE = 32;
const WHY_LINE = 17;
/** Characters that fit on one line of a usual window. */
const LONG_WHY = 130;
/** Rows with a reason up to which a long one has two lines. */
const ROOMY = 6;
const NARROW_LINE = 58;
const NARROW_WHY_LINE = 42;

/** All workers that are left by the filter; only those in sight are drawn. */
export function WorkerTable({
  rows,
  order,
  onOrder,
  hasModels,
}: {
  readonly rows: readonly ViewWorker[];
  readonly order: RowOrder;
  readonly onOrder: (order: RowOrder) => void;
  /** Whether there is more than one model to tell apart. */
  readonly hasModels: boolean;
}): JSX.Element {
  const isNarrow = useNarrow();
  const columns = COLUMNS.filter(({ title }) => hasModels || title !== 'Model');
  // A few reasons have room for all that they say; of many, all are to be in sight.
  const isRoomy = rows.filter(({ why }) => why !== '').length <= ROOMY;
  const heightOf = ({ why }: ViewWorker): number => {
    if (isNarrow) return NARROW_LINE + (why === '' ? 0 : NARROW_WHY_LINE);
    return LINE + (why === '' ? 0 : isRoomy && why.length > LONG_WHY ? 2 * WHY_LINE : WHY_LINE);
  };
  return (
    <div
      class={`workers ${hasModels ? 'with-models' : ''} ${isRoomy ? 'roomy' : ''}`}
      role="table"
      aria-label="Workers"
      aria-rowcount={rows.length + 1}
    >
      <div class="row head" role="row" aria-rowindex={1}>
        {columns.map((column) => (
          <ColumnHead key={column.title} column={column} order={order} onOrder={onOrder} />
        ))}
      </div>
      <VirtualRows
        rows={rows}
        label="Workers"
        keyOf={({ id }) => id}
        heightOf={heightOf}
        onOpen={({ target }) => go('worker', { target })}
        render={(worker) => (
          <>
            {columns.map((column) => (
              <span
                key={column.title}
                role="cell"
                data-title={column.title}
                class={`cell ${column.from} ${column.isNumber === true ? 'number' : ''}`}
              >
                {column.cell(worker)}
              </span>
            ))}
            {worker.why === '' ? null : (
              <span role="cell" class="why" title={worker.why}>
                {worker.why}
              </span>
            )}
          </>
        )}
      />
    </div>
  );
}

function ColumnHead({
  column: { title, sort, from, isNumber },
  order,
  onOrder,
}: {
  readonly column: Column;
  readonly order: RowOrder;
  readonly onOrder: (order: RowOrder) => void;
}): JSX.Element {
  const isSorted = sort !== undefined && order.column === sort;
  return (
    <span
      role="columnheader"
      class={`cell ${from} ${isNumber === true ? 'number' : ''}`}
      aria-sort={isSorted ? (order.isDescending ? 'descending' : 'ascending') : undefined}
    >
      {sort === undefined ? (
        title
      ) : (
        <button
          type="button"
          onClick={() =>
            // Numbers are looked at for the largest first.
            onOrder({ column: sort, isDescending: isSorted ? !order.isDescending : isNumber === true })
          }
        >
          {title}
          <span aria-hidden="true">{isSorted ? (order.isDescending ? ' ↓' : ' ↑') : ''}</span>
        </button>
      )}
    </span>
  );
}
