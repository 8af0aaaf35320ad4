import type { JSX } from 'preact';
import { VIEW_LIMITS, type ViewBucket, type ViewDocument } from '../../core/view/view-document.js';
import { LOST_ADVICE } from '../model/advice.js';
import { duration, fullNumber, percent, shortNumber } from '../model/format.js';
import { joinBuckets, type RoutingSums, sumBuckets, timesOf } from '../model/routing-sums.js';
import { Chart } from './chart.js';
import { Decisions } from './decisions.js';
import { GroupChoice } from './group-choice.js';
import { Bar, Empty, Section, Table } from './parts.js';
import { place } from './state.js';

/** What was decided over the last minutes, and what came of it. */
export function RoutingView({ document }: { readonly document: ViewDocument }): JSX.Element {
  const group = place.value.parameters['group'] ?? '';
  const chosen = document.routing.filter((each) => group === '' || each.group === group);
  const bucketMs = chosen[0]?.bucketMs ?? VIEW_LIMITS.bucketMs;
  const buckets = joinBuckets(chosen);
  const decisions = document.decisions.filter((each) => group === '' || each.group === group);
  if (buckets.length === 0 && decisions.length === 0)
    return (
      <>
        <GroupChoice groups={document.routing.map((each) => each.group)} chosen={group} />
        <Empty>
          {document.process.routes
            ? 'No request was routed here in the last minutes.'
            : 'This process routes no requests. '}
          {document.process.notes.join(' ')}
        </Empty>
      </>
    );
  const sums = sumBuckets(buckets, bucketMs);
  const times = timesOf(buckets, bucketMs, document.atMs, document.process.startedAtMs);
  const at = new Map(buckets.map((bucket) => [bucket.atMs, bucket]));
  const line = (
    read: (bucket: ViewBucket) => number | undefined,
    otherwise: number | null,
  ): (number | null)[] =>
    times.map((time) => {
      const bucket = at.get(time);
      return bucket === undefined ? otherwise : (read(bucket) ?? otherwise);
    });
  const perSecond = bucketMs / 1_000;
  return (
    <>
      <GroupChoice groups={document.routing.map((each) => each.group)} chosen={group} />
      <Tiles sums={sums} />
      <div class="charts">
        <Section
          title="Cached prompt tokens"
          note="per second: held by the best worker, held by the chosen one, reported"
        >
          <Chart
            label="Cached prompt tokens per second"
            times={times}
            format={shortNumber}
            lines={[
              { label: 'best possible', color: 1, values: line((each) => each.bestTokens / perSecond, 0) },
              { label: 'chosen worker', color: 0, values: line((each) => each.chosenTokens / perSecond, 0) },
              {
                label: 'reported by engines',
                color: 2,
                values: line((each) => each.engineTokens / perSecond, 0),
              },
            ]}
          />
        </Section>
        <Section title="Decisions" note="per second">
          <Chart
            label="Decisions per second"
            times={times}
            format={shortNumber}
            lines={[
              { label: 'decisions', color: 0, values: line((each) => each.decisions / perSecond, 0) },
              { label: 'refused', color: 1, values: line((each) => each.refused / perSecond, 0) },
              { label: 'failed', color: 3, values: line((each) => failed(each) / perSecond, 0) },
            ]}
          />
        </Section>
        <Section title="Time to first token" note="first turns and follow-up turns">
          <Chart
            label="Time to first token"
            times={times}
            format={duration}
            lines={[
              { label: 'first p50', color: 0, values: line((each) => each.firstTurn?.p50Ms, null) },
              { label: 'first p90', color: 1, values: line((each) => each.firstTurn?.p90Ms, null) },
              { label: 'follow-up p50', color: 2, values: line((each) => each.followUp?.p50Ms, null) },
              { label: 'follow-up p90', color: 3, values: line((each) => each.followUp?.p90Ms, null) },
            ]}
          />
        </Section>
        <Lost sums={sums} />
      </div>
      <Section title="Last decisions" note={`${decisions.length}, newest first; open one for its candidates`}>
        <Decisions decisions={decisions} hasModels={document.models.length > 1} nowMs={document.atMs} />
      </Section>
    </>
  );
}

function failed({ failures }: ViewBucket): number {
  return Object.values(failures).reduce((sum, count) => sum + count, 0);
}

function Tiles({ sums }: { readonly sums: RoutingSums }): JSX.Element {
  const lost = sums.bestTokens - sums.chosenTokens;
  const failures = Object.entries(sums.failures);
  const failureCount = failures.reduce((sum, [, count]) => sum + count, 0);
  const minutes = Math.max(1, Math.round(sums.seconds / 60));
  return (
    <div class="tiles">
      <Tile
        name="Decisions"
        value={fullNumber(sums.decisions)}
        note={`${shortNumber(sums.decisions / Math.max(1, sums.seconds))} per second over ${minutes} min`}
      />
      <Tile
        name="Hit ratio"
        value={percent(sums.engineTokens, sums.promptTokens)}
        note={`of prompt tokens were cached, as engines reported; best possible ${percent(sums.bestTokens, sums.promptTokens)}`}
      />
      <Tile
        name="Of the best possible"
        value={percent(sums.chosenTokens, sums.bestTokens)}
        note={
          lost > 0
            ? `${shortNumber(lost)} tokens were held by another worker`
            : 'nothing was lost to the choice'
        }
      />
      <Tile
        name="First token, first turns"
        value={duration(sums.firstTurn?.p50Ms)}
        note={`median; p90 ${duration(sums.firstTurn?.p90Ms)}`}
      />
      <Tile
        name="First token, follow-ups"
        value={duration(sums.followUp?.p50Ms)}
        note={`median; p90 ${duration(sums.followUp?.p90Ms)}`}
      />
      <Tile
        name="Refused and failed"
        value={fullNumber(sums.refused + failureCount)}
        isBad={sums.refused + failureCount > 0}
        note={
          [
            ...(sums.refused > 0 ? [`${fullNumber(sums.refused)} found no worker`] : []),
            ...failures.map(([kind, count]) => `${fullNumber(count)} ${kind.replaceAll('_', ' ')}`),
          ].join(', ') || 'none'
        }
      />
    </div>
  );
}

function Tile({
  name,
  value,
  note,
  isBad = false,
}: {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly isBad?: boolean;
}): JSX.Element {
  return (
    <div class={`tile ${isBad ? 'warn' : ''}`}>
      <span class="name">{name}</span>
      <b>{value}</b>
      <span class="dim">{note}</span>
    </div>
  );
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
