import { inOneOrder } from './canonical.js';
import { type DynamoFacts, dynamoFacts } from './dynamo-facts.js';
import type { Evidence, Origin, SettingName, SettingSighting } from './evidence.js';
import type { DecisionTally, LogSummary, Signal, SignalTally } from './logs/log-summary.js';
import type { MemoryArithmetic } from './memory/memory-arithmetic.js';
import { type MetricsPage, sumOf } from './metrics/metrics-page.js';
import { type SizeTable, sizeTable } from './sizes.js';
import { writtenIn } from './written.js';

/** A number with where it was read. */
export interface Measure {
  readonly value: number;
  readonly origin: Origin;
}

/** A share, 0 to 1, of how many, and where it was read. */
export interface Share {
  readonly share: number;
  readonly count: number;
  readonly origin: Origin;
}

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

/** How prompts were served from engines' caches. */
export interface EngineHits {
  /** 0 to 1. */
  readonly share: number;
  /** 0 when only the share was told. */
  readonly cachedTokens: number;
  readonly promptTokens: number;
  readonly origin: Origin;
}

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
    'count' | 'told' | 'withoutCache' | 'cachedBlocks' | 'largestTreeSize' | 'byWorker'
  > {
  readonly origin: Origin;
}

/** The evidence in the quantities that causes ask for. */
export interface Picture {
  readonly evidence: Evidence;
  readonly memory: readonly MemoryArithmetic[];
  readonly sizes: SizeTable;
  readonly dynamo: DynamoFacts;
  readonly decisions: DecisionSum | undefined;
  /** What the router expected to be cached, from each source that tells it. */
  readonly routerHits: readonly Share[];
  readonly engineHits: EngineHits | undefined;
  readonly stores: StoreCounts | undefined;
  readonly published: PublishedCounts | undefined;
  /** Gaps in numbered streams that counters tell of. */
  readonly gaps: Measure | undefined;
  readonly preemptions: Measure | undefined;
  /** Share of KV memory in use, 0 to 1, the highest that was seen. */
  readonly kvUsage: Measure | undefined;
  signal(signal: Signal): SignalSum | undefined;
  settings(name: SettingName): readonly SettingSighting[];
  /** Those that are not of a manifest: what programs, their logs and their engines' files say. */
  toldSettings(name: SettingName): readonly SettingSighting[];
}

/** Reads the quantities out of the evidence. */
export function readPicture(gathered: Evidence, memory: readonly MemoryArithmetic[]): Picture {
  const evidence = inOneOrder(gathered);
  const { logs, metrics, settings } = evidence;
  const decisions = decisionsOf(logs);
  const isWritten = writtenIn(evidence.manifests);
  return {
    evidence,
    memory,
    sizes: sizeTable(evidence),
    dynamo: dynamoFacts(settings),
    decisions,
    routerHits: routerHitsOf(metrics, decisions),
    engineHits: engineHitsOf(metrics, logs),
    stores: storesOf(metrics),
    published: publishedOf(metrics),
    gaps: counterOf(metrics, GAP_COUNTERS),
    preemptions: preemptionsOf(metrics, logs),
    kvUsage: usageOf(metrics, logs),
    signal: (signal) => signalOf(logs, signal),
    settings: (wanted) => settings.filter(({ name }) => name === wanted),
    toldSettings: (wanted) => settings.filter((one) => one.name === wanted && !isWritten(one)),
  };
}

/** Decisions from which on "never" means something. */
export const MIN_DECISIONS = 10;
/** A router that finds less is blind, an engine that reuses less reuses nothing. */
const NOTHING_BELOW = 0.01;
/** A router that finds more works, whatever else is so. */
const FINDS_FROM = 0.05;

/** What every source says of a router that found nothing in ten decisions and more; undefined when one says otherwise. */
export function blindness({ routerHits }: Pick<Picture, 'routerHits'>): Share | undefined {
  const enough = routerHits.filter(({ count }) => count >= MIN_DECISIONS);
  return routerHits.every(({ share }) => share < NOTHING_BELOW) ? enough[0] : undefined;
}

/** A router that finds blocks. */
export function findsBlocks({ routerHits }: Pick<Picture, 'routerHits'>): Share | undefined {
  return routerHits.find(({ share, count }) => share >= FINDS_FROM && count >= 2);
}

/** Decisions, however few, of which none found a block. */
export function noneFound({ routerHits }: Pick<Picture, 'routerHits'>): Share | undefined {
  return routerHits.every(({ share }) => share < NOTHING_BELOW) ? routerHits[0] : undefined;
}

