import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import type { RateSeries } from './log-summary.js';

const MAX_BUCKETS = 240;
const FIRST_BUCKET_MS = 1_000;

/**
 * Counts over time, in at most 240 buckets whose width doubles as the time
 * between the first and the last grows. They begin at whole multiples of their
 * width, so that lines may come in any order and give the same.
 */
export class RateBuckets {
  #bucketMs = FIRST_BUCKET_MS;
  #counts: number[] = [];
  #sums: number[] = [];
  /** Number of the first bucket since 1970; meaningless without buckets. */
  #first = 0;
  #isUnzoned = false;

  /** The same at the time of a line. */
  addLine({ ms, isUnzoned }: Pick<LogLine, 'ms' | 'isUnzoned'>, amount: number, count = 1): void {
    if (ms !== undefined && isUnzoned === true) this.#isUnzoned = true;
    this.add(ms, amount, count);
  }

  /** One more at `ms`, with something that is summed beside it. What has no time is not in the series. */
  add(ms: number | undefined, amount: number, count = 1): void {
    if (ms === undefined) return;
    let bucket = Math.floor(ms / this.#bucketMs);
    const place = bucket - this.#first;
    if (place >= 0 && place < this.#counts.length) {
      this.#counts[place] = (this.#counts[place] as number) + count;
      this.#sums[place] = (this.#sums[place] as number) + amount;
      return;
    }
    if (this.#counts.length === 0) this.#first = bucket;
    while (this.#lengthWith(bucket) > MAX_BUCKETS) {
      this.#double();
      bucket = Math.floor(ms / this.#bucketMs);
    }
    while (bucket < this.#first) {
      this.#counts.unshift(0);
      this.#sums.unshift(0);
      this.#first -= 1;
    }
    while (bucket >= this.#first + this.#counts.length) {
      this.#counts.push(0);
      this.#sums.push(0);
    }
    const at = bucket - this.#first;
    this.#counts[at] = (this.#counts[at] as number) + count;
    this.#sums[at] = (this.#sums[at] as number) + amount;
  }

  get counts(): RateSeries {
    return this.#seriesOf(this.#counts);
  }

  /** In the same buckets as the counts. */
  get sums(): RateSeries {
    return this.#seriesOf(this.#sums);
  }

  #seriesOf(values: readonly number[]): RateSeries {
    const startMs = values.length === 0 ? undefined : this.#first * this.#bucketMs;
    return {
      startMs,
      bucketMs: this.#bucketMs,
      counts: [...values],
      ...(this.#isUnzoned ? { isUnzoned: true } : {}),
    };
  }

  #lengthWith(bucket: number): number {
    const last = this.#first + this.#counts.length - 1;
    return Math.max(last, bucket) - Math.min(this.#first, bucket) + 1;
  }

  #double(): void {
    const first = Math.floor(this.#first / 2);
    this.#counts = merged(this.#counts, this.#first - 2 * first);
    this.#sums = merged(this.#sums, this.#first - 2 * first);
    this.#first = first;
    this.#bucketMs *= 2;
  }
}

/** Two values to one; `offset` is 1 when the first stands alone. */
function merged(values: readonly number[], offset: number): number[] {
  const sums: number[] = [];
  values.forEach((value, index) => {
    const at = Math.floor((index + offset) / 2);
    sums[at] = (sums[at] ?? 0) + value;
  });
  return sums;
}
