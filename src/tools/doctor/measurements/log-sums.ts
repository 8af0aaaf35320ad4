import type { Signal } from '../../../engines/diagnosis/signals.js';
import type { Origin } from '../evidence.js';
import type { DecisionTally, LogSummary, RateSeries, SignalTally } from '../logs/log-summary.js';
import { totalOf } from './measure.js';

/** One kind of sign over all logs. */
export interface SignalSum {
  readonly count: number;
  readonly first: Origin;
  readonly byWorker: ReadonlyMap<string, number>;
  readonly values: ReadonlyMap<string, number>;
  readonly logs: readonly { readonly log: LogSummary; readonly tally: SignalTally }[];
}

/** Routing decisions over all logs. */
export interface DecisionSum
  extends Pick<
    DecisionTally,
    | 'count'
    | 'reporting'
    | 'withoutCache'
    | 'cachedBlocks'
    | 'largestTreeSize'
    | 'byWorker'
    | 'foundByWorker'
    | 'prompts'
    | 'promptTokens'
  > {
  /** From the first to the last that has a time, in the log where that is longest; 0 without times. */
  readonly lastedMs: number;
  /** What routers took for the load of chosen workers, in blocks: the mean of the log where it is largest; undefined where no line has it. */
  readonly loadBlocks: number | undefined;
  readonly origin: Origin;
}

/** Adds up one kind of sign; undefined when no log has it. */
export function signalOf(logs: readonly LogSummary[], wanted: Signal): SignalSum | undefined {
  const found = logs.flatMap((log) => {
    const tally = log.signals.get(wanted);
    return tally === undefined || tally.count <= 0 ? [] : [{ log, tally }];
  });
  const [first] = found;
  if (first === undefined) return undefined;
  return {
    count: totalOf(found, ({ tally }) => tally.count),
    first: first.tally.first,
    byWorker: addedUp(found.map(({ tally }) => tally.byWorker)),
    values: addedUp(found.map(({ tally }) => tally.values)),
    logs: found,
  };
}

/** Adds up the routing decisions; undefined when no log has one. */
export function decisionsOf(logs: readonly LogSummary[]): DecisionSum | undefined {
  const found = logs.flatMap(({ decisions }) => decisions ?? []);
  const [first] = found;
  if (first === undefined) return undefined;
  return {
    count: totalOf(found, ({ count }) => count),
    reporting: totalOf(found, ({ reporting }) => reporting),
    withoutCache: totalOf(found, ({ withoutCache }) => withoutCache),
    cachedBlocks: totalOf(found, ({ cachedBlocks }) => cachedBlocks),
    largestTreeSize: largestOf(found.flatMap(({ largestTreeSize }) => largestTreeSize ?? [])),
    byWorker: addedUp(found.map(({ byWorker }) => byWorker)),
    foundByWorker: addedUp(found.map(({ foundByWorker }) => foundByWorker)),
    prompts: totalOf(found, ({ prompts }) => prompts),
    promptTokens: totalOf(found, ({ promptTokens }) => promptTokens),
    lastedMs: Math.max(...found.map(({ rate }) => lastedMsOf(rate))),
    loadBlocks: largestOf(found.flatMap(({ loadBlocks }) => loadBlocks?.mean ?? [])),
    origin: (found.find(({ reporting }) => reporting > 0) ?? first).last,
  };
}

/** Between its first bucket and its last. */
function lastedMsOf({ counts, bucketMs }: RateSeries): number {
  return Math.max(0, counts.length - 1) * bucketMs;
}

function largestOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values);
}

function addedUp(maps: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const map of maps) {
    for (const [key, value] of map) sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return sums;
}

/** A shorter log says nothing about its beginning and its end. */
const MIN_SPAN_MS = 30_000;

/** Which share of a kind of sign stands in the first and in the last quarter of its log; undefined without times, or when the log is too short. */
export function courseOf({
  log,
  tally,
}: SignalSum['logs'][number]): { readonly early: number; readonly late: number } | undefined {
  const { firstMs, lastMs } = log;
  const { startMs, bucketMs, counts } = tally.rate;
  if (firstMs === undefined || lastMs === undefined || startMs === undefined) return undefined;
  const span = lastMs - firstMs;
  const total = totalOf(counts, (count) => count);
  if (span < MIN_SPAN_MS || total === 0 || bucketMs > span / 8) return undefined;
  const share = (from: number, until: number): number =>
    counts.reduce((sum, count, index) => {
      const at = (startMs + index * bucketMs - firstMs) / span;
      return at >= from && at < until ? sum + count : sum;
    }, 0) / total;
  return { early: share(-1, 0.25), late: share(0.75, 2) };
}