/** An engine that had prompts in its cache. */
export function engineReuses({ engineHits }: Pick<Picture, 'engineHits'>): EngineHits | undefined {
  return engineHits !== undefined && engineHits.share >= NOTHING_BELOW ? engineHits : undefined;
}

/** Where in its log a kind of sign stands; undefined without times, or when the log is too short to tell. */
export function courseOf({
  log,
  tally,
}: SignalSum['logs'][number]): { readonly early: number; readonly late: number } | undefined {
  const { firstMs, lastMs } = log;
  const { startMs, bucketMs, counts } = tally.rate;
  if (firstMs === undefined || lastMs === undefined || startMs === undefined) return undefined;
  const span = lastMs - firstMs;
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (span < MIN_SPAN_MS || total === 0 || bucketMs > span / 8) return undefined;
  const share = (from: number, until: number): number =>
    counts.reduce((sum, count, index) => {
      const at = (startMs + index * bucketMs - firstMs) / span;
      return at >= from && at < until ? sum + count : sum;
    }, 0) / total;
  return { early: share(-1, 0.25), late: share(0.75, 2) };
}

/** A log that is shorter says nothing about begin and end. */
const MIN_SPAN_MS = 30_000;

const APPLIED = [
  'dynamo_component_kv_cache_events_applied',
  'dynamo_kvrouter_kv_cache_events_applied',
] as const;
const GAP_COUNTERS = [
  'dynamo_component_kv_publisher_engines_dropped_events_total',
  'dynamo_component_kv_publisher_engines_dropped_events',
] as const;

function originOf({ name }: MetricsPage, text: string): Origin {
  return { place: name, text };
}

function storesOf(pages: readonly MetricsPage[]): StoreCounts | undefined {
  const counted = pages.flatMap((page) => {
    const name = APPLIED.find((wanted) => sumOf(page, wanted) !== undefined);
    if (name === undefined) return [];
    const count = (event_type: string, status: string): number =>
      sumOf(page, name, { event_type, status }) ?? 0;
    const counts = {
      applied: count('stored', 'ok'),
      parentMissing: count('stored', 'parent_block_not_found'),
      removed: count('removed', 'ok'),
      removeMissing: count('removed', 'block_not_found'),
    };
    const { applied, parentMissing, removed, removeMissing } = counts;
    const text = `${name}: stored ok ${applied}, stored parent_block_not_found ${parentMissing}, removed ok ${removed}, removed block_not_found ${removeMissing}`;
    return [{ ...counts, origin: originOf(page, text) }];
  });
  const [first] = counted;
  if (first === undefined) return undefined;
  const sum = (field: 'applied' | 'parentMissing' | 'removed' | 'removeMissing'): number =>
    counted.reduce((total, one) => total + one[field], 0);
  // The page that has most to tell is the one to look at.
  const origin = counted.reduce((best, one) =>
    one.parentMissing + one.applied > best.parentMissing + best.applied ? one : best,
  ).origin;
  return {
    applied: sum('applied'),
    parentMissing: sum('parentMissing'),
    removed: sum('removed'),
    removeMissing: sum('removeMissing'),
    origin,
  };
}

function publishedOf(pages: readonly MetricsPage[]): PublishedCounts | undefined {
  const counted = pages.flatMap((page) => {
    const prefix = 'dynamo_component_kv_publisher_zmq';
    const received = sumOf(page, `${prefix}_events_total`, { stage: 'received' });
    const emptied = sumOf(page, `${prefix}_suspicious_events_total`, { reason: 'empty_store_blocks' });
    const dropped = GAP_COUNTERS.map((name) => sumOf(page, name)).find((value) => value !== undefined);
    if (received === undefined && emptied === undefined) return [];
    const text = `${prefix}_events_total{stage="received"} ${received ?? 'absent'}, ${prefix}_suspicious_events_total{reason="empty_store_blocks"} ${emptied ?? 'absent'}`;
    return [
      {
        received: received ?? 0,
        emptied: emptied ?? 0,
        dropped: dropped ?? 0,
        origin: originOf(page, text),
      },
    ];
  });
  const [first] = counted;
  if (first === undefined) return undefined;
  return {
    received: counted.reduce((sum, { received }) => sum + received, 0),
    emptied: counted.reduce((sum, { emptied }) => sum + emptied, 0),
    dropped: counted.reduce((sum, { dropped }) => sum + dropped, 0),
    origin: (counted.find(({ emptied }) => emptied > 0) ?? first).origin,
  };
}

