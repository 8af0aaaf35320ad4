import { OpenAiError } from '../../errors/openai-error.js';

export interface LoadBoundsOptions {
  /** Requests at a time to one worker; 1 or more. */
  readonly maxRequestsPerWorker: number;
}

/** Seconds after which it is worth another try: a request of a full worker ends about as often. */
const RETRY_AFTER_SECONDS = 1;

/** The part of the bound that the lowest priority may fill, when there are many. */
const LOWEST_PART = 0.5;

/**
 * Counts the requests at each worker, and says which workers take no more of a
 * priority. The highest priority may fill each worker to its bound; lower ones
 * are stopped earlier, in equal steps, so that they are shed first.
 */
export class LoadBounds {
  readonly #max: number;
  readonly #running = new Map<string, number>();
  /** Ascending; 0 is always one of them. */
  #levels: readonly number[] = [0];
  /** Bounds of priorities that were asked for, as long as the levels are these. */
  readonly #bounds = new Map<number, number>();

  constructor({ maxRequestsPerWorker }: LoadBoundsOptions) {
    this.#max = maxRequestsPerWorker;
  }

  /** Requests at all workers. */
  get running(): number {
    let sum = 0;
    for (const count of this.#running.values()) sum += count;
    return sum;
  }

  /** Takes note of a priority that requests have; those of the first 64 count as levels of their own. */
  note(priority: number): void {
    if (this.#levels.includes(priority) || this.#levels.length >= MAX_LEVELS) return;
    this.#levels = [...this.#levels, priority].sort((a, b) => a - b);
    this.#bounds.clear();
  }

  /** The most requests at a time that a worker gets before no further one of this priority goes there; at least 1. */
  boundOf(priority: number): number {
    const known = this.#bounds.get(priority);
    if (known !== undefined) return known;
    const below = this.#levels.filter((level) => level <= priority).length;
    const part = LOWEST_PART + ((1 - LOWEST_PART) * Math.max(1, below)) / this.#levels.length;
    const bound = Math.max(1, Math.floor(this.#max * part));
    // Priorities are those of objectives; beyond so many levels they are only computed.
    if (this.#bounds.size < MAX_LEVELS) this.#bounds.set(priority, bound);
    return bound;
  }

  /** Of these workers those that take no further request of a priority. */
  full(targets: readonly string[], priority: number): readonly string[] {
    const bound = this.boundOf(priority);
    return targets.filter((target) => (this.#running.get(target) ?? 0) >= bound);
  }

  /** Counts a request; the function that comes back ends it, and may be called again. */
  begin(target: string): () => void {
    this.#running.set(target, (this.#running.get(target) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#running.get(target) ?? 1) - 1;
      if (left === 0) this.#running.delete(target);
      else this.#running.set(target, left);
    };
  }
}

/** Levels of priority that are distinguished. */
const MAX_LEVELS = 64;

/** A group of which no worker takes a request of some priority now. */
export interface FullGroup {
  readonly group: string;
  /** Its workers. */
  readonly workers: number;
  /** Those that are full; no other one can take the request. */
  readonly full: number;
  /** Requests that each may have at this priority. */
  readonly bound: number;
  readonly priority: number;
}

/** The answer to a request that no worker takes now. */
export function shedError({ group, workers, full, bound, priority }: FullGroup): OpenAiError {
  const each = bound === 1 ? '1 request' : `${bound} requests`;
  const which = priority === 0 ? '' : ` of priority ${priority}`;
  const who =
    full === workers
      ? `All ${workers} workers of ${group} have as many requests as they may`
      : `${full} of ${workers} workers of ${group} have as many requests as they may, and the others cannot take this one without them`;
  return new OpenAiError(429, `${who}: at ${each} each no further one${which} is taken.`, {
    code: 'workers_full',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
