import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';

export interface LineLimitOptions {
  /** Milliseconds until the same line is written again. */
  readonly repeatMs: number;
  /** Lines that are remembered; one that is forgotten may come again earlier. Default 1,024. */
  readonly maxRemembered?: number;
}

const MAX_REMEMBERED = 1_024;

/** Bounds how often the same line is logged: what comes with every request would fill a disk. */
export class LineLimit {
  readonly #repeatMs: number;
  readonly #clock: Clock;
  readonly #lines: LRUCache<string, { readonly atMs: number; since: number }>;

  constructor(
    { repeatMs, maxRemembered = MAX_REMEMBERED }: LineLimitOptions,
    modules: { readonly clock: Clock },
  ) {
    this.#repeatMs = repeatMs;
    this.#clock = modules.clock;
    this.#lines = new LRUCache({ max: maxRemembered });
  }

  /**
   * What a line with this key is to say beside its fields: how often it was left out since it was written last, where that
   * is known. Undefined where it is to be left out, which is counted.
   */
  take(key: string): { readonly since_last_line?: number } | undefined {
    const nowMs = this.#clock.monotonicMs();
    const last = this.#lines.get(key);
    if (last !== undefined && nowMs - last.atMs < this.#repeatMs) {
      last.since += 1;
      return undefined;
    }
    this.#lines.set(key, { atMs: nowMs, since: 0 });
    return last === undefined || last.since === 0 ? {} : { since_last_line: last.since };
  }
}