function counterOf(pages: readonly MetricsPage[], names: readonly string[]): Measure | undefined {
  const counted = pages.flatMap((page) =>
    names.flatMap((name) => {
      const value = sumOf(page, name);
      return value === undefined ? [] : [{ value, origin: originOf(page, `${name} ${value}`) }];
    }),
  );
  const [first] = counted;
  if (first === undefined) return undefined;
  const value = counted.reduce((sum, one) => sum + one.value, 0);
  return { value, origin: (counted.find((one) => one.value > 0) ?? first).origin };
}

/** Summaries of what routers expected to be cached of each prompt, 0 to 1. */
const HIT_SUMMARIES = ['dynamo_component_router_kv_hit_rate', 'kv_accord_router_cached_block_ratio'] as const;

function routerHitsOf(pages: readonly MetricsPage[], decisions: DecisionSum | undefined): readonly Share[] {
  const told = pages.flatMap((page) =>
    HIT_SUMMARIES.flatMap((name) => {
      const sum = sumOf(page, `${name}_sum`);
      const count = sumOf(page, `${name}_count`);
      return sum === undefined || count === undefined || count <= 0
        ? []
        : [
            {
              share: sum / count,
              count,
              origin: originOf(page, `${name}_sum ${sum}, ${name}_count ${count}`),
            },
          ];
    }),
  );
  if (decisions === undefined || decisions.told === 0) return told;
  const share = (decisions.told - decisions.withoutCache) / decisions.told;
  return [...told, { share, count: decisions.told, origin: decisions.origin }];
}

/** Counters of cached and of all prompt tokens, by what each program calls them; the frontend's own come first, as they cover the fleet. */
const TOKEN_COUNTERS: readonly (readonly [cached: string, all: string])[] = [
  ['dynamo_frontend_cached_tokens_sum', 'dynamo_frontend_input_sequence_tokens_sum'],
  ['vllm:prefix_cache_hits_total', 'vllm:prefix_cache_queries_total'],
  ['vllm:gpu_prefix_cache_hits_total', 'vllm:gpu_prefix_cache_queries_total'],
];
const HIT_GAUGES = ['trtllm_kv_cache_hit_rate', 'trtllm:kv_cache_hit_rate', 'sglang:cache_hit_rate'] as const;

function engineHitsOf(pages: readonly MetricsPage[], logs: readonly LogSummary[]): EngineHits | undefined {
  for (const [cachedName, allName] of TOKEN_COUNTERS) {
    const counted = pages.flatMap((page) => {
      const cached = sumOf(page, cachedName);
      const all = sumOf(page, allName);
      return cached === undefined || all === undefined || all <= 0 ? [] : [{ page, cached, all }];
    });
    const [first] = counted;
    if (first === undefined) continue;
    const cachedTokens = counted.reduce((sum, { cached }) => sum + cached, 0);
    const promptTokens = counted.reduce((sum, { all }) => sum + all, 0);
    const origin = originOf(first.page, `${cachedName} ${first.cached}, ${allName} ${first.all}`);
    return { share: cachedTokens / promptTokens, cachedTokens, promptTokens, origin };
  }
  return sglangHits(pages) ?? hitsInLogs(logs) ?? hitGauge(pages);
}

/** SGLang counts what it computed and what it took from its cache under one name. */
function sglangHits(pages: readonly MetricsPage[]): EngineHits | undefined {
  const name = 'sglang:realtime_tokens_total';
  const counted = pages.flatMap((page) => {
    const computed = sumOf(page, name, { mode: 'prefill_compute' });
    if (computed === undefined) return [];
    const cached = sumOf(page, name, { mode: 'prefill_cache' }) ?? 0;
    return [{ page, cached, all: cached + computed }];
  });
  const [first] = counted;
  const promptTokens = counted.reduce((sum, { all }) => sum + all, 0);
  if (first === undefined || promptTokens <= 0) return undefined;
  const cachedTokens = counted.reduce((sum, { cached }) => sum + cached, 0);
  const text = `${name}{mode="prefill_cache"} ${first.cached}, of ${first.all} in prefill`;
  return {
    share: cachedTokens / promptTokens,
    cachedTokens,
    promptTokens,
    origin: originOf(first.page, text),
  };
}

