import type { Origin } from '../evidence.js';
import type { LogSummary } from '../logs/log-summary.js';
import { type MetricsPage, sumOf } from '../metrics/metrics-page.js';
import { signalOf } from './log-sums.js';
import { largestBy, type Measure, originOn, sharesOn, totalOf } from './measure.js';

/** What became of the events that a router applied. */
export interface StoreCounts {
  readonly applied: number;
  readonly parentMissing: number;
  readonly removed: number;
  readonly removeMissing: number;
  readonly origin: Origin;
}

/** What workers' publishers counted. */
export interface PublishedCounts {
  readonly received: number;
  /** Stores that reached the publisher with blocks and left it with none. */
  readonly emptied: number;
  readonly dropped: number;
  readonly origin: Origin;
}

const APPLIED = [
  'dynamo_component_kv_cache_events_applied',
  'dynamo_kvrouter_kv_cache_events_applied',
] as const;
const GAP_COUNTERS = [
  'dynamo_component_kv_publisher_engines_dropped_events_total',
  'dynamo_component_kv_publisher_engines_dropped_events',
] as const;
const PREEMPTION_COUNTERS = ['vllm:num_preemptions_total', 'sglang:num_retracted_reqs'] as const;
const USAGE_GAUGES = [
  'vllm:kv_cache_usage_perc',
  'vllm:gpu_cache_usage_perc',
  'sglang:token_usage',
  'trtllm_kv_cache_utilization',
] as const;

/** What routers counted of the events that reached them. */
export function storesOf(pages: readonly MetricsPage[]): StoreCounts | undefined {
  const counted = pages.flatMap((page): readonly StoreCounts[] => {
    const name = APPLIED.find((wanted) => sumOf(page, wanted) !== undefined);
    if (name === undefined) return [];
    const count = (event_type: string, status: string): number =>
      sumOf(page, name, { event_type, status }) ?? 0;
    const applied = count('stored', 'ok');
    const parentMissing = count('stored', 'parent_block_not_found');
    const removed = count('removed', 'ok');
    const removeMissing = count('removed', 'block_not_found');
    const text = `${name}: stored ok ${applied}, stored parent_block_not_found ${parentMissing}, removed ok ${removed}, removed block_not_found ${removeMissing}`;
    return [{ applied, parentMissing, removed, removeMissing, origin: originOn(page, text) }];
  });
  // The page with the most stores is the one to look at.
  const most = largestBy(counted, ({ parentMissing, applied }) => parentMissing + applied);
  return (
    most && {
      applied: totalOf(counted, ({ applied }) => applied),
      parentMissing: totalOf(counted, ({ parentMissing }) => parentMissing),
      removed: totalOf(counted, ({ removed }) => removed),
      removeMissing: totalOf(counted, ({ removeMissing }) => removeMissing),
      origin: most.origin,
    }
  );
}

/** What the publishers of Dynamo's workers counted. */
export function publishedOf(pages: readonly MetricsPage[]): PublishedCounts | undefined {
  const prefix = 'dynamo_component_kv_publisher_zmq';
  const counted = pages.flatMap((page): readonly PublishedCounts[] => {
    const received = sumOf(page, `${prefix}_events_total`, { stage: 'received' });
    const emptied = sumOf(page, `${prefix}_suspicious_events_total`, { reason: 'empty_store_blocks' });
    if (received === undefined && emptied === undefined) return [];
    const dropped = GAP_COUNTERS.map((name) => sumOf(page, name)).find((value) => value !== undefined);
    const text = `${prefix}_events_total{stage="received"} ${received ?? 'absent'}, ${prefix}_suspicious_events_total{reason="empty_store_blocks"} ${emptied ?? 'absent'}`;
    const origin = originOn(page, text);
    return [{ received: received ?? 0, emptied: emptied ?? 0, dropped: dropped ?? 0, origin }];
  });
  const shown = counted.find(({ emptied }) => emptied > 0) ?? counted[0];
  return (
    shown && {
      received: totalOf(counted, ({ received }) => received),
      emptied: totalOf(counted, ({ emptied }) => emptied),
      dropped: totalOf(counted, ({ dropped }) => dropped),
      origin: shown.origin,
    }
  );
}

/** Events that publishers dropped. */
export function gapsOf(pages: readonly MetricsPage[]): Measure | undefined {
  return counterOf(pages, GAP_COUNTERS);
}

/** Requests that engines took off the GPU for want of blocks: by counters or by logs, whichever has more. */
export function preemptionsOf(
  pages: readonly MetricsPage[],
  logs: readonly LogSummary[],
): Measure | undefined {
  const counted = counterOf(pages, PREEMPTION_COUNTERS);
  const logged = signalOf(logs, 'preemption');
  return logged !== undefined && logged.count > (counted?.value ?? 0)
    ? { value: logged.count, origin: logged.first }
    : counted;
}

/** The highest share of KV memory in use that was seen, 0 to 1. */
export function usageOf(pages: readonly MetricsPage[], logs: readonly LogSummary[]): Measure | undefined {
  const inLogs = logs.flatMap(({ engine }) =>
    engine?.kvCacheUsage === undefined ? [] : [{ value: engine.kvCacheUsage.max, origin: engine.last }],
  );
  const onPages = pages.flatMap((page) => sharesOn(page, USAGE_GAUGES));
  return largestBy([...onPages, ...inLogs], ({ value }) => value);
}

function counterOf(pages: readonly MetricsPage[], names: readonly string[]): Measure | undefined {
  const counted = pages.flatMap((page) =>
    names.flatMap((name): readonly Measure[] => {
      const value = sumOf(page, name);
      return value === undefined ? [] : [{ value, origin: originOn(page, `${name} ${value}`) }];
    }),
  );
  const shown = counted.find(({ value }) => value > 0) ?? counted[0];
  return shown && { value: totalOf(counted, ({ value }) => value), origin: shown.origin };
}
