import type { Signal } from '../../../engines/diagnosis/signals.js';
import type { Origin } from '../sightings.js';
import { BoundedCounts } from './bounded-counts.js';
import type { SignalTally } from './log-summary.js';
import { RateBuckets } from './rate-buckets.js';

const MAX_WORKERS = 64;
const MAX_VALUES = 16;

/** Counts the lines of one sign. */
export class SignalCount {
  readonly rate: RateBuckets = new RateBuckets();
  readonly byWorker: BoundedCounts = new BoundedCounts(MAX_WORKERS);
  readonly values: BoundedCounts = new BoundedCounts(MAX_VALUES);
  readonly first: Origin;
  /** The error right before one of them that no rule knows. */
  before: Origin | undefined;
  count = 0;
  /** The last line that was counted: a second sign of the same kind in it is the same one. */
  lastLine = 0;

  constructor(first: Origin) {
    this.first = first;
  }
}

/** What was counted. */
export function signalTally(
  signal: Signal,
  { count, rate, byWorker, values, first, before }: SignalCount,
): SignalTally {
  return {
    signal,
    count,
    rate: rate.counts,
    byWorker: byWorker.counts,
    first,
    values: values.counts,
    ...(before === undefined ? {} : { before }),
  };
}
