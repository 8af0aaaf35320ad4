import { Counter, Gauge, type Registry } from 'prom-client';
import type { RoutingMode } from '../../core/agreement/cache-knowledge-counts.js';
import { LeanHistogram } from '../../edge/platform/metrics/histogram.js';
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
    const registers = [registry];
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
    new Counter({
      name: 'kv_accord_router_decisions_total',
      help: 'Choices of a worker, by what was known of the caches.',
      labelNames: ['group', 'mode'],
      registers,
      collect() {
        this.reset();
        for (const [group, { tally }] of groups)
          for (const mode of DECISION_MODES) this.inc({ group, mode }, tally.decisionsOf(mode));
      },
    });
    new Counter({
      name: 'kv_accord_router_predicted_cached_tokens_total',
      help: 'Prompt tokens that were expected to be cached, of requests whose engine reported how many were.',
      labelNames: ['group'],
      registers,
      collect() {
        this.reset();
        for (const [group, { tally }] of groups) this.inc({ group }, tally.predictedCachedTokens);
      },
    });
    new Counter({
      name: 'kv_accord_router_actual_cached_tokens_total',
      help: 'Prompt tokens that were cached, of the same requests, as their engines report.',
      labelNames: ['group'],
      registers,
      collect() {
        this.reset();
        for (const [group, { tally }] of groups) this.inc({ group }, tally.actualCachedTokens);
      },
    });
    registerResultMetrics(registry, groups);
    registerPairMetrics(registry, groups);
    registerTrafficMetrics(registry, groups);
    new Counter({
      name: 'kv_accord_router_best_cached_tokens_total',
      help: 'Prompt tokens that the best of all workers held, of requests that were computed.',
      labelNames: ['group'],
      registers,
      collect() {
        this.reset();
        for (const [group, { tally }] of groups) this.inc({ group }, tally.hits.bestTokens);
      },
    });
    new Counter({
      name: 'kv_accord_router_chosen_cached_tokens_total',
      help: 'Prompt tokens that the chosen worker held, of the same requests.',
      labelNames: ['group'],
      registers,
      collect() {
        this.reset();
        for (const [group, { tally }] of groups) this.inc({ group }, tally.hits.chosenTokens);
      },
    });
    new Counter({
      name: 'kv_accord_router_lost_cached_tokens_total',
      help: 'Cached prompt tokens that were not used, by the reason.',
      labelNames: ['group', 'reason'],
      registers,
      collect() {
        this.reset();
        for (const [group, { tally }] of groups)
          for (const reason of LOST_REASONS) this.inc({ group, reason }, tally.hits.lostBy(reason).tokens);
      },
    });
    new Counter({
      name: 'kv_accord_router_lost_hits_total',
      help: 'Requests that did not use all that was cached for them, by the reason.',
      labelNames: ['group', 'reason'],
      registers,
      collect() {
        this.reset();
        for (const [group, { tally }] of groups)
          for (const reason of LOST_REASONS) this.inc({ group, reason }, tally.hits.lostBy(reason).requests);
      },
    });
    const gauge = (name: string, help: string, read: (measured: MeasuredGroup) => number): void => {
      new Gauge({
        name: `kv_accord_router_${name}`,
        help,
        labelNames: ['group'],
        registers,
        collect() {
          this.reset();
          for (const [group, measured] of groups) this.set({ group }, read(measured));
        },
      });
    };
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
    new Counter({
      name: 'kv_accord_router_untracked_blocks_total',
      help: 'Prompt blocks that counted as active by their number alone, because too many were active to know each.',
      labelNames: ['group'],
      registers,
      collect() {
        this.reset();
        for (const [group, { untrackedBlocks }] of groups) this.inc({ group }, untrackedBlocks);
      },
    });
    new Counter({
      name: 'kv_accord_router_reservations_expired_total',
      help: 'Reservations that were released because nothing was heard of them.',
      registers,
      collect() {
        this.reset();
        this.inc(expired());
      },
    });
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
