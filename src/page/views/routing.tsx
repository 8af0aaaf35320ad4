import type { JSX } from 'preact';
import type { ViewBucket, ViewDocument } from '../../core/view/view-document.js';
import { LOST_ADVICE } from '../model/advice.js';
import { duration, fullNumber, shortNumber } from '../model/format.js';
import { type RoutingSeries, routingSeriesOf } from '../model/routing-series.js';
import { type RoutingSums, sumBuckets } from '../model/routing-sums.js';
import { Chart } from './chart.js';
import { Decisions } from './decisions.js';
import { GroupChoice } from './group-choice.js';
import { Bar, Empty, Section, Table } from './parts.js';
import { RoutingTiles } from './routing-tiles.js';
import { place } from './state.js';

/** What was decided over the last minutes, and what came of it. */
export function RoutingView({ document }: { readonly document: ViewDocument }): JSX.Element {
  const group = place.value.parameters['group'] ?? '';
  const series = routingSeriesOf(document, group);
  const decisions = document.decisions.filter((each) => group === '' || each.group === group);
  const choice = <GroupChoice groups={document.routing.map((each) => each.group)} chosen={group} />;
  if (series.buckets.length === 0 && decisions.length === 0)
    return (
      <>
        {choice}
        <NothingRouted document={document} />
      </>
    );
  const sums = sumBuckets(series.buckets, series.bucketMs);
  return (
    <>
      {choice}
      <RoutingTiles sums={sums} />
      <div class="charts">
        <CachedTokens series={series} />
        <DecisionRates series={series} />
        <FirstTokens series={series} />
        <Lost sums={sums} />
      </div>
      <Section title="Last decisions" note={`${decisions.length}, newest first; open one for its candidates`}>
        <Decisions decisions={decisions} hasModels={document.models.length > 1} nowMs={document.atMs} />
      </Section>
    </>
  );
}

function NothingRouted({ document }: { readonly document: ViewDocument }): JSX.Element {
  const { routes, notes } = document.process;
  return (
    <Empty>
      {routes ? 'No request was routed here in the last minutes.' : 'This process routes no requests. '}
      {notes.join(' ')}
    </Empty>
  );
}

interface SeriesProps {
  readonly series: RoutingSeries;
}

function CachedTokens({ series: { times, ratePerSecond } }: SeriesProps): JSX.Element {
  return (
    <Section
      title="Cached prompt tokens"
      note="per second: held by the best worker, held by the chosen one, reported"
    >
      <Chart
        label="Cached prompt tokens per second"
        times={times}
        format={shortNumber}
        lines={[
          { label: 'best possible', color: 1, values: ratePerSecond((each) => each.bestTokens) },
          { label: 'chosen worker', color: 0, values: ratePerSecond((each) => each.chosenTokens) },
          { label: 'reported by engines', color: 2, values: ratePerSecond((each) => each.engineTokens) },
        ]}
      />
    </Section>
  );
}

function DecisionRates({ series: { times, ratePerSecond } }: SeriesProps): JSX.Element {
  return (
    <Section title="Decisions" note="per second">
      <Chart
        label="Decisions per second"
        times={times}
        format={shortNumber}
        lines={[
          { label: 'decisions', color: 0, values: ratePerSecond((each) => each.decisions) },
          { label: 'refused', color: 1, values: ratePerSecond((each) => each.refused) },
          { label: 'failed', color: 3, values: ratePerSecond(failed) },
        ]}
      />
    </Section>
  );
}

function FirstTokens({ series: { times, curve } }: SeriesProps): JSX.Element {
  return (
    <Section title="Time to first token" note="first turns and follow-up turns">
      <Chart
        label="Time to first token"
        times={times}
        format={duration}
        lines={[
          { label: 'first p50', color: 0, values: curve((each) => each.firstTurn?.p50Ms, null) },
          { label: 'first p90', color: 1, values: curve((each) => each.firstTurn?.p90Ms, null) },
          { label: 'follow-up p50', color: 2, values: curve((each) => each.followUp?.p50Ms, null) },
          { label: 'follow-up p90', color: 3, values: curve((each) => each.followUp?.p90Ms, null) },
        ]}
      />
    </Section>
  );
}

function failed({ failures }: ViewBucket): number {
  return Object.values(failures).reduce((sum, count) => sum + count, 0);
}

function Lost({ sums }: { readonly sums: RoutingSums }): JSX.Element {
  const most = sums.lost[0]?.tokens ?? 0;
  return (
    <Section title="Lost hits by reason" note="cached tokens that were not used">
      {sums.lost.length === 0 ? (
        <Empty>No hit was lost.</Empty>
      ) : (
        <Table
          columns={['Reason', 'Tokens', 'Requests', '', 'What to do']}
          numeric={[1, 2]}
          rows={sums.lost.map(({ reason, requests, tokens }) => [
            <b key="reason">{reason.replaceAll('_', ' ')}</b>,
            shortNumber(tokens),
            fullNumber(requests),
            <Bar key="bar" whole={most} parts={[{ kind: 'lost', value: tokens }]} />,
            LOST_ADVICE[reason] ?? '',
          ])}
        />
      )}
    </Section>
  );
}
