import type { Origin } from '../evidence.js';
import type { LogSummary } from '../logs/log-summary.js';
import { KNOWN_PAGES } from '../metrics/known-pages.js';
import { type MetricsPage, sumOf } from '../metrics/metrics-page.js';
import { originOn } from './measure.js';

/** How many requests really run at a time. */
export interface Concurrency {
  readonly running: number;
  readonly waiting: number | undefined;
  /** True of a mean over a log, false of what a gauge said when it was read. */
  readonly isMean: boolean;
  readonly origin: Origin;
}

/** By the logs of engines, which have it over time, else by gauges. */
export function concurrencyOf(
  pages: readonly MetricsPage[],
  logs: readonly LogSummary[],
): Concurrency | undefined {
  const engines = logs.flatMap(({ engine }) =>
    engine?.runningRequests === undefined ? [] : [{ engine, running: engine.runningRequests }],
  );
  const [first] = engines;
  if (first !== undefined) {
    const waiting = engines.flatMap(({ engine }) => engine.waitingRequests?.mean ?? []);
    return {
      running: engines.reduce((sum, { running }) => sum + running.mean, 0),
      waiting: waiting.length === 0 ? undefined : waiting.reduce((sum, mean) => sum + mean, 0),
      isMean: true,
      origin: first.engine.last,
    };
  }
  // Those of one kind of program alone: a frontend counts what its workers run.
  for (const { running = [], waiting = [] } of KNOWN_PAGES) {
    const found = pages.flatMap((page) => {
      const metric = running.find((name) => sumOf(page, name) !== undefined);
      if (metric === undefined) return [];
      const queue = waiting.map((name) => sumOf(page, name)).find((value) => value !== undefined);
      return [{ page, metric, value: sumOf(page, metric) ?? 0, queue }];
    });
    const [one] = found;
    if (one === undefined) continue;
    const queues = found.flatMap(({ queue }) => queue ?? []);
    return {
      running: found.reduce((sum, { value }) => sum + value, 0),
      waiting: queues.length === 0 ? undefined : queues.reduce((sum, queue) => sum + queue, 0),
      isMean: false,
      origin: originOn(one.page, `${one.metric} ${one.value}`),
    };
  }
  return undefined;
}
