import type { EngineDescriptor } from '../../engines/descriptor/engine-descriptor.js';
import type { TokenEndpoint } from '../../engines/descriptor/token-endpoint.js';
import { OTHER } from '../../engines/other/descriptor.js';

/** Failures in a row that may be a prompt's own fault before they are taken for the worker's. */
const MAX_STRIKES = 3;

/** First pause after a failure; it doubles with each further one. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** What was learned of one instance of a worker's engine by asking it for tokens. */
export class EngineHealth {
  /** What it is; undefined before it was asked. */
  engine: EngineDescriptor | undefined;
  readonly #lacking = new Set<TokenEndpoint>();
  #failures = 0;
  #strikes = 0;
  #pausedUntilMs = 0;

  /** Where it can be asked, the best first; empty when it has no such endpoint. */
  get endpoints(): readonly TokenEndpoint[] {
    const { tokenEndpoints } = this.engine ?? OTHER;
    return this.#lacking.size === 0
      ? tokenEndpoints
      : tokenEndpoints.filter((endpoint) => !this.#lacking.has(endpoint));
  }

  isPaused(nowMs: number): boolean {
    return nowMs < this.#pausedUntilMs;
  }

  /** It has no such endpoint, and will not have one before it is restarted. */
  lacks(endpoint: TokenEndpoint): void {
    this.#lacking.add(endpoint);
  }

  /** It has looked at a prompt, whatever it said of it. */
  answered(): void {
    this.#failures = 0;
    this.#strikes = 0;
    this.#pausedUntilMs = 0;
  }

  /** It cannot be reached. */
  gone(nowMs: number): void {
    // Requests that were under way together fail together: that is one failure.
    if (this.isPaused(nowMs)) return;
    this.#pausedUntilMs = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS);
    this.#failures += 1;
  }

  /**
   * It gave an error, or took too long. One client could make it do so with a
   * prompt of its own, and must not take the tokens of all others away.
   */
  strike(nowMs: number): void {
    this.#strikes += 1;
    if (this.#strikes >= MAX_STRIKES) this.gone(nowMs);
  }
}