function hitsInLogs(logs: readonly LogSummary[]): EngineHits | undefined {
  const counted = logs.flatMap(({ decisions, engine }) => [
    ...(decisions === undefined || decisions.promptTokens === 0
      ? []
      : [{ cached: decisions.engineCachedTokens, all: decisions.promptTokens, origin: decisions.last }]),
    ...(engine === undefined || engine.promptTokens === 0
      ? []
      : [{ cached: engine.cachedTokens, all: engine.promptTokens, origin: engine.last }]),
  ]);
  const [first] = counted;
  if (first !== undefined) {
    const cachedTokens = counted.reduce((sum, { cached }) => sum + cached, 0);
    const promptTokens = counted.reduce((sum, { all }) => sum + all, 0);
    return { share: cachedTokens / promptTokens, cachedTokens, promptTokens, origin: first.origin };
  }
  for (const { engine } of logs) {
    if (engine?.prefixHitRate !== undefined) {
      return { share: engine.prefixHitRate.max, cachedTokens: 0, promptTokens: 0, origin: engine.last };
    }
  }
  return undefined;
}

function hitGauge(pages: readonly MetricsPage[]): EngineHits | undefined {
  const told = pages.flatMap((page) =>
    HIT_GAUGES.flatMap((name) => {
      const values = (page.samples.get(name) ?? []).map(({ valueText }) => Number(valueText));
      const share = Math.max(...values.filter(isShare), -1);
      return share < 0
        ? []
        : [{ share, cachedTokens: 0, promptTokens: 0, origin: originOf(page, `${name} ${share}`) }];
    }),
  );
  return told.reduce<EngineHits | undefined>(
    (best, one) => (best === undefined || one.share > best.share ? one : best),
    undefined,
  );
}

function isShare(value: number): boolean {
  return value >= 0 && value <= 1;
}

function preemptionsOf(pages: readonly MetricsPage[], logs: readonly LogSummary[]): Measure | undefined {
  const counted = counterOf(pages, ['vllm:num_preemptions_total', 'sglang:num_retracted_reqs']);
  const told = signalOf(logs, 'preemption');
  if (told !== undefined && told.count > (counted?.value ?? 0)) {
    return { value: told.count, origin: told.first };
  }
  return counted;
}

const USAGE_GAUGES = [
  'vllm:kv_cache_usage_perc',
  'vllm:gpu_cache_usage_perc',
  'sglang:token_usage',
  'trtllm_kv_cache_utilization',
] as const;

function usageOf(pages: readonly MetricsPage[], logs: readonly LogSummary[]): Measure | undefined {
  const told = [
    ...pages.flatMap((page) =>
      USAGE_GAUGES.flatMap((name) =>
        (page.samples.get(name) ?? [])
          .map(({ valueText }) => Number(valueText))
          .filter(isShare)
          .map((value) => ({ value, origin: originOf(page, `${name} ${value}`) })),
      ),
    ),
    ...logs.flatMap(({ engine }) =>
      engine?.kvCacheUsage === undefined ? [] : [{ value: engine.kvCacheUsage.max, origin: engine.last }],
    ),
  ];
  return told.reduce<Measure | undefined>(
    (best, one) => (best === undefined || one.value > best.value ? one : best),
    undefined,
  );
}

function signalOf(logs: readonly LogSummary[], wanted: Signal): SignalSum | undefined {
  const found = logs.flatMap((log) => {
    const tally = log.signals.get(wanted);
    return tally === undefined || tally.count <= 0 ? [] : [{ log, tally }];
  });
  const [first] = found;
  if (first === undefined) return undefined;
  return {
    count: found.reduce((sum, { tally }) => sum + tally.count, 0),
    first: first.tally.first,
    byWorker: addedUp(found.map(({ tally }) => tally.byWorker)),
    values: addedUp(found.map(({ tally }) => tally.values)),
    logs: found,
  };
}

function decisionsOf(logs: readonly LogSummary[]): DecisionSum | undefined {
  const found = logs.flatMap(({ decisions }) => (decisions === undefined ? [] : [decisions]));
  const [first] = found;
  if (first === undefined) return undefined;
  const trees = found.flatMap(({ largestTreeSize }) =>
    largestTreeSize === undefined ? [] : [largestTreeSize],
  );
  const sum = (field: 'count' | 'told' | 'withoutCache' | 'cachedBlocks'): number =>
    found.reduce((total, one) => total + one[field], 0);
  return {
    count: sum('count'),
    told: sum('told'),
    withoutCache: sum('withoutCache'),
    cachedBlocks: sum('cachedBlocks'),
    largestTreeSize: trees.length === 0 ? undefined : Math.max(...trees),
    byWorker: addedUp(found.map(({ byWorker }) => byWorker)),
    origin: (found.find(({ told }) => told > 0) ?? first).last,
  };
}

function addedUp(maps: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const map of maps) {
    for (const [key, value] of map) sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return sums;
}
