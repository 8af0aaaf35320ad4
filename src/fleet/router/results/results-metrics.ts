import type { Registry } from 'prom-client';
import { groupBy } from '../../../core/data/group-by.js';
import { ScrapedMetrics } from '../../../edge/platform/metrics/scraped-metrics.js';
import { boundedWorkerLabels, WORKER_LABEL_NAMES, type WorkerLabels } from '../worker-labels.js';
import { type ResultBooks, sumCounts } from './result-books.js';
import type { ResultCounts } from './result-window.js';

/** One group, as its series are read. */
export interface BookedGroup {
  readonly books: ResultBooks;
  /** The worker id of a target; empty where none is known. */
  workerIdOf(target: string): string;
}

/** What one worker's series say. */
interface WorkerSums {
  readonly total: ResultCounts;
  readonly isDoubted: boolean;
}

/**
 * The books of results as metrics, by worker: read at each scrape, so that the
 * series of a worker end with it.
 */
export function registerResultMetrics(registry: Registry, groups: ReadonlyMap<string, BookedGroup>): void {
  const metrics = new ScrapedMetrics(registry);
  const counter = (name: string, help: string, read: (total: ResultCounts) => number): void => {
    metrics.counter(name, help, WORKER_LABEL_NAMES, (add) => {
      for (const { labels, sums } of sumsOf(groups)) add(labels, read(sums.total));
    });
  };
  counter(
    'kv_accord_router_worker_predicted_cached_tokens_total',
    'Prompt tokens that were expected to be cached at this worker, of requests whose engine reported how many were.',
    ({ predictedTokens }) => predictedTokens,
  );
  counter(
    'kv_accord_router_worker_reported_cached_tokens_total',
    'Prompt tokens of the same requests that were cached, as the engine of this worker reported.',
    ({ reportedTokens }) => reportedTokens,
  );
  counter(
    'kv_accord_router_worker_over_predicted_tokens_total',
    'Prompt tokens that this worker should have had cached and had not, for no known reason.',
    ({ overTokens }) => overTokens,
  );
  counter(
    'kv_accord_router_worker_under_predicted_tokens_total',
    'Prompt tokens that this worker had cached and its cache view did not know of, for no known reason.',
    ({ underTokens }) => underTokens,
  );
  counter(
    'kv_accord_router_worker_contradictions_total',
    'Requests whose cached tokens, as the engine reported, contradict the cache view of this worker.',
    ({ contradictions }) => contradictions,
  );
  metrics.gauge(
    'kv_accord_router_worker_doubted',
    '1 while the results of this worker contradict its cache view.',
    WORKER_LABEL_NAMES,
    (add) => {
      for (const { labels, sums } of sumsOf(groups)) add(labels, sums.isDoubted ? 1 : 0);
    },
  );
}

/** The sums of each worker. */
function sumsOf(
  groups: ReadonlyMap<string, BookedGroup>,
): readonly { readonly labels: WorkerLabels; readonly sums: WorkerSums }[] {
  const labelsOf = boundedWorkerLabels();
  return [...groups].flatMap(([group, { books, workerIdOf }]) => {
    return [...groupBy(books.results(), ({ target }) => target)].map(([target, ranks]) => ({
      labels: labelsOf(group, workerIdOf(target), target),
      sums: {
        total: sumCounts(ranks.map(({ total }) => total)),
        isDoubted: ranks.some(({ isDoubted }) => isDoubted),
      },
    }));
  });
}
