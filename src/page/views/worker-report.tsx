import type { JSX } from 'preact';
import { workerName } from '../../core/text/worker-name.js';
import type { ViewWorker } from '../../core/view/view-document.js';
import { fabricsOf } from '../model/hosts.js';
import { enumWord, type ReportJson } from '../model/report.js';
import { HostCard } from './host-card.js';
import { Empty, Facts, Name, Section, Table, Tone } from './parts.js';
import { RankResults, type RankResultsJson } from './rank-results.js';

/** What `api/v1/view/workers/{id}` answers. */
export interface WorkerAnswer {
  readonly report?: ReportJson;
  readonly results?: readonly RankResultsJson[];
}

/** Where every value of a worker comes from, and what it runs on. */
export function WorkerReport({
  answer: { report, results = [] },
  worker,
}: {
  readonly answer: WorkerAnswer;
  readonly worker: ViewWorker;
}): JSX.Element {
  if (report === undefined)
    return <Empty>It has no report: it has not answered yet, or it runs without a sidecar.</Empty>;
  return (
    <>
      {report.warnings?.map((warning) => (
        <p key={warning} class="advice">
          <Tone tone="warn" text={warning} />
        </p>
      ))}
      {results.length === 0 ? null : <RankResults results={results} />}
      <Conflicts report={report} />
      <Evidence report={report} />
      <div class="columns">
        <BlockSizes report={report} />
        <Capacity report={report} />
        <SourcesAsked report={report} />
      </div>
      <Hardware report={report} worker={worker} />
    </>
  );
}

interface ReportProps {
  readonly report: ReportJson;
}

function Conflicts({ report: { conflicts = [] } }: ReportProps): JSX.Element | null {
  if (conflicts.length === 0) return null;
  return (
    <Section title="Sources that differ" note="the better source counts">
      <Table
        columns={['Field', 'Used', 'From', 'Not used', 'From']}
        rows={conflicts.map((each) => [
          each.field,
          <Tone key="kept" tone="good" text={each.keptValue ?? ''} />,
          enumWord(each.keptSource, 'EVIDENCE_SOURCE_'),
          <Tone key="other" tone="warn" text={each.otherValue ?? ''} />,
          `${enumWord(each.otherSource, 'EVIDENCE_SOURCE_')} ${each.otherOrigin ?? ''}`,
        ])}
      />
    </Section>
  );
}

function Evidence({ report: { evidence = [] } }: ReportProps): JSX.Element {
  return (
    <Section title="Evidence" note="where each value was read, and what came back">
      <Table
        columns={['Field', 'Source', 'Asked', 'What came back']}
        rows={evidence.map(({ field, source, origin, raw }) => [
          <b key="field">{field}</b>,
          enumWord(source, 'EVIDENCE_SOURCE_'),
          <Name key="origin" text={origin ?? ''} />,
          <code key="raw">{raw}</code>,
        ])}
      />
    </Section>
  );
}

function BlockSizes({ report: { blockSizes = [] } }: ReportProps): JSX.Element {
  return (
    <Section title="Block sizes">
      <Table
        columns={['Kind', 'Tokens']}
        numeric={[1]}
        rows={blockSizes.map(({ kind, sizeTokens, groupIndex }) => [
          `${enumWord(kind, 'BLOCK_SIZE_KIND_')}${groupIndex === undefined ? '' : `, group ${groupIndex}`}`,
          String(sizeTokens ?? ''),
        ])}
      />
    </Section>
  );
}

function Capacity({ report }: ReportProps): JSX.Element {
  const { capacity, parallelism = {}, model, contract, sidecarVersion } = report;
  return (
    <Section title="Capacity and parallelism">
      <Facts
        facts={[
          ['KV blocks', capacity?.totalKvBlocks ?? ''],
          ['KV cache tokens', capacity?.kvCacheSizeTokens ?? ''],
          ['running requests', capacity?.maxRunningRequests ?? ''],
          ['tiers', capacity?.kvTiers?.join(', ') ?? ''],
          ...Object.entries(parallelism).map(
            ([name, value]) => [name.replace(/([A-Z])/g, ' $1').toLowerCase(), String(value)] as const,
          ),
          ['model', model?.root ?? ''],
          ['hash', contract?.hashAlgorithm ?? ''],
          ['sidecar', sidecarVersion ?? ''],
        ]}
      />
    </Section>
  );
}

function SourcesAsked({ report: { probes = [] } }: ReportProps): JSX.Element {
  return (
    <Section title="Sources asked">
      <Table
        columns={['Source', 'Answer']}
        rows={probes.map(({ probe, origin, answered, factCount = 0, error }) => [
          <span key="probe" title={origin}>
            {probe}
          </span>,
          answered === true ? (
            <Tone key="answer" tone="good" text={`answered, ${factCount} facts`} />
          ) : (
            <Tone key="answer" tone="plain" text={error ?? 'no answer'} />
          ),
        ])}
      />
    </Section>
  );
}

function Hardware({
  report: { topology },
  worker,
}: ReportProps & { readonly worker: ViewWorker }): JSX.Element | null {
  const { id, group, tone, role = '' } = worker;
  const [fabric] = fabricsOf([{ id, group, tone, role, name: workerName(worker), topology }]);
  const host = fabric?.hosts[0];
  if (host === undefined) return null;
  return (
    <Section title="GPUs and links">
      <HostCard host={host} />
    </Section>
  );
}
