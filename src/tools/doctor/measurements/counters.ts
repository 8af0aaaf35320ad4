import type { Origin } from '../evidence.js';
import type { LogSummary } from '../logs/log-summary.js';
import { KNOWN_PAGES } from '../metrics/known-pages.js';
import { type MetricsPage, sumOf, sumOfWanted, wantedText } from '../metrics/metrics-page.js';
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

const APPLIED = KNOWN_PAGES.flatMap(({ appliedEvents = [] }) => appliedEvents);
const PUBLISHED = KNOWN_PAGES.flatMap(({ publishedEvents }) => publishedEvents ?? []);
const GAP_COUNTERS = KNOWN_PAGES.flatMap(({ droppedEvents = [] }) => droppedEvents);
const PREEMPTION_COUNTERS = KNOWN_PAGES.flatMap(({ preemptions = [] }) => preemptions);
const USAGE_GAUGES = KNOWN_PAGES.flatMap(({ cacheUsage = [] }) => cacheUsage);

/** What routers counted of the events that reached them. */
export function storesOf(pages: readonly MetricsPage[]): StoreCounts | undefined {
  const counted = pages.flatMap((page): readonly StoreCounts[] => {
    const events = APPLIED.find(
      ({ metric, countedWith }) =>
        sumOf(page, metric) !== undefined ||
        (countedWith !== undefined && (sumOf(page, countedWith) ?? 0) > 0),
    );
    if (events === undefined) return [];
    const { metric } = events;
    const count = (labels: Readonly<Record<string, string>>): number => sumOf(page, metric, labels) ?? 0;
    const applied = count(events.applied);
    const parentMissing = count(events.parentMissing);
    const removed = count(events.removed);
    const removeMissing = count(events.removeMissing);
    const text =
      events.countedWith === undefined
        ? `${metric}: stored ok ${applied}, stored parent_block_not_found ${parentMissing}, removed ok ${removed}, removed block_not_found ${removeMissing}`
        : `${metric} ${applied}`;
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

/** What the publishers of workers counted. */
export function publishedOf(pages: readonly MetricsPage[]): PublishedCounts | undefined {
  const counted = pages.flatMap((page): readonly PublishedCounts[] =>
    PUBLISHED.flatMap(({ received: receivedBy, emptied: emptiedBy }) => {
      const received = sumOfWanted(page, receivedBy);
      const emptied = sumOfWanted(page, emptiedBy);
      if (received === undefined && emptied === undefined) return [];
      const dropped = GAP_COUNTERS.map((name) => sumOf(page, name)).find((value) => value !== undefined);
      const text = `${wantedText(receivedBy)} ${received ?? 'absent'}, ${wantedText(emptiedBy)} ${emptied ?? 'absent'}`;
      const origin = originOn(page, text);
      return [{ received: received ?? 0, emptied: emptied ?? 0, dropped: dropped ?? 0, origin }];
    }),
  );
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

/** The same while requests waited: the mean of the log in which it is highest, and what gauges said when they were read. */
export function usageWhileWaitingOf(
  pages: readonly MetricsPage[],
  logs: readonly LogSummary[],
): Measure | undefined {
  const inLogs = logs.flatMap(({ engine }) =>
    engine?.usageWhileWaiting === undefined
      ? []
      : [{ value: engine.usageWhileWaiting.mean, origin: engine.last }],
  );
  const onPages = pages.flatMap((page) => sharesOn(page, USAGE_GAUGES));
  return largestBy(inLogs.length === 0 ? onPages : inLogs, ({ value }) => value);
}

/** Readings of engines in which prompts found nothing although half of the KV cache and more was free. */
export function missesWithRoomOf(logs: readonly LogSummary[]): Measure | undefined {
  const seen = logs.flatMap(({ engine }) =>
    engine === undefined || engine.missesWithRoom === 0
      ? []
      : [{ value: engine.missesWithRoom, origin: engine.last }],
  );
  return seen[0] && { value: totalOf(seen, ({ value }) => value), origin: seen[0].origin };
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
