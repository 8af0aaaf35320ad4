import type { Comparison } from './compare.js';

/** Requests of one rank that are looked at together: enough that a few odd ones are no alarm. @internal */
export const WINDOW_REQUESTS = 64;

/** What is older proves nothing of today's cache. @internal */
export const WINDOW_MS: number = 15 * 60_000;

/** Sums over requests. */
export interface ResultCounts {
  readonly requests: number;
  readonly predictedTokens: number;
  readonly reportedTokens: number;
  readonly overTokens: number;
  readonly underTokens: number;
  /** Requests whose result contradicts the view of the cache. */
  readonly contradictions: number;
  /** Requests of which the engine counted another number of prompt tokens. */
  readonly otherPrompts: number;
}

/** The counts before the first result. */
export const NO_RESULTS: ResultCounts = {
  requests: 0,
  predictedTokens: 0,
  reportedTokens: 0,
  overTokens: 0,
  underTokens: 0,
  contradictions: 0,
  otherPrompts: 0,
};

/** Words of an entry. */
const PREDICTED = 0;
const REPORTED = 1;
const OVER = 2;
const UNDER = 3;
const CONTRADICTS = 4;
const OTHER_PROMPT = 5;
const AT_MS = 6;
const ENTRY_WORDS = 7;

/** The last requests of one rank: 64 at most, none older than 15 minutes. 4 KiB, whatever comes. */
export class ResultWindow {
  readonly #entries = new Float64Array(WINDOW_REQUESTS * ENTRY_WORDS);
  /** Place of the oldest. */
  #first = 0;
  #count = 0;

  /** Takes one more; the oldest goes when there are too many. */
  add(
    { predictedTokens, reportedTokens, overTokens, underTokens, isOtherPrompt }: Comparison,
    contradicts: boolean,
    nowMs: number,
  ): void {
    this.#expire(nowMs);
    if (this.#count === WINDOW_REQUESTS) this.#dropFirst();
    const at = ((this.#first + this.#count) % WINDOW_REQUESTS) * ENTRY_WORDS;
    this.#entries.set(
      [predictedTokens, reportedTokens, overTokens, underTokens, +contradicts, +isOtherPrompt, nowMs],
      at,
    );
    this.#count += 1;
  }

  /** Sums over what is in it now. */
  counts(nowMs: number): ResultCounts {
    this.#expire(nowMs);
    const sums = { ...NO_RESULTS, requests: this.#count };
    for (let n = 0; n < this.#count; n += 1) {
      const at = ((this.#first + n) % WINDOW_REQUESTS) * ENTRY_WORDS;
      sums.predictedTokens += this.#word(at, PREDICTED);
      sums.reportedTokens += this.#word(at, REPORTED);
      sums.overTokens += this.#word(at, OVER);
      sums.underTokens += this.#word(at, UNDER);
      sums.contradictions += this.#word(at, CONTRADICTS);
      sums.otherPrompts += this.#word(at, OTHER_PROMPT);
    }
    return sums;
  }

  /** Empty from now on. */
  clear(): void {
    this.#count = 0;
  }

  #word(at: number, word: number): number {
    return this.#entries[at + word] as number;
  }

  #expire(nowMs: number): void {
    while (this.#count > 0 && nowMs - this.#word(this.#first * ENTRY_WORDS, AT_MS) >= WINDOW_MS)
      this.#dropFirst();
  }

  #dropFirst(): void {
    this.#first = (this.#first + 1) % WINDOW_REQUESTS;
    this.#count -= 1;
  }
}
