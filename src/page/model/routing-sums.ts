import { VIEW_LIMITS, type ViewBucket, type ViewRouting } from '../../core/view/view-document.js';

/** Buckets of several models by time, added up; one model's as they are. */
export function joinBuckets(all: readonly ViewRouting[]): readonly ViewBucket[] {
  if (all.length === 1) return all[0]?.buckets ?? [];
  const byTime = new Map<number, ViewBucket>();
  for (const { buckets } of all)
    for (const bucket of buckets) {
      const known = byTime.get(bucket.atMs);
      byTime.set(bucket.atMs, known === undefined ? bucket : add(known, bucket));
    }
  return [...byTime.values()].sort((a, b) => a.atMs - b.atMs);
}

const SUMMED = [
  'decisions',
  'finished',
  'promptTokens',
  'bestTokens',
  'chosenTokens',
  'engineTokens',
  'outputTokens',
  'ejections',
  'indexBlocks',
  'storedBlocks',
  'removedBlocks',
  'refused',
] as const;

function add(a: ViewBucket, b: ViewBucket): ViewBucket {
  const sums = Object.fromEntries(SUMMED.map((name) => [name, a[name] + b[name]])) as Pick<
    ViewBucket,
    (typeof SUMMED)[number]
  >;
  const first = joinDurations(a.firstTurn, b.firstTurn);
  const followUp = joinDurations(a.followUp, b.followUp);
  return {
    ...sums,
    atMs: a.atMs,
    lost: Object.fromEntries(
      [...new Set([...Object.keys(a.lost), ...Object.keys(b.lost)])].map((reason) => [
        reason,
        [
          (a.lost[reason]?.[0] ?? 0) + (b.lost[reason]?.[0] ?? 0),
          (a.lost[reason]?.[1] ?? 0) + (b.lost[reason]?.[1] ?? 0),
        ] as const,
      ]),
    ),
    failures: addCounts(a.failures, b.failures),
    ...(first === undefined ? {} : { firstTurn: first }),
    ...(followUp === undefined ? {} : { followUp }),
  };
}

function addCounts(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Record<string, number> {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** Exact for the mean; quantiles of two are weighed by their counts, which lies between both. */
function joinDurations(a: ViewBucket['firstTurn'], b: ViewBucket['firstTurn']): ViewBucket['firstTurn'] {
  if (a === undefined || b === undefined) return a ?? b;
  const count = a.count + b.count;
  const weigh = (x: number, y: number): number => (x * a.count + y * b.count) / count;
  return {
    count,
    meanMs: weigh(a.meanMs, b.meanMs),
    p50Ms: weigh(a.p50Ms, b.p50Ms),
    p90Ms: weigh(a.p90Ms, b.p90Ms),
    p99Ms: weigh(a.p99Ms, b.p99Ms),
  };
}

/** What happened over all buckets. */
export interface RoutingSums {
  readonly seconds: number;
  readonly decisions: number;
  readonly promptTokens: number;
  readonly bestTokens: number;
  readonly chosenTokens: number;
  readonly engineTokens: number;
  readonly refused: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly lost: readonly { readonly reason: string; readonly requests: number; readonly tokens: number }[];
  readonly firstTurn: ViewBucket['firstTurn'];
  readonly followUp: ViewBucket['firstTurn'];
}

/** Adds up buckets; lost hits by reason, the most tokens first. */
export function sumBuckets(buckets: readonly ViewBucket[], bucketMs: number): RoutingSums {
  const [first] = buckets;
  const last = buckets.at(-1);
  const all = buckets.slice(1).reduce((sum, bucket) => add(sum, bucket), first ?? EMPTY);
  return {
    seconds: first === undefined || last === undefined ? 0 : (last.atMs - first.atMs + bucketMs) / 1_000,
    ...all,
    lost: Object.entries(all.lost)
      .map(([reason, [requests, tokens]]) => ({ reason, requests, tokens }))
      .sort((a, b) => b.tokens - a.tokens),
    firstTurn: all.firstTurn,
    followUp: all.followUp,
  };
}

const EMPTY: ViewBucket = {
  atMs: 0,
  decisions: 0,
  finished: 0,
  promptTokens: 0,
  bestTokens: 0,
  chosenTokens: 0,
  engineTokens: 0,
  outputTokens: 0,
  lost: {},
  failures: {},
  ejections: 0,
  indexBlocks: 0,
  storedBlocks: 0,
  removedBlocks: 0,
  refused: 0,
};

/** Two minutes of buckets: fewer look like nothing. */
const MIN_TIMES = 12;

/**
 * Times of a chart: every bucket up to the last one that is complete, also those in which nothing happened. The one that
 * is still filled would look like a fall. A process that started a short while ago, at `sinceMs`, has a short chart.
 */
export function timesOf(
  buckets: readonly ViewBucket[],
  bucketMs: number,
  nowMs: number,
  sinceMs: number,
): number[] {
  const anchorMs = buckets.at(-1)?.atMs ?? nowMs;
  const endMs = anchorMs + Math.floor((nowMs - anchorMs) / bucketMs - 1) * bucketMs;
  const known = Math.ceil((endMs - sinceMs) / bucketMs) + 1;
  const count = Math.max(MIN_TIMES, Math.min(VIEW_LIMITS.buckets, known));
  return Array.from({ length: count }, (_, at) => endMs - (count - 1 - at) * bucketMs);
}
