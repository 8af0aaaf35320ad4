import type { JSX } from 'preact';
import { enumWord } from '../model/report.js';
import { Section, Table, Tone } from './parts.js';

interface CountsJson {
  readonly requests?: string;
  readonly predictedTokens?: string;
  readonly reportedTokens?: string;
  readonly overTokens?: string;
  readonly underTokens?: string;
  readonly contradictions?: string;
}

/** kvaccord.v1.RankResults in JSON. */
export interface RankResultsJson {
  readonly dataParallelRank?: number;
  readonly reporting?: string;
  readonly total?: CountsJson;
  readonly window?: CountsJson;
  readonly doubted?: boolean;
  readonly doubtReason?: string;
}

/** Cached tokens of each data-parallel rank: predicted by the index, and reported by the engine. */
export function RankResults({ results }: { readonly results: readonly RankResultsJson[] }): JSX.Element {
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
