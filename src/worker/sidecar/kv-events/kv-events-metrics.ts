import { Histogram, type Registry } from 'prom-client';
import { ScrapedMetrics } from '../../../edge/platform/metrics/scraped-metrics.js';
import { LAG_BUCKETS_MS, type StreamCounts } from '../../kv-events/readers/stream-counts.js';
import type { KvEventsController } from './kv-events-controller.js';

/**
 * The metrics of an engine's KV events, all beginning with `kv_accord_`:
 *
 * | name | meaning |
 * |---|---|
 * | `kv_events_total{type,result}` | events by what they say and what came of them |
 * | `kv_event_lag_seconds` | from the engine's own time of publishing to applying |
 * | `kv_gaps_total{outcome}` | gaps in an engine's stream by how they ended |
 * | `kv_messages_refused_total{reason}` | messages of a publisher that are no batch of events |
 * | `kv_publisher_restarts_total` | times that a publisher restarted its sequence |
 * | `kv_disconnects_total` | connections to publishers that were lost |
 * | `kv_picture{rank,picture}` | 1 for how much is known of the rank: `exact`, `partial`, `stale`, `none` |
 * | `kv_awaits_first_batch{rank}` | 1 while nothing but the first batch of an engine is missing |
 * | `kv_blocks{rank}` | blocks in the cache view of the rank, all tiers |
 *
 * The numbers are kept where the events are read and taken over when a scrape
 * asks for them: an event costs no work here. Labels come from closed lists and
 * from the ranks that are read now.
 */
export function registerEventMetrics(registry: Registry, controller: KvEventsController): void {
  const metrics = new ScrapedMetrics(registry);
  const counter = (
    name: string,
    help: string,
    label: string | undefined,
    read: (counts: StreamCounts) => Readonly<Record<string, number>>,
  ): void => {
    metrics.counter(`kv_accord_${name}`, help, label === undefined ? [] : [label], (add) => {
      const totals = controller.reader === undefined ? {} : read(controller.reader.streamCounts);
      for (const [value, total] of Object.entries(totals)) {
        add(label === undefined ? {} : { [label]: value }, total);
      }
    });
  };
  metrics.counter(
    'kv_accord_kv_events_total',
    'KV events of the engine, by what they say and what came of them.',
    ['type', 'result'],
    (add) => {
      for (const { type, result, total } of controller.reader?.counts.entries() ?? []) {
        add({ type, result }, total);
      }
    },
  );
  counter(
    'kv_gaps_total',
    'Gaps in a stream of KV events, by how they ended.',
    'outcome',
    ({ gaps }) => gaps,
  );
  counter(
    'kv_messages_refused_total',
    'Messages of a publisher that are no batch of KV events.',
    'reason',
    ({ refused }) => refused,
  );
  counter(
    'kv_publisher_restarts_total',
    'Times that a publisher restarted its sequence.',
    undefined,
    (counts) => ({
      all: counts.publisherRestarts,
    }),
  );
  counter('kv_disconnects_total', 'Connections to publishers that were lost.', undefined, (counts) => ({
    all: counts.disconnects,
  }));
  new LagHistogram(registry, () => controller.reader?.streamCounts);
  metrics.gauge(
    'kv_accord_kv_picture',
    'Always 1; the label says how much is known of what the rank holds.',
    ['rank', 'picture'],
    (add) => {
      for (const { rank, picture } of controller.relay.ranks) add({ rank, picture }, 1);
    },
  );
  metrics.gauge(
    'kv_accord_kv_awaits_first_batch',
    'Whether the cache view is not exact only because the engine has published nothing since it is followed.',
    ['rank'],
    (add) => {
      for (const { rank, awaitsFirstBatch } of controller.relay.ranks) {
        add({ rank }, awaitsFirstBatch === true ? 1 : 0);
      }
    },
  );
  metrics.gauge(
    'kv_accord_kv_blocks',
    'Blocks that the rank is known to hold, in all tiers.',
    ['rank'],
    (add) => {
      for (const { rank, blockCount } of controller.relay.ranks) add({ rank }, blockCount);
    },
  );
}

const LAG_NAME = 'kv_accord_kv_event_lag_seconds';
const LAG_HELP = 'Time from publishing a batch of KV events to applying it, by the clocks of both hosts.';

/** A histogram whose buckets are counted elsewhere, so that a batch costs no look-up of labels. */
class LagHistogram extends Histogram {
  readonly #read: () => StreamCounts | undefined;

  constructor(registry: Registry, read: () => StreamCounts | undefined) {
    const buckets = LAG_BUCKETS_MS.map((boundMs) => boundMs / 1_000);
    super({ name: LAG_NAME, help: LAG_HELP, buckets, registers: [registry] });
    this.#read = read;
  }

  /** What prom-client makes every answer of, although its types do not show it. */
  async getForPromString(): Promise<object> {
    const { lagBuckets = [], lagCount = 0, lagSumMs = 0 } = this.#read() ?? {};
    let below = 0;
    const buckets = LAG_BUCKETS_MS.map((boundMs, index) => {
      below += lagBuckets[index] ?? 0;
      return { metricName: `${LAG_NAME}_bucket`, labels: { le: boundMs / 1_000 }, value: below };
    });
    return {
      name: LAG_NAME,
      help: LAG_HELP,
      type: 'histogram',
      aggregator: 'sum',
      values: [
        ...buckets,
        { metricName: `${LAG_NAME}_bucket`, labels: { le: '+Inf' }, value: lagCount },
        { metricName: `${LAG_NAME}_sum`, labels: {}, value: lagSumMs / 1_000 },
        { metricName: `${LAG_NAME}_count`, labels: {}, value: lagCount },
      ],
    };
  }
}
