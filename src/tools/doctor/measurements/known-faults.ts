import type { CauseId } from '../diagnosis.js';
import type { Origin } from '../evidence.js';
import type { KnownFault } from '../known-faults/known-fault.js';
import { MAX_EXCERPT_LINES } from '../logs/excerpt-lines.js';
import type { KnownFaultSighting, LogSummary } from '../logs/log-summary.js';

/** Lines between two of one event: other threads and a traceback write in between. */
const NEAR_LINES = 40;

/** Sentences of one known fault over all logs. */
export interface KnownFaultSum {
  readonly fault: KnownFault;
  readonly count: number;
  readonly first: Origin;
  readonly values: readonly string[];
  /** What of a line is the same in all of them. */
  readonly about: string;
}

/**
 * Known faults that came often enough, the surest and then the first of a log before others, and of those of one line the most
 * particular; of one cause where it is named.
 */
export function knownFaultsOf(logs: readonly LogSummary[], cause?: CauseId): readonly KnownFaultSum[] {
  return sumsOf(logs, cause).filter(({ fault: { atLeast = 1 }, count }) => count >= atLeast);
}

/** Of excerpts: known faults that came less often than it takes to be one. Whether they passed, a few lines do not show. */
export function rareFaultsOf(logs: readonly LogSummary[]): readonly KnownFaultSum[] {
  return sumsOf(logs.filter(({ lines }) => lines <= MAX_EXCERPT_LINES)).filter(
    ({ fault: { atLeast = 1 }, count }) => count < atLeast,
  );
}

/** In the order of `knownFaultsOf`, however often they came. */
function sumsOf(logs: readonly LogSummary[], cause?: CauseId): readonly KnownFaultSum[] {
  const sums = new Map<string, KnownFaultSum & { readonly firstLine: number }>();
  for (const { knownFaults = [] } of logs) {
    for (const one of knownFaults.filter((seen) => !isSaidNear(seen, knownFaults))) {
      const { id } = one.fault;
      if (cause !== undefined && one.fault.cause !== cause) continue;
      const sum = sums.get(id);
      sums.set(id, sum === undefined ? one : { ...sum, count: sum.count + one.count });
    }
  }
  return [...sums.values()].sort(
    (a, b) =>
      Number(a.fault.isSign === true) - Number(b.fault.isSign === true) ||
      a.firstLine - b.firstLine ||
      b.about.length - a.about.length ||
      patternLength(b) - patternLength(a),
  );
}

/** Whether a row that has its reason, or says it more exactly, is of a line near by; one that came too seldom to be named hides none. */
function isSaidNear(
  { fault, firstLine }: KnownFaultSighting,
  beside: readonly KnownFaultSighting[],
): boolean {
  const { follows } = fault;
  if (follows === undefined) return false;
  return beside.some(
    ({ fault: { id, atLeast = 1 }, count, firstLine: otherLine }) =>
      follows.includes(id) && count >= atLeast && Math.abs(otherLine - firstLine) <= NEAR_LINES,
  );
}

/** A row that asks for more than another with the same words is the more particular one. */
function patternLength({ fault }: KnownFaultSum): number {
  return fault.pattern?.source.length ?? 0;
}
