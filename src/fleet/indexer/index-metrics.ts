import { Histogram, type Registry } from 'prom-client';
import { ScrapedMetrics } from '../../edge/platform/metrics/scraped-metrics.js';
import { countRefusals, type StreamRefusals } from '../../edge/platform/streams/stream-refusals.js';
import type { GroupIndex } from './groups/group-index.js';
import type { FollowerStateName } from './groups/worker-follower.js';
import { EVENT_RESULTS, EVENT_TYPES, GAP_OUTCOMES, type IndexTally } from './index/index-tally.js';

const FOLLOWER_STATES: readonly FollowerStateName[] = [
  'unconnected',
  'queued',
  'asking',
  'applying',
  'held',
  'outdated',
  'waiting',
];

/** From what a good network takes to what is no live event any more. */
const LAG_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

/**
 * Longest lag that is observed. What is further away is no delay but a clock that is wrong by more, and one such
 * message would outweigh all others in the sum.
 */
const MAX_LAG_MS = 3_600_000;

export interface IndexMetricsModules {
  /** By group. */
  readonly indexes: ReadonlyMap<string, GroupIndex>;
  /** By group. */
  readonly tallies: ReadonlyMap<string, IndexTally>;
  /** Streams that were ended for what came on them. */
  readonly refusals: StreamRefusals;
}

/**
 * The index's metrics, with the names of the contract. All but the lag are read
 * at each scrape, so that series of a group that ended are gone.
 */
export class IndexMetrics {
  readonly #lag: Histogram;

  constructor(registry: Registry, modules: IndexMetricsModules) {
    const { indexes, tallies, refusals } = modules;
    const metrics = new ScrapedMetrics(registry);
    this.#lag = new Histogram({
      name: 'kv_accord_kv_event_lag_seconds',
      help: 'From the publishing of a KV event by its engine to its place in the index.',
      buckets: LAG_BUCKETS_SECONDS,
      registers: [registry],
    });
    metrics.gauge('kv_accord_index_blocks', 'Different blocks in the index of a group.', ['group'], (add) => {
      for (const [group, index] of indexes) add({ group }, index.blocks);
    });
    metrics.gauge('kv_accord_index_memory_bytes', 'Memory of the index of a group.', ['group'], (add) => {
      for (const [group, index] of indexes) add({ group }, index.memoryBytes);
    });
    metrics.gauge(
      'kv_accord_kv_subscriptions',
      'Workers whose KV events are followed, by where that stands.',
      ['group', 'state'],
      (add) => {
        for (const [group, index] of indexes) {
          for (const state of FOLLOWER_STATES) add({ group, state }, 0);
          for (const state of index.followerStates) add({ group, state }, 1);
        }
      },
    );
    metrics.counter(
      'kv_accord_kv_events_total',
      'KV events that came from workers, by what became of them.',
      ['group', 'type', 'result'],
      (add) => {
        for (const [group, tally] of tallies) {
          for (const type of EVENT_TYPES) {
            for (const result of EVENT_RESULTS) add({ group, type, result }, tally.eventsOf(type, result));
          }
        }
      },
    );
    metrics.counter(
      'kv_accord_kv_gaps_total',
      'Streams of KV events that broke and came back, by how.',
      ['group', 'outcome'],
      (add) => {
        for (const [group, tally] of tallies) {
          for (const outcome of GAP_OUTCOMES) add({ group, outcome }, tally.gapsOf(outcome));
        }
      },
    );
    countRefusals(registry, 'kv_events', refusals);
  }

  /**
   * An event is in the index so long after its engine published it; clocks that differ make it negative. More than
   * an hour is left out.
   */
  observeLag(lagMs: number): void {
    if (!(lagMs <= MAX_LAG_MS)) return;
    this.#lag.observe(Math.max(lagMs, 0) / 1_000);
  }
}
