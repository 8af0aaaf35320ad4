import { andMore } from '../../../core/text/lists.js';
import { onOneLine } from '../../../core/text/printable.js';
import { workerName } from '../../../core/text/worker-name.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import { CountReporting, type GroupResults, type RankResults } from '../../../gen/kvaccord/v1/router.js';

const REPORTING: Readonly<Record<number, string>> = {
  [CountReporting.UNSPECIFIED]: '-',
  [CountReporting.SILENT]: 'no',
  [CountReporting.REPORTS]: 'yes',
};

/** What a worker's engine wants to be started with, where it reports no count. */
const SILENT_MESSAGE =
  'reports no cached_tokens (vLLM: --enable-prompt-tokens-details, SGLang: --enable-cache-report)';

/** Predicted against reported tokens of every rank, and what hits were lost, for a person. */
export function renderResults(groups: readonly GroupResults[]): string {
  if (groups.length === 0) return 'No model was routed here yet.\n';
  return `${groups.map(renderGroup).join('\n\n')}\n`;
}

function renderGroup({ group, ranks, rankCount, hits }: GroupResults): string {
  const more = andMore(rankCount - ranks.length, 'ranks');
  return [
    `${onOneLine(group)}: cached prompt tokens: best worker ${hits?.bestTokens ?? 0n}, chosen worker ${hits?.chosenTokens ?? 0n}, found by the engines ${hits?.engineTokens ?? 0n}`,
    ...(hits?.lost ?? []).map(
      ({ reason, requests, tokens }) =>
        `  lost to ${onOneLine(reason)}: ${tokens} tokens of ${requests} requests`,
    ),
    ranks.length === 0 ? '  no request was finished yet' : tableOf(ranks),
    ...(more === '' ? [] : [` ${more}`]),
  ].join('\n');
}

function tableOf(ranks: readonly RankResults[]): string {
  const table = plainTable([
    'WORKER',
    'RANK',
    'REPORTS',
    'REQUESTS',
    'PREDICTED',
    'REPORTED',
    'OVER',
    'UNDER',
    'WRONG/LAST',
    'WHY',
  ]);
  for (const rank of ranks) {
    const { dataParallelRank, reporting, total, window, doubted, doubtReason } = rank;
    pushRow(table, [
      workerName(rank),
      String(dataParallelRank),
      REPORTING[reporting] ?? 'unknown',
      String(total?.requests ?? 0n),
      String(total?.predictedTokens ?? 0n),
      String(total?.reportedTokens ?? 0n),
      String(total?.overTokens ?? 0n),
      String(total?.underTokens ?? 0n),
      `${window?.contradictions ?? 0n}/${window?.requests ?? 0n}`,
      doubted ? `doubted: ${doubtReason}` : reporting === CountReporting.SILENT ? SILENT_MESSAGE : '',
    ]);
  }
  return table.toString();
}
