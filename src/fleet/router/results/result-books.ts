import type { Clock } from '../../../edge/platform/clock.js';
import type { Decision, Usage } from '../routing.js';
import { type Amendment, type Comparison, compare, type Reported, readReported } from './compare.js';
import type { Prediction } from './prediction.js';
import { NO_RESULTS, type ResultCounts } from './result-window.js';
import type { Stored } from './store-gauge.js';
import { type RankResults, type Recorded, WorkerBook } from './worker-book.js';

/** What came of one request whose engine's count is known. */
export interface Result extends Recorded {
  readonly prediction: Prediction;
  readonly reported: Reported;
  readonly comparison: Comparison;
}

/**
 * Predicted against reported tokens of one group, by worker and rank. A worker
 * has one book for each start of its engine; it ends with it, and with the
 * worker. Memory: 4 KiB a rank that ever served a request.
 */
export class ResultBooks {
  readonly #clock: Clock;
  readonly #books = new Map<string, WorkerBook>();
  /** By target; results of others come too late. */
  #instances: ReadonlyMap<string, string> = new Map();
  #epoch = 0;

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /**
   * What the engine reported of a request, where it did and that can be true.
   * To be called once for each request that its engine reported a usage of.
   */
  read(decision: Decision, { promptTokens, cachedTokens }: Usage): Reported | undefined {
    if (cachedTokens !== undefined && readReported(promptTokens, cachedTokens) === undefined)
      return undefined;
    const book = this.#bookOf(decision);
    const count = book === undefined ? cachedTokens : book.readCount(cachedTokens);
    return count === undefined ? undefined : readReported(promptTokens, count);
  }

  /** A new epoch, whose views are made again. Sums since the engines' starts stay. */
  begin(epoch: number): void {
    this.#epoch = epoch;
    for (const book of this.#books.values()) book.begin();
  }

  /** Takes one request; undefined where its epoch, its worker or its engine's start is over. */
  record(prediction: Prediction, reported: Reported, amendment?: Amendment): Result | undefined {
    const { decision } = prediction;
    const book = this.#bookOf(decision);
    if (book === undefined || decision.epoch !== this.#epoch) return undefined;
    const comparison = compare(prediction, reported, amendment);
    const recorded = book.record(decision, comparison, this.#clock.monotonicMs());
    return { prediction, reported, comparison, ...recorded };
  }

  /** Takes what became of the blocks of one prompt that a rank computed; undefined as above. */
  recordStored(decision: Decision, stored: Stored): Recorded | undefined {
    const book = this.#bookOf(decision);
    if (book === undefined || decision.epoch !== this.#epoch) return undefined;
    return book.recordStored(decision, stored, this.#clock.monotonicMs());
  }

  /** Every rank that served a request, by worker. */
  results(): RankResults[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#books.values()].flatMap((book) => book.results(nowMs));
  }

  /** What was counted of every worker since its engine's start, all its ranks together. */
  *totals(): Iterable<readonly [target: string, total: ResultCounts]> {
    for (const [target, book] of this.#books) yield [target, sumCounts(book.totals())];
  }

  /** Those of one worker; none where it served no request. */
  resultsOf(target: string): RankResults[] {
    return this.#books.get(target)?.results(this.#clock.monotonicMs()) ?? [];
  }

  /** The engine starts that there are, by target: all others are forgotten. */
  keepOnly(instances: ReadonlyMap<string, string>): void {
    this.#instances = instances;
    for (const [target, { instanceId }] of this.#books)
      if (instances.get(target) !== instanceId) this.#books.delete(target);
  }

  #bookOf({ target, instanceId }: Decision): WorkerBook | undefined {
    if (this.#instances.get(target) !== instanceId) return undefined;
    const known = this.#books.get(target);
    if (known !== undefined) return known;
    const book = new WorkerBook(target, instanceId);
    this.#books.set(target, book);
    return book;
  }
}

/** The sums of several. */
export function sumCounts(counts: Iterable<ResultCounts>): ResultCounts {
  const sums = { ...NO_RESULTS } as { -readonly [Key in keyof ResultCounts]: number };
  for (const one of counts)
    for (const key of Object.keys(sums) as (keyof ResultCounts)[]) sums[key] += one[key];
  return sums;
}
