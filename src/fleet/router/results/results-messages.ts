import {
  CountReporting,
  type ResultCounts as CountsMessage,
  type GroupResults,
  type RankResults as RankMessage,
} from '../../../gen/kvaccord/v1/router.js';
import { type CacheHits, LOST_REASONS } from './lost-hits.js';
import type { ResultCounts } from './result-window.js';
import type { RankResults, Reporting } from './worker-book.js';

/** Ranks that one answer names: with the longest names there can be, well below gRPC's 4 MiB. */
const MAX_RANKS_IN_ANSWER = 2_000;

const REPORTING: Readonly<Record<Reporting, CountReporting>> = {
  unknown: CountReporting.UNSPECIFIED,
  silent: CountReporting.SILENT,
  reports: CountReporting.REPORTS,
};

/** What the results of a group are sent with. */
export interface ResultSource {
  readonly tally: { readonly hits: CacheHits; readonly actualCachedTokens: number };
  /** The worker id of a target; empty where none is known. */
  readonly workerIdOf: (target: string) => string;
}

/** The results of one group on the wire, the worst first. */
export function toGroupResults(
  group: string,
  results: readonly RankResults[],
  { tally, workerIdOf }: ResultSource,
): GroupResults {
  const { hits, actualCachedTokens } = tally;
  const ranks = [...results]
    .sort(byUrgency)
    .slice(0, MAX_RANKS_IN_ANSWER)
    .map((rank) => toRank(rank, workerIdOf(rank.target)));
  return {
    group,
    ranks,
    rankCount: results.length,
    hits: {
      bestTokens: BigInt(hits.bestTokens),
      chosenTokens: BigInt(hits.chosenTokens),
      engineTokens: BigInt(actualCachedTokens),
      lost: LOST_REASONS.flatMap((reason) => {
        const { requests, tokens } = hits.lostBy(reason);
        return requests === 0 ? [] : [{ reason, requests: BigInt(requests), tokens: BigInt(tokens) }];
      }),
    },
  };
}

function byUrgency(a: RankResults, b: RankResults): number {
  if (a.isDoubted !== b.isDoubted) return a.isDoubted ? -1 : 1;
  const worse = b.window.contradictions - a.window.contradictions;
  if (worse !== 0) return worse;
  return a.target === b.target ? a.rank - b.rank : a.target < b.target ? -1 : 1;
}

function toRank(results: RankResults, workerId: string): RankMessage {
  const { target, rank, instanceId, reporting, window, total, isDoubted, missingRequests, doubtReason } =
    results;
  return {
    target,
    workerId,
    dataParallelRank: rank,
    instanceId,
    reporting: REPORTING[reporting],
    window: toCounts(window),
    total: toCounts(total),
    doubted: isDoubted,
    doubtReason,
    missingRequests,
  };
}

function toCounts(counts: ResultCounts): CountsMessage {
  return {
    requests: BigInt(counts.requests),
    predictedTokens: BigInt(counts.predictedTokens),
    reportedTokens: BigInt(counts.reportedTokens),
    overTokens: BigInt(counts.overTokens),
    underTokens: BigInt(counts.underTokens),
    contradictions: BigInt(counts.contradictions),
  };
}
