import type { ResultCounts } from './result-window.js';

/** Contradictions from which on a view may be doubted: no single odd request, nor its retries, are enough. */
const LEAST_CONTRADICTIONS = 5;

/** Part of the window's tokens that must be wrong: what costs less than this is not worth routing otherwise. */
const LEAST_WRONG_PART = 0.05;

/** Requests in a row that agree, before a view is believed again for the first time. @internal */
export const FIRST_CLEAN_REQUESTS = 20;

/** Each time that it is doubted again the row is twice as long, up to so many times, so that it cannot flap. */
const MAX_LONGER = 16;

/**
 * Whether results contradict a view of a cache, with hysteresis: a window full
 * of contradictions raises the doubt, and only a row of requests that agree
 * ends it, each time a longer one.
 */
export class DoubtGauge {
  #isDoubted = false;
  #clean = 0;
  #times = 0;

  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** Requests in a row that must still agree before the view is believed again; 0 while it is. */
  get missingRequests(): number {
    return this.#isDoubted ? this.#asked - this.#clean : 0;
  }

  /**
   * One request, in which something was predicted or reported. `window` has it
   * already. True when the judgement is another one now.
   */
  add(contradicts: boolean, window: ResultCounts): boolean {
    if (this.#isDoubted) {
      this.#clean = contradicts ? 0 : this.#clean + 1;
      if (this.#clean < this.#asked) return false;
      this.#isDoubted = false;
      return true;
    }
    if (!contradicts || window.contradictions < LEAST_CONTRADICTIONS) return false;
    const wrongTokens = window.overTokens + window.underTokens;
    const allTokens = Math.max(window.predictedTokens, window.reportedTokens);
    if (wrongTokens < LEAST_WRONG_PART * allTokens) return false;
    this.#isDoubted = true;
    this.#clean = 0;
    this.#times += 1;
    return true;
  }

  get #asked(): number {
    return FIRST_CLEAN_REQUESTS * Math.min(MAX_LONGER, 2 ** (this.#times - 1));
  }
}
