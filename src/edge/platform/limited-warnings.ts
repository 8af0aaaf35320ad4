import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.js';
import type { LogFields, Logger } from './logger.js';

/** Warnings that are remembered; one that is forgotten may come again earlier. */
const MAX_REMEMBERED = 1_024;

/** Bounds how often the same warning is logged: what comes with every request would fill a disk. */
export class LimitedWarnings {
  readonly #repeatMs: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #written = new LRUCache<string, { readonly atMs: number; since: number }>({ max: MAX_REMEMBERED });

  /** `repeatMs`: milliseconds until the same warning is written again. */
  constructor(
    { repeatMs }: { readonly repeatMs: number },
    modules: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#repeatMs = repeatMs;
    this.#clock = modules.clock;
    this.#logger = modules.logger;
  }

  /**
   * Logs a warning, unless one with this key was logged a moment ago. The field `since_last_line` says how often it was left
   * out since then, where that is known.
   */
  warn(key: string, fields: LogFields, sentence: string): void {
    const nowMs = this.#clock.monotonicMs();
    const last = this.#written.get(key);
    if (last !== undefined && nowMs - last.atMs < this.#repeatMs) {
      last.since += 1;
      return;
    }
    this.#written.set(key, { atMs: nowMs, since: 0 });
    const more = last === undefined || last.since === 0 ? {} : { since_last_line: last.since };
    this.#logger.warn({ ...fields, ...more }, sentence);
  }
}
