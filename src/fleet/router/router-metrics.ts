import type { Registry } from 'prom-client';
import type { RoutingMode } from '../../core/agreement/state/cache-knowledge-counts.js';
import { LeanHistogram } from '../../edge/platform/metrics/histogram.js';
import { ScrapedMetrics } from '../../edge/platform/metrics/scraped-metrics.js';
import type { RankLoad } from './choice/worker-selector.js';
import { registerPairMetrics } from './pairs/pair-metrics.js';
import { LOST_REASONS } from './results/lost-hits.js';
import type { ResultBooks } from './results/result-books.js';
import { registerResultMetrics } from './results/results-metrics.js';
import type { RouterTally } from './router-tally.js';
import { registerTrafficMetrics } from './traffic/traffic-metrics.js';
import type { GroupTraffic } from './traffic/worker-traffic.js';

/** All but `closed`, in which nothing is decided. */
const DECISION_MODES: readonly RoutingMode[] = ['exact', 'mixed', 'approximate', 'load_only'];

const RATIO_BUCKETS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/** From a short prompt to what a thousand workers and a very long one may cost. */
const DECISION_BUCKETS_SECONDS = [
  0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05,
];

/** One group, as its series are read. */
export interface MeasuredGroup {
  readonly tally: RouterTally;
  readonly books: ResultBooks;
  readonly traffic: GroupTraffic;
  /** The worker id of a target; empty where none is known. */
  readonly workerIdOf: (target: string) => string;
  /** See `WorkerSelector`. */
  readonly untrackedBlocks: number;
  /** See `WorkerSelector`. */
  readonly inFlightBlocks: number;
  readonly candidatesLeftOut: number;
  loads(): readonly RankLoad[];
}

export interface RouterMetricsModules {
  /** By group. */
  readonly groups: ReadonlyMap<string, MeasuredGroup>;
  /** Reservations that ended because nothing was heard. */
  expired(): number;
}

/**
 * The router's metrics, with the names of the contract. All but the histograms
 * are read at each scrape, so that series of a group that ended are gone.
 */
export class RouterMetrics {
  readonly #ratio: LeanHistogram;
  readonly #decisionTime: LeanHistogram;

  constructor(registry: Registry, { groups, expired }: RouterMetricsModules) {
    this.#ratio = new LeanHistogram(registry, {
      name: 'kv_accord_router_cached_block_ratio',
      help: 'Part of the blocks of a prompt that were cached, as its engine reports, or as predicted where it does not.',
      label: 'group',
      buckets: RATIO_BUCKETS,
    });
    this.#decisionTime = new LeanHistogram(registry, {
      name: 'kv_accord_router_decision_seconds',
      help: 'Time that the choice of a worker took, the hashing of the prompt included.',
      buckets: DECISION_BUCKETS_SECONDS,
    });
    const metrics = new ScrapedMetrics(registry);
    registerDecisions(metrics, groups);
    registerResultMetrics(registry, groups);
    registerPairMetrics(registry, groups);
    registerTrafficMetrics(registry, groups);
    registerLosses(metrics, groups);
    registerLoads(metrics, groups);
    metrics.counter(
      'kv_accord_router_reservations_expired_total',
      'Reservations that were released because nothing was heard of them.',
      [],
      (add) => add({}, expired()),
    );
  }

  observeDecision(durationMs: number): void {
    this.#decisionTime.observe(durationMs / 1_000);
  }

  observeCachedPart(group: string, part: number): void {
    this.#ratio.observe(part, group);
  }

  /** A group is there no more. */
  remove(group: string): void {
    this.#ratio.remove(group);
  }
}

type Groups = RouterMetricsModules['groups'];

/** What was decided, and what came of it. */
function registerDecisions(metrics: ScrapedMetrics, groups: Groups): void {
  metrics.counter(
    'kv_accord_router_decisions_total',
    'Choices of a worker, by what was known of the caches.',
    ['group', 'mode'],
    (add) => {
      for (const [group, { tally }] of groups)
        for (const mode of DECISION_MODES) add({ group, mode }, tally.decisionsOf(mode));
    },
  );
  const counter = counterByGroup(metrics, groups);
  counter(
    'predicted_cached_tokens_total',
    'Prompt tokens that were expected to be cached, of requests whose engine reported how many were.',
    ({ tally }) => tally.predictedCachedTokens,
  );
  counter(
    'actual_cached_tokens_total',
    'Prompt tokens that were cached, of the same requests, as their engines report.',
    ({ tally }) => tally.actualCachedTokens,
  );
  counter(
    'best_cached_tokens_total',
    'Prompt tokens that the best of all workers held, of requests that were computed.',
    ({ tally }) => tally.hits.bestTokens,
  );
  counter(
    'chosen_cached_tokens_total',
    'Prompt tokens that the chosen worker held, of the same requests.',
    ({ tally }) => tally.hits.chosenTokens,
  );
  counter(
    'untracked_blocks_total',
    'Prompt blocks that counted as active by their number alone, because too many were active to know each.',
    ({ untrackedBlocks }) => untrackedBlocks,
  );
}

/** What was cached and not used. */
function registerLosses(metrics: ScrapedMetrics, groups: Groups): void {
  metrics.counter(
    'kv_accord_router_lost_cached_tokens_total',
    'Cached prompt tokens that were not used, by the reason.',
    ['group', 'reason'],
    (add) => {
      for (const [group, { tally }] of groups)
        for (const reason of LOST_REASONS) add({ group, reason }, tally.hits.lostBy(reason).tokens);
    },
  );
  metrics.counter(
    'kv_accord_router_lost_hits_total',
    'Requests that did not use all that was cached for them, by the reason.',
    ['group', 'reason'],
    (add) => {
      for (const [group, { tally }] of groups)
        for (const reason of LOST_REASONS) add({ group, reason }, tally.hits.lostBy(reason).requests);
    },
  );
}

/** What is on its way. */
function registerLoads(metrics: ScrapedMetrics, groups: Groups): void {
  const gauge = (name: string, help: string, read: (measured: MeasuredGroup) => number): void =>
    metrics.gauge(`kv_accord_router_${name}`, help, ['group'], (add) => {
      for (const [group, measured] of groups) add({ group }, read(measured));
    });
  const sum = (read: (load: RankLoad) => number) => (measured: MeasuredGroup) =>
    measured.loads().reduce((total, load) => total + read(load), 0);
  gauge(
    'active_blocks',
    'KV blocks of requests on their way.',
    sum(({ activeBlocks }) => activeBlocks),
  );
  gauge(
    'active_requests',
    'Requests on their way.',
    sum(({ activeRequests }) => activeRequests),
  );
  gauge(
    'prefilling_tokens',
    'Prompt tokens that are being computed.',
    sum(({ prefillingTokens }) => prefillingTokens),
  );
  gauge(
    'in_flight_blocks',
    'KV blocks of prompts on their way that are expected where they go.',
    ({ inFlightBlocks }) => inFlightBlocks,
  );
  gauge(
    'candidates_left_out',
    'Ranks that are not considered because there are too many.',
    ({ candidatesLeftOut }) => candidatesLeftOut,
  );
}

function counterByGroup(metrics: ScrapedMetrics, groups: Groups) {
  return (name: string, help: string, read: (measured: MeasuredGroup) => number): void =>
    metrics.counter(`kv_accord_router_${name}`, help, ['group'], (add) => {
      for (const [group, measured] of groups) add({ group }, read(measured));
    });
}
