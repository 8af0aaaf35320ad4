import type { Gauge, Spread } from './log-summary.js';

/** Width of a class: values in it differ by at most 2 percent. */
const CLASS_RATIO = 1.02;
const SMALLEST = 0.001;
const LARGEST = 1e9;

/** Count, middle and 95th percentile of any number of values, in bounded memory and within two percent. */
export class SpreadTally {
  readonly #classes = new Map<number, number>();
  #count = 0;

  add(value: number): void {
    const bounded = Math.min(Math.max(value, SMALLEST), LARGEST);
    const index = Math.floor(Math.log(bounded / SMALLEST) / Math.log(CLASS_RATIO));
    this.#classes.set(index, (this.#classes.get(index) ?? 0) + 1);
    this.#count += 1;
  }

  get spread(): Spread | undefined {
    if (this.#count === 0) return undefined;
    return { count: this.#count, median: this.#quantile(0.5), p95: this.#quantile(0.95) };
  }

  #quantile(share: number): number {
    const sorted = [...this.#classes].sort(([left], [right]) => left - right);
    let below = 0;
    for (const [index, count] of sorted) {
      below += count;
      if (below >= share * this.#count) return SMALLEST * CLASS_RATIO ** (index + 0.5);
    }
    return 0;
  }
}

/** A number that is reported again and again. */
export class GaugeTally {
  #count = 0;
  #sum = 0;
  #max = 0;
  #last = 0;

  add(value: number | undefined): void {
    if (value === undefined) return;
    this.#count += 1;
    this.#sum += value;
    this.#max = Math.max(this.#max, value);
    this.#last = value;
  }

  get gauge(): Gauge | undefined {
    if (this.#count === 0) return undefined;
    return { count: this.#count, mean: this.#sum / this.#count, max: this.#max, last: this.#last };
  }
}
