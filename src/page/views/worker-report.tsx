import type { JSX } from 'preact';
import { workerName } from '../../core/text/worker-name.js';
import type { ViewWorker } from '../../core/view/view-document.js';
import { fabricsOf } from '../model/hosts.js';
import { enumWord, type ReportJson } from '../model/report.js';
import { HostCard } from './host-card.js';
import { Empty, Facts, Name, Section, Table, Tone } from './parts.js';

/** What `api/v1/view/workers/{id}` answers. */
export interface WorkerAnswer {
  readonly report?: ReportJson;
  /** kvaccord.v1.RankResults in JSON. */
  readonly results?: readonly RankResultsJson[];
}

interface CountsJson {
  readonly requests?: string;
  readonly predictedTokens?: string;
  readonly reportedTokens?: string;
  readonly overTokens?: string;
  readonly underTokens?: string;
  readonly contradictions?: string;
}

interface RankResultsJson {
  readonly dataParallelRank?: number;
  readonly reporting?: string;
  readonly total?: CountsJson;
  readonly window?: CountsJson;
  readonly doubted?: boolean;
  readonly doubtReason?: string;
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
  const { evidence = [], conflicts = [], probes = [], warnings = [], blockSizes = [], topology } = report;
  const [fabric] = fabricsOf([
    {
      id: worker.id,
      name: workerName(worker),
      role: worker.role ?? '',
      group: worker.group,
      tone: worker.tone,
      topology,
    },
  ]);
  const host = fabric?.hosts[0];
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="advice">
          <Tone tone="warn" text={warning} />
        </p>
      ))}
      {results.length === 0 ? null : <Results results={results} />}
      {conflicts.length === 0 ? null : (
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
      )}
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
      <div class="columns">
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
        <Section title="Capacity and parallelism">
          <Facts
            facts={[
              ['KV blocks', report.capacity?.totalKvBlocks ?? ''],
              ['KV cache tokens', report.capacity?.kvCacheSizeTokens ?? ''],
              ['running requests', report.capacity?.maxRunningRequests ?? ''],
              ['tiers', report.capacity?.kvTiers?.join(', ') ?? ''],
              ...Object.entries(report.parallelism ?? {}).map(
                ([name, value]) => [name.replace(/([A-Z])/g, ' $1').toLowerCase(), String(value)] as const,
              ),
              ['model', report.model?.root ?? ''],
              ['hash', report.contract?.hashAlgorithm ?? ''],
              ['sidecar', report.sidecarVersion ?? ''],
            ]}
          />
        </Section>
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
      </div>
      {host === undefined ? null : (
        <Section title="GPUs and links">
          <HostCard host={host} />
        </Section>
      )}
    </>
  );
}

function Results({ results }: { readonly results: readonly RankResultsJson[] }): JSX.Element {
  return (
    <Section title="Results by rank" note="cached tokens: predicted by the index, reported by the engine">
      <Table
        columns={['Rank', 'Reports counts', 'Requests', 'Predicted', 'Reported', 'Over', 'Under', 'Verdict']}
        numeric={[0, 2, 3, 4, 5, 6]}
        rows={results.map(({ dataParallelRank = 0, reporting, total, window, doubted, doubtReason }) => [
          String(dataParallelRank),
          enumWord(reporting, 'COUNT_REPORTING_'),
          total?.requests ?? '0',
          total?.predictedTokens ?? '0',
          total?.reportedTokens ?? '0',
          total?.overTokens ?? '0',
          total?.underTokens ?? '0',
          doubted === true ? (
            <Tone key="verdict" tone="warn" text={`doubted: ${doubtReason ?? ''}`} />
          ) : (
            <Tone
              key="verdict"
              tone="good"
              text={`${window?.contradictions ?? '0'} of the last ${window?.requests ?? '0'} contradict it`}
            />
          ),
        ])}
      />
    </Section>
  );
}
