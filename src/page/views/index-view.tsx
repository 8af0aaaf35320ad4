import type { JSX } from 'preact';
import { workerName } from '../../core/text/worker-name.js';
import type { ViewDocument } from '../../core/view/view-document.js';
import { blocksIn, type CacheRow, cacheRowsOf, type Tier, tiersInUse } from '../model/cache-rows.js';
import { fullNumber, shortNumber } from '../model/format.js';
import { placeHash } from '../model/place.js';
import { type RoutingSeries, routingSeriesOf } from '../model/routing-series.js';
import { Chart } from './chart.js';
import { GroupChoice } from './group-choice.js';
import { Bar, Empty, Name, Section, Table } from './parts.js';
import { holdingsById, place } from './state.js';

/** Workers in the table; the rest is counted below it. */
const MAX_ROWS = 200;

/** What the index knows of caches: by worker and tier, growth, churn. */
export function IndexView({ document }: { readonly document: ViewDocument }): JSX.Element {
  const group = place.value.parameters['group'] ?? '';
  const series = routingSeriesOf(document, group);
  const workers = document.workers.filter((worker) => group === '' || worker.group === group);
  return (
    <>
      <GroupChoice groups={document.models.map((model) => model.group)} chosen={group} />
      {series.buckets.length === 0 ? null : (
        <div class="charts">
          <Growth series={series} />
          <Churn series={series} />
        </div>
      )}
      <Section title="By worker and tier" note="blocks that each cache holds, as its KV events say">
        <CacheTable rows={cacheRowsOf(workers, holdingsById.value)} />
      </Section>
    </>
  );
}

interface SeriesProps {
  readonly series: RoutingSeries;
}

function Growth({ series }: SeriesProps): JSX.Element {
  const blocks = carried(series.curve((bucket) => bucket.indexBlocks, null));
  return (
    <Section title="Growth" note="different blocks in the index">
      <Chart
        label="Blocks in the index"
        times={series.times}
        format={shortNumber}
        lines={[{ label: 'blocks', color: 0, values: blocks }]}
      />
    </Section>
  );
}

/** A level holds until another one is known. */
function carried(values: readonly (number | null)[]): (number | null)[] {
  let last: number | null = null;
  return values.map((value) => {
    last = value ?? last;
    return last;
  });
}

function Churn({ series }: SeriesProps): JSX.Element {
  return (
    <Section title="Churn" note="blocks per second">
      <Chart
        label="Blocks stored and removed per second"
        times={series.times}
        format={shortNumber}
        lines={[
          { label: 'stored', color: 0, values: series.ratePerSecond((bucket) => bucket.storedBlocks) },
          { label: 'removed', color: 1, values: series.ratePerSecond((bucket) => bucket.removedBlocks) },
        ]}
      />
    </Section>
  );
}

function CacheTable({ rows }: { readonly rows: readonly CacheRow[] }): JSX.Element {
  if (rows.length === 0)
    return (
      <Empty>
        No cache holds anything that is known here: either no KV events have come yet, or the index goes by
        none (--no-kv-events).
      </Empty>
    );
  const tiers = tiersInUse(rows);
  const most = rows[0]?.total ?? 0;
  const shown = rows.slice(0, MAX_ROWS);
  return (
    <>
      <TierLegend tiers={tiers} />
      <Table
        columns={['Worker', 'Cache view', ...tiers, 'Stored', 'Removed', 'Blocks by tier']}
        numeric={Array.from({ length: tiers.length + 2 }, (_, at) => at + 2)}
        rows={shown.map((row) => [
          <a key="worker" href={placeHash('worker', { target: row.worker.target })}>
            <Name text={workerName(row.worker)} />
          </a>,
          row.worker.cacheView ?? '–',
          ...tiers.map((tier) => fullNumber(blocksIn(tier, row))),
          shortNumber(row.stored),
          shortNumber(row.removed),
          <Bar key="bar" whole={most} parts={row.tiers} />,
        ])}
      />
      {rows.length > shown.length ? (
        <p class="dim">{fullNumber(rows.length - shown.length)} workers that hold less are not shown.</p>
      ) : null}
    </>
  );
}

function TierLegend({ tiers }: { readonly tiers: readonly Tier[] }): JSX.Element {
  return (
    <ul class="legend">
      {tiers.map((tier) => (
        <li key={tier}>
          <svg class="key" viewBox="0 0 10 10" aria-hidden="true">
            <rect class={`fill-${tier}`} width="10" height="10" />
          </svg>
          {tier}
        </li>
      ))}
    </ul>
  );
}
