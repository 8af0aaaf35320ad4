import type { PromptRun } from './prompt-run.js';

const FIRST_BUCKETS = 16;
/** Buckets for each run above which they become fewer. */
const MOST_BUCKETS_OF_RUN = 4;

/**
 * Runs by the one before them and their first block. Buckets are added and taken away one at a time, so that no request pays for
 * all of them. A `Map` would do, but where runs come and go V8 makes it a new table ever so often, which keeps alive what stood in
 * the last one.
 */
export class RunTable {
  readonly #buckets: (PromptRun | undefined)[] = new Array(FIRST_BUCKETS).fill(undefined);
  /** The power of two that the buckets were as many as last: those beyond share out what stood in the first ones. */
  #level = FIRST_BUCKETS;
  #count = 0;

  find(before: PromptRun, lo: number, hi: number): PromptRun | undefined {
    const hash = mix(before.number, lo, hi);
    let run = this.#buckets[this.#bucketOf(hash)];
    while (run !== undefined) {
      if (run.hash === hash && run.before === before && run.words[0] === lo && run.words[1] === hi)
        return run;
      run = run.nextInBucket;
    }
    return undefined;
  }

  /** For one that is not in it and stands in its place. */
  add(run: PromptRun): void {
    run.hash = mix(run.before?.number ?? 0, run.words[0] as number, run.words[1] as number);
    this.#count += 1;
    if (this.#count > this.#buckets.length) this.#grow();
    this.#link(run);
  }

  /** For one that is in it and stands where it stood when it was added. */
  delete(run: PromptRun): void {
    const { nextInBucket: next, earlierInBucket: earlier } = run;
    if (next !== undefined) next.earlierInBucket = earlier;
    if (earlier !== undefined) earlier.nextInBucket = next;
    else this.#buckets[this.#bucketOf(run.hash)] = next;
    run.nextInBucket = undefined;
    run.earlierInBucket = undefined;
    this.#count -= 1;
    for (let step = 0; step < MOST_BUCKETS_OF_RUN && this.#hasTooMany; step += 1) this.#shrink();
  }

  get #hasTooMany(): boolean {
    const { length } = this.#buckets;
    return length > FIRST_BUCKETS && MOST_BUCKETS_OF_RUN * this.#count < length;
  }

  #bucketOf(hash: number): number {
    const wide = hash & (2 * this.#level - 1);
    return wide < this.#buckets.length ? wide : wide - this.#level;
  }

  #link(run: PromptRun): void {
    const bucket = this.#bucketOf(run.hash);
    const next = this.#buckets[bucket];
    run.earlierInBucket = undefined;
    run.nextInBucket = next;
    if (next !== undefined) next.earlierInBucket = run;
    this.#buckets[bucket] = run;
  }

  /** One bucket more, which takes its part of an earlier one. */
  #grow(): void {
    const from = this.#buckets.length - this.#level;
    this.#buckets.push(undefined);
    const shared = this.#buckets[from];
    this.#buckets[from] = undefined;
    this.#linkAll(shared);
    if (this.#buckets.length === 2 * this.#level) this.#level *= 2;
  }

  /** One bucket less: what stood there stands in an earlier one. */
  #shrink(): void {
    if (this.#buckets.length === this.#level) this.#level /= 2;
    this.#linkAll(this.#buckets.pop());
  }

  /** Those of a bucket that is none any more, each in its own. */
  #linkAll(first: PromptRun | undefined): void {
    let run = first;
    while (run !== undefined) {
      const next: PromptRun | undefined = run.nextInBucket;
      this.#link(run);
      run = next;
    }
  }
}

/** Every bit of all three has to come to the low bits. */
function mix(before: number, lo: number, hi: number): number {
  let hash = Math.imul(before ^ 0x27d4_eb2f, 0x9e37_79b1);
  hash = Math.imul(hash ^ (hash >>> 15) ^ lo, 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13) ^ hi, 0xc2b2_ae35);
  hash = Math.imul(hash ^ (hash >>> 16), 0x27d4_eb2d);
  return hash ^ (hash >>> 15);
}
