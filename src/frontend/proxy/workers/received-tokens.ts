import type { Clock } from '../../../edge/platform/clock.js';

/** How often an engine is asked at most. */
const ASK_EVERY_MS = 10_000;

/**
 * What a decode engine did not compute, by its own counters, against what it should have received: some engines report another
 * engine's count with each answer. Counted from the first question on; tokens that requests of others bring only hide a
 * shortfall, and never make one.
 */
export class ReceivedTokens {
  /** What its counters said first; undefined before that, and where they are not known. */
  #first: number | undefined;
  /** Tokens that it should not have computed since. */
  #expected = 0;
  /** Of those, what was reported as computed again. */
  #reported = 0;
  /** What is not reported yet. */
  #missing = 0;
  #askedMs = Number.NEGATIVE_INFINITY;
  #isAsked = false;

  /** Whether its counters are being followed: what is sent from now on counts. */
  get isFollowed(): boolean {
    return this.#first !== undefined;
  }

  /** A request that was sent while it was followed was answered: so many tokens of its prompt need not have been computed. */
  answered(tokens: number): void {
    if (this.#first !== undefined) this.#expected += tokens;
  }

  /** Tokens that were computed again and are not reported yet; they count as reported then. */
  takeMissing(): number {
    const missing = this.#missing;
    this.#missing = 0;
    this.#reported += missing;
    return missing;
  }

  /**
   * Asks it by `count`, which never rejects, unless it is being asked or was a moment ago; resolves when it has answered.
   * `count`: prompt tokens that it ever had no need to compute; undefined where that is not known.
   */
  async ask(count: () => Promise<number | undefined>, clock: Clock): Promise<void> {
    const nowMs = clock.monotonicMs();
    if (this.#isAsked || nowMs - this.#askedMs < ASK_EVERY_MS) return;
    this.#isAsked = true;
    this.#askedMs = nowMs;
    const expected = this.#expected;
    const counted = await count();
    this.#isAsked = false;
    if (counted === undefined) return;
    // Another start of the engine counts from its own beginning.
    if (this.#first === undefined || counted < this.#first) {
      this.#first = counted;
      this.#expected = 0;
      this.#reported = 0;
      this.#missing = 0;
      return;
    }
    this.#missing = Math.max(0, expected - (counted - this.#first) - this.#reported);
  }
}
