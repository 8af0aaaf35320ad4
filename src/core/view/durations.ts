import type { ViewDurations } from './view-document.js';

/** Width of a bucket against the one below it: what is read in its middle is at most 10 % wrong. */
const GROWTH = 1.2;

/** All that is shorter is in the first bucket, all that is longer in the last one. */
const LEAST_MS = 1;
const MOST_MS = 600_000;

const BUCKETS = Math.ceil(Math.log(MOST_MS / LEAST_MS) / Math.log(GROWTH)) + 1;

/** Durations of many requests, by how long they were: 300 bytes, however many there are. */
export class Durations {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #sumMs = 0;

  /** Takes one; what is no duration is left out. */
  add(durationMs: number): void {
    if (!(durationMs >= 0)) return;
    const bounded = Math.min(Math.max(durationMs, LEAST_MS), MOST_MS);
    const at = Math.floor(Math.log(bounded / LEAST_MS) / Math.log(GROWTH));
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#count += 1;
    this.#sumMs += durationMs;
  }

  /** Forgets all. */
  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
    this.#sumMs = 0;
  }

  /** Undefined where there is none. */
  read(): ViewDurations | undefined {
    if (this.#count === 0) return undefined;
    return {
      count: this.#count,
      meanMs: rounded(this.#sumMs / this.#count),
      p50Ms: this.#quantile(0.5),
      p90Ms: this.#quantile(0.9),
      p99Ms: this.#quantile(0.99),
    };
  }

  #quantile(part: number): number {
    let left = Math.ceil(part * this.#count);
    let at = 0;
    for (; at < BUCKETS - 1; at += 1) {
      left -= this.#counts[at] as number;
      if (left <= 0) break;
    }
    return rounded(LEAST_MS * GROWTH ** (at + 0.5));
  }
}

/** Three digits are more than any of this is exact. */
function rounded(ms: number): number {
  return ms === 0 ? 0 : Number(ms.toPrecision(3));
}
