import type { Registry } from 'prom-client';
import { ScrapedMetrics } from '../../../edge/platform/metrics/scraped-metrics.js';
import type { RankLoad } from '../choice/worker-selector.js';
import { boundedWorkerLabels, WORKER_LABEL_NAMES } from '../worker-labels.js';
import type { GroupTraffic, WorkerTraffic } from './worker-traffic.js';

/** One group, as its series are read. */
export interface MeasuredTraffic {
  readonly traffic: GroupTraffic;
  /** The worker id of a target; empty where none is known. */
  readonly workerIdOf: (target: string) => string;
  /** What is active on each rank. */
  loads(): readonly RankLoad[];
}

/** Who gets what, and what comes of it, by worker: read at each scrape, so that the series of a worker end with it. */
export function registerTrafficMetrics(
  registry: Registry,
  groups: ReadonlyMap<string, MeasuredTraffic>,
): void {
  const metrics = new ScrapedMetrics(registry);
  const counter = (name: string, help: string, read: (traffic: WorkerTraffic) => number): void => {
    metrics.counter(`kv_accord_router_worker_${name}`, help, WORKER_LABEL_NAMES, (add) => {
      const labelsOf = boundedWorkerLabels();
      for (const [group, { traffic, workerIdOf }] of groups)
        for (const [target, worker] of traffic.workers)
          add(labelsOf(group, workerIdOf(target), target), read(worker));
    });
  };
  counter(
    'decisions_total',
    'Requests that this worker was chosen for, each try by itself.',
    ({ decisions }) => decisions,
  );
  counter(
    'first_tokens_total',
    'Requests of this worker whose first token came.',
    ({ firstTokens }) => firstTokens,
  );
  counter(
    'first_token_seconds_total',
    'Time from the choice of this worker to the first token, summed over its requests.',
    ({ firstTokenMs }) => firstTokenMs / 1_000,
  );
  counter(
    'prompt_tokens_total',
    'Prompt tokens of the requests of this worker, as its engine reported them.',
    ({ promptTokens }) => promptTokens,
  );
  counter(
    'output_tokens_total',
    'Tokens that this worker generated, as its engine reported them.',
    ({ outputTokens }) => outputTokens,
  );
  metrics.counter(
    'kv_accord_router_worker_failed_requests_total',
    'Requests that this worker failed, by what was seen.',
    [...WORKER_LABEL_NAMES, 'seen'],
    (add) => {
      const labelsOf = boundedWorkerLabels();
      for (const [group, { traffic, workerIdOf }] of groups)
        for (const [target, { failures }] of traffic.workers)
          for (const [seen, times] of failures)
            add({ ...labelsOf(group, workerIdOf(target), target), seen }, times);
    },
  );
  const gauge = (name: string, help: string, read: (load: RankLoad) => number): void => {
    metrics.gauge(`kv_accord_router_worker_${name}`, help, WORKER_LABEL_NAMES, (add) => {
      const labelsOf = boundedWorkerLabels();
      for (const [group, measured] of groups)
        for (const load of measured.loads()) {
          const { workerId, target } = load.candidate;
          add(labelsOf(group, workerId, target), read(load));
        }
    });
  };
  gauge('active_requests', 'Requests on their way to this worker.', ({ activeRequests }) => activeRequests);
  gauge(
    'active_blocks',
    'KV blocks of requests on their way to this worker.',
    ({ activeBlocks }) => activeBlocks,
  );
  gauge(
    'prefilling_tokens',
    'Prompt tokens that this worker computes now.',
    ({ prefillingTokens }) => prefillingTokens,
  );
}
