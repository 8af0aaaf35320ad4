import type { JSX } from 'preact';
import { workerName } from '../../core/text/worker-name.js';
import { VIEW_LIMITS, type ViewDocument } from '../../core/view/view-document.js';
import { fullNumber, shortNumber } from '../model/format.js';
import { holdingOf } from '../model/loads.js';
import { placeHash } from '../model/place.js';
import { joinBuckets, timesOf } from '../model/routing-sums.js';
import { Chart } from './chart.js';
import { GroupChoice } from './group-choice.js';
import { Bar, Empty, Name, Section, Table } from './parts.js';
import { holdingsById, place } from './state.js';

const TIERS = [
  ['device', 'deviceBlocks'],
  ['host', 'hostBlocks'],
  ['disk', 'diskBlocks'],
  ['external', 'externalBlocks'],
] as const;

/** Workers in the table; the rest is summed below it. */
const MAX_ROWS = 200;

/** What the index knows of caches: by worker and tier, growth, churn. */
export function IndexView({ document }: { readonly document: ViewDocument }): JSX.Element {
  const group = place.value.parameters['group'] ?? '';
  const holdings = holdingsById.value;
  const rows = document.workers
    .filter((worker) => holdings.has(worker.id) && (group === '' || worker.group === group))
    .map((worker) => {
      const row = holdings.get(worker.id);
      const tiers = TIERS.map(([kind, column]) => ({ kind, value: holdingOf(row, column) }));
      return {
        worker,
        tiers,
        total: tiers.reduce((sum, { value }) => sum + value, 0),
        stored: holdingOf(row, 'stored'),
        removed: holdingOf(row, 'removed'),
      };
    })
    .sort((a, b) => b.total - a.total);
  const chosen = document.routing.filter((each) => group === '' || each.group === group);
  const bucketMs = chosen[0]?.bucketMs ?? VIEW_LIMITS.bucketMs;
  const buckets = joinBuckets(chosen);
  const times = timesOf(buckets, bucketMs, document.atMs, document.process.startedAtMs);
  const at = new Map(buckets.map((bucket) => [bucket.atMs, bucket]));
  const most = rows[0]?.total ?? 0;
  const shown = rows.slice(0, MAX_ROWS);
  const columns = TIERS.filter(([kind]) =>
    rows.some(({ tiers }) => (tiers.find((tier) => tier.kind === kind)?.value ?? 0) > 0),
  );
  return (
    <>
      <GroupChoice groups={document.models.map((model) => model.group)} chosen={group} />
      {buckets.length === 0 ? null : (
        <div class="charts">
          <Section title="Growth" note="different blocks in the index">
            <Chart
              label="Blocks in the index"
              times={times}
              format={shortNumber}
              lines={[
                {
                  label: 'blocks',
                  color: 0,
                  values: carried(times.map((time) => at.get(time)?.indexBlocks)),
                },
              ]}
            />
          </Section>
          <Section title="Churn" note="blocks per second">
            <Chart
              label="Blocks stored and removed per second"
              times={times}
              format={shortNumber}
              lines={[
                {
                  label: 'stored',
                  color: 0,
                  values: times.map((time) => (at.get(time)?.storedBlocks ?? 0) / (bucketMs / 1_000)),
                },
                {
                  label: 'removed',
                  color: 1,
                  values: times.map((time) => (at.get(time)?.removedBlocks ?? 0) / (bucketMs / 1_000)),
                },
              ]}
            />
          </Section>
        </div>
      )}
      <Section title="By worker and tier" note="blocks that each cache holds, as its KV events say">
        {rows.length === 0 ? (
          <Empty>
            No cache holds anything that is known here: either no KV events have come yet, or the index goes
            by none (--no-kv-events).
          </Empty>
        ) : (
          <>
            <ul class="legend">
              {columns.map(([kind]) => (
                <li key={kind}>
                  <svg class="key" viewBox="0 0 10 10" aria-hidden="true">
                    <rect class={`fill-${kind}`} width="10" height="10" />
                  </svg>
                  {kind}
                </li>
              ))}
            </ul>
            <Table
              columns={[
                'Worker',
                'Cache view',
                ...columns.map(([kind]) => kind),
                'Stored',
                'Removed',
                'Blocks by tier',
              ]}
              numeric={[...columns.map((_, place) => place + 2), columns.length + 2, columns.length + 3]}
              rows={shown.map(({ worker, tiers, stored, removed }) => [
                <a key="worker" href={placeHash('worker', { target: worker.target })}>
                  <Name text={workerName(worker)} />
                </a>,
                worker.cacheView ?? '–',
                ...columns.map(([kind]) => fullNumber(tiers.find((tier) => tier.kind === kind)?.value ?? 0)),
                shortNumber(stored),
                shortNumber(removed),
                <Bar key="bar" whole={most} parts={tiers} />,
              ])}
            />
            {rows.length > shown.length ? (
              <p class="dim">
                {fullNumber(rows.length - shown.length)} workers that hold less are not shown.
              </p>
            ) : null}
          </>
        )}
      </Section>
    </>
  );
}

/** A level holds until another one is known. */
function carried(values: readonly (number | undefined)[]): (number | null)[] {
  let last: number | null = null;
  return values.map((value) => {
    last = value ?? last;
    return last;
  });
}
