/**
 * Why cached tokens were not used:
 * - `load`: the worker that held the most was too busy;
 * - `temperature`: the draw fell on another one than the cheapest;
 * - `draining`: who held the most gets nothing new;
 * - `lora`: who held the most does not have the adapter;
 * - `ejected`: who held the most is ejected, because its requests failed, or the request was the try of an ejected one;
 * - `retried`: who held the most had failed with the request, or was excluded by the caller;
 * - `doubted`: the results of who held the most contradict its view;
 * - `evicted`: the blocks were evicted before the engine admitted the request;
 * - `lower_tier`: they lay in a lower tier, and were not read from there;
 * - `contradicted`: the engine did not have them, for no known reason;
 * - `unknown_tokens`: the tokens were not known, and no holder was looked for.
 */
export const LOST_REASONS = [
  'load',
  'temperature',
  'draining',
  'lora',
  'ejected',
  'retried',
  'doubted',
  'evicted',
  'lower_tier',
  'contradicted',
  'unknown_tokens',
] as const;

/** See `LOST_REASONS`. */
export type LostReason = (typeof LOST_REASONS)[number];

/** Requests that lost cached tokens, and how many. */
export interface Lost {
  readonly requests: number;
  readonly tokens: number;
}

/** What caches held for the requests of a group, what was chosen, what the engines found, and where the rest went. */
export class CacheHits {
  /** Prompt tokens that the best of all workers held. */
  bestTokens = 0;
  /** Prompt tokens that the chosen one held. */
  chosenTokens = 0;
  readonly #lost = new Map<LostReason, Lost>();
  readonly #onLost: ((reason: LostReason, tokens: number) => void) | undefined;

  /** `onLost` is called with each loss that counts; absent: nothing is called. */
  constructor(onLost?: (reason: LostReason, tokens: number) => void) {
    this.#onLost = onLost;
  }

  /** One request lost so many tokens; harmless for 0, unless it is not known how many. */
  lose(reason: LostReason, tokens: number): void {
    if (tokens <= 0 && reason !== 'unknown_tokens') return;
    const before = this.lostBy(reason);
    this.#lost.set(reason, { requests: before.requests + 1, tokens: before.tokens + Math.max(0, tokens) });
    this.#onLost?.(reason, Math.max(0, tokens));
  }

  lostBy(reason: LostReason): Lost {
    return this.#lost.get(reason) ?? { requests: 0, tokens: 0 };
  }
}
