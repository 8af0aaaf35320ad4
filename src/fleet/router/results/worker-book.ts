import type { Comparison } from './compare.js';
import { DoubtGauge } from './doubt-gauge.js';
import { doubtMessage, storeDoubtMessage } from './doubt-messages.js';
import { NO_RESULTS, type ResultCounts, ResultWindow } from './result-window.js';
import { type Stored, StoreGauge } from './store-gauge.js';

/**
 * Whether an engine reports how many prompt tokens it found cached. `silent`:
 * it never did, of requests that it reported a usage of; `unknown`: there was
 * no such request yet.
 */
export type Reporting = 'unknown' | 'silent' | 'reports';

/** What came of the requests of one rank. */
export interface RankResults {
  readonly target: string;
  readonly instanceId: string;
  readonly rank: number;
  readonly reporting: Reporting;
  /** Of the last requests. */
  readonly window: ResultCounts;
  /** Since the engine's start, as far as it was seen here. */
  readonly total: ResultCounts;
  readonly isDoubted: boolean;
  /** See `DoubtGauge`. */
  readonly missingRequests: number;
  /** The numbers and the likeliest cause, from when the doubt was raised; empty when there is none. */
  readonly doubtReason: string;
}

/** What one request did to the book of its rank. */
export interface Recorded {
  readonly contradicts: boolean;
  /** Whether the rank is now doubted and was not, or the other way round. */
  readonly hasTurned: boolean;
  /**
   * While the rank is doubted: the part of what its view promised that the
   * requests of its window found, 0 to 1. Undefined while it is not.
   */
  readonly trust: number | undefined;
}

/** Where a request was. */
export interface RankPlace {
  readonly rank: number;
  /** How many ranks the worker has. */
  readonly rankCount: number;
}

interface RankBook {
  window: ResultWindow;
  gauge: DoubtGauge;
  stores: StoreGauge;
  doubtReason: string;
  total: ResultCounts;
}

/** The books of one engine start: predicted against reported tokens, by rank. */
export class WorkerBook {
  readonly target: string;
  readonly instanceId: string;
  readonly #ranks = new Map<number, RankBook>();
  #reporting: Reporting = 'unknown';

  constructor(target: string, instanceId: string) {
    this.target = target;
    this.instanceId = instanceId;
  }

  get reporting(): Reporting {
    return this.#reporting;
  }

  /**
   * What an engine's count means. Some frontends leave it out when nothing was
   * cached, and all do so while it is switched off: what is left out is 0 only
   * of an engine that has reported a number before. Undefined: not known.
   */
  readCount(cachedTokens: number | undefined): number | undefined {
    if (cachedTokens !== undefined) this.#reporting = 'reports';
    else if (this.#reporting === 'reports') return 0;
    else this.#reporting = 'silent';
    return cachedTokens;
  }

  /** Takes one request of a rank, of so many that the worker has. */
  record(place: RankPlace, comparison: Comparison, nowMs: number): Recorded {
    const book = this.#bookOf(place.rank);
    const { predictedTokens, reportedTokens, overTokens, underTokens, isOtherPrompt } = comparison;
    const contradicts = overTokens > 0 || underTokens > 0;
    book.window.add(comparison, contradicts, nowMs);
    book.total = {
      requests: book.total.requests + 1,
      predictedTokens: book.total.predictedTokens + predictedTokens,
      reportedTokens: book.total.reportedTokens + reportedTokens,
      overTokens: book.total.overTokens + overTokens,
      underTokens: book.total.underTokens + underTokens,
      contradictions: book.total.contradictions + (contradicts ? 1 : 0),
      otherPrompts: book.total.otherPrompts + (isOtherPrompt ? 1 : 0),
    };
    const wasDoubted = isDoubted(book);
    const { gauge, window } = book;
    // Agreeing on nothing is no proof; what was wrong before must not raise the next doubt.
    const isProof = predictedTokens > 0 || reportedTokens > 0;
    if (isProof && gauge.add(contradicts, window.counts(nowMs)) && !gauge.isDoubted) window.clear();
    return { contradicts, ...this.#judge(book, place, wasDoubted, nowMs) };
  }

  /** Takes what became of the blocks of one prompt that a rank computed. */
  recordStored(place: RankPlace, stored: Stored, nowMs: number): Recorded {
    const book = this.#bookOf(place.rank);
    const wasDoubted = isDoubted(book);
    book.stores.add(stored);
    return { contradicts: false, ...this.#judge(book, place, wasDoubted, nowMs) };
  }

  #judge(
    book: RankBook,
    { rank, rankCount }: RankPlace,
    wasDoubted: boolean,
    nowMs: number,
  ): Omit<Recorded, 'contradicts'> {
    const counts = book.window.counts(nowMs);
    const isNow = isDoubted(book);
    const number = rankCount > 1 ? rank : undefined;
    if (!isNow) book.doubtReason = '';
    else if (!wasDoubted)
      book.doubtReason = book.gauge.isDoubted
        ? doubtMessage(counts, number)
        : storeDoubtMessage(book.stores.counts, counts, number);
    return { hasTurned: isNow !== wasDoubted, trust: isNow ? trustIn(counts) : undefined };
  }

  /** By rank, in the order in which they came. */
  results(nowMs: number): RankResults[] {
    return [...this.#ranks].map(([rank, book]) => ({
      target: this.target,
      instanceId: this.instanceId,
      rank,
      reporting: this.#reporting,
      window: book.window.counts(nowMs),
      total: book.total,
      isDoubted: isDoubted(book),
      missingRequests: Math.max(book.gauge.missingRequests, book.stores.missingRequests),
      doubtReason: book.doubtReason,
    }));
  }

  /** By rank: what was counted since the engine's start. */
  *totals(): Iterable<ResultCounts> {
    for (const { total } of this.#ranks.values()) yield total;
  }

  /** The view is made again for each epoch: what was found wrong of the one before proves nothing of the next. */
  begin(): void {
    for (const book of this.#ranks.values()) Object.assign(book, blank());
  }

  #bookOf(rank: number): RankBook {
    const known = this.#ranks.get(rank);
    if (known !== undefined) return known;
    const book = { ...blank(), total: NO_RESULTS };
    this.#ranks.set(rank, book);
    return book;
  }
}

function blank(): Omit<RankBook, 'total'> {
  return { window: new ResultWindow(), gauge: new DoubtGauge(), stores: new StoreGauge(), doubtReason: '' };
}

/** Of a view that promised nothing, nothing can be too much. */
function trustIn({ predictedTokens, overTokens }: ResultCounts): number {
  return predictedTokens === 0 ? 1 : Math.max(0, 1 - overTokens / predictedTokens);
}

function isDoubted({ gauge, stores }: RankBook): boolean {
  return gauge.isDoubted || stores.isDoubted;
}
