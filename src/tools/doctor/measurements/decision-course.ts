import type { Signal } from '../../../engines/diagnosis/signals.js';
import type { Origin } from '../evidence.js';
import type { DecisionTally, LogSummary, RateSeries } from '../logs/log-summary.js';
import { totalOf } from './measure.js';

/** Decisions of a time, and those of them for which a block was found. */
export interface DecisionCount {
  readonly decisions: number;
  readonly found: number;
}

/** A router that found blocks, and from a time on finds none to the end of its log. */
export interface EndedHits extends DecisionCount {
  readonly sinceMs: number;
  /** What was found until then, 0 to 1. */
  readonly before: number;
  /** Tokens of the prompts of the second half of this time, and those that engines had cached; 0 where no line reports them. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly origin: Origin;
}

/** Fewer decisions without a block may be a pause between conversations. */
const MIN_TAIL = 30;
/** Fewer say nothing of how much a router used to find. */
const MIN_BEFORE = 10;
/** A router that found less before has not ended to find. */
const FOUND_BEFORE = 0.05;
/** Of a router that has ended to find, no more than this part of the decisions is left. */
const LEFT = 0.01;
/** Decisions that find nothing are no chance below this probability. */
const CHANCE = 1e-6;
/** A worker that is to blame may say so before the last conversation of the old ones has ended. */
const LEAD_MS = 600_000;
/** Warnings for each decision from which on stores without parents are no loss here and there. */
const WARNING_PART = 0.1;
/** Part of prompt tokens from engines' caches from which on there was something to find. */
const REUSED = 0.05;

/** Lines of what blinds a router. New prompts that share nothing write none of them. */
const BLINDING: readonly Signal[] = [
  'block_not_published',
  'router_size_mismatch',
  'publisher_failed',
  'events_unreachable',
  'events_unreadable',
];

/** Counts of a series in the buckets that begin at a time or later. */
function countFrom({ startMs, bucketMs, counts }: RateSeries, ms: number): number {
  if (startMs === undefined) return 0;
  return counts.reduce((sum, count, index) => (startMs + index * bucketMs >= ms ? sum + count : sum), 0);
}

/** The decisions of all logs from a time on; undefined where their lines have no time that can be compared. */
export function decisionsFrom(logs: readonly LogSummary[], ms: number): DecisionCount | undefined {
  const timed = timedDecisions(logs);
  if (timed.length === 0) return undefined;
  return {
    decisions: totalOf(timed, ({ rate }) => countFrom(rate, ms)),
    found: totalOf(timed, ({ foundRate }) => countFrom(foundRate, ms)),
  };
}

/** When the first line of some kinds was written; undefined where none has a time that can be compared. */
export function firstTimeOf(logs: readonly LogSummary[], wanted: readonly Signal[]): number | undefined {
  const times = ratesOf(logs, wanted).flatMap(({ startMs }) => startMs ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

function timedDecisions(logs: readonly LogSummary[]): readonly DecisionTally[] {
  return logs.flatMap(({ decisions }) =>
    decisions?.rate.startMs !== undefined && hasZone(decisions.rate) ? decisions : [],
  );
}

/** Times without a zone are hours away from those of other lines. */
function hasZone({ isUnzoned }: RateSeries): boolean {
  return isUnzoned !== true;
}

function ratesOf(logs: readonly LogSummary[], wanted: readonly Signal[]): readonly RateSeries[] {
  return logs
    .flatMap(({ signals }) => wanted.flatMap((name) => signals.get(name)?.rate ?? []))
    .filter(hasZone);
}

/**
 * The router whose hits have ended for good, with something that says why: lines of
 * what blinds it, or engines that go on to find. New prompts that share nothing end
 * hits as well, and are no fault.
 */
export function endedHitsOf(logs: readonly LogSummary[]): EndedHits | undefined {
  return [
    ...logs.flatMap(({ decisions }) => (decisions === undefined ? [] : [[decisions]])),
    ...piecesOf(logs),
  ]
    .flatMap((course) => endOf(course, 0) ?? endOf(course, LEFT) ?? [])
    .find((ended) => {
      const { sinceMs, decisions, promptTokens, cachedTokens } = ended;
      const missing = signalsFrom(logs, ['parent_block_not_found'], sinceMs);
      return (
        missing >= Math.max(MIN_BEFORE, decisions * WARNING_PART) ||
        signalsFrom(logs, BLINDING, sinceMs - LEAD_MS) > 0 ||
        (promptTokens > 0 && cachedTokens >= promptTokens * REUSED)
      );
    });
}

/** Logs that go on with each other, as pieces of one that was rotated: one after the other, with a worker in common. */
function piecesOf(logs: readonly LogSummary[]): readonly (readonly DecisionTally[])[] {
  const ordered = [...timedDecisions(logs)].sort((a, b) => startOf(a) - startOf(b));
  const courses: DecisionTally[][] = [];
  for (const tally of ordered) {
    const course = courses.find((pieces) => pieces.every((piece) => goesOn(piece, tally)));
    if (course === undefined) courses.push([tally]);
    else course.push(tally);
  }
  return courses.filter(({ length }) => length > 1);
}

function goesOn(before: DecisionTally, after: DecisionTally): boolean {
  return endMsOf(before.rate) <= startOf(after) + after.rate.bucketMs && hasCommonWorker(before, after);
}

function hasCommonWorker({ byWorker }: DecisionTally, after: DecisionTally): boolean {
  return [...byWorker.keys()].some((worker) => worker !== '' && after.byWorker.has(worker));
}

function startOf({ rate: { startMs = 0 } }: DecisionTally): number {
  return startMs;
}

function endMsOf({ startMs = 0, bucketMs, counts }: RateSeries): number {
  return startMs + counts.length * bucketMs;
}

function signalsFrom(logs: readonly LogSummary[], wanted: readonly Signal[], ms: number): number {
  return totalOf(ratesOf(logs, wanted), (rate) => countFrom(rate, ms));
}

/** The earliest time from which on no more than a part of the decisions finds a block, where before it much was found. */
function endOf(course: readonly DecisionTally[], part: number): EndedHits | undefined {
  const [first] = course;
  const last = course.at(-1);
  if (first?.rate.startMs === undefined || last === undefined) return undefined;
  const startMs = first.rate.startMs;
  const starts = course.flatMap(({ rate }) =>
    rate.counts.map((_, at) => (rate.startMs ?? 0) + at * rate.bucketMs),
  );
  const decisionsSince = (ms: number): number => totalOf(course, ({ rate }) => countFrom(rate, ms));
  const foundSince = (ms: number): number => totalOf(course, ({ foundRate }) => countFrom(foundRate, ms));
  const sinceMs = starts.find((ms) => {
    const count = decisionsSince(ms);
    return count >= MIN_TAIL && foundSince(ms) <= count * part;
  });
  if (sinceMs === undefined) return undefined;
  const [count, found] = [decisionsSince(sinceMs), foundSince(sinceMs)];
  const earlier = decisionsSince(startMs) - count;
  const before = earlier < MIN_BEFORE ? 0 : (foundSince(startMs) - found) / earlier;
  if (before < FOUND_BEFORE || (1 - Math.min(before, 0.95)) ** count > CHANCE) return undefined;
  // Requests that were found before end later than the next ones begin.
  const laterMs = (sinceMs + endMsOf(last.rate)) / 2;
  return {
    sinceMs,
    before,
    decisions: count,
    found,
    promptTokens: totalOf(course, ({ promptRate }) => countFrom(promptRate, laterMs)),
    cachedTokens: totalOf(course, ({ engineCachedRate }) => countFrom(engineCachedRate, laterMs)),
    origin: last.last,
  };
}
