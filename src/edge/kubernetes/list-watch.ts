import { onOneLine } from '../../core/text/printable.js';
import { type Clock, sleep, type Timer } from '../platform/clock.js';
import type { Random } from '../platform/random.js';
import { backoffMs } from '../platform/time/backoff.js';
import type { KubernetesApi } from './api.js';
import { KubernetesError } from './kubernetes-error.js';
import { asRecord, integerAt, textAt, valueAt } from './read-json.js';
import { CHECK_AFTER_MS, RESUME, SilenceCheck } from './silence-check.js';

/** Objects of one page of a list, at first; what kubectl and the informers ask for. A page that is too large is asked for in halves. */
const PAGE_SIZE = 500;

/** Pages of one list: a server that gives one after the other without an end is broken. */
const MAX_PAGES = 1_000;

/** Most objects of one collection. */
const MAX_OBJECTS = 10_000;

/** How long the server is asked to keep a watch, in seconds; jittered, lest all frontends ask again in one moment. */
const WATCH_SECONDS = { min: 240, max: 300 };

/** Changes that come together are reported together: a rolling update has many in one moment. */
const GATHER_MS = 50;

/** After a problem was reported, the end of it is to be reported soon, also when nothing changes. */
const CHECK_AFTER_PROBLEM_MS = 1_000;

/** Lists in a row that the server has forgotten before they were complete. */
const MAX_SILENT_EXPIRIES = 3;

/** Longest part of a server's own words that a message repeats. */
const MAX_WORDS_CHARS = 300;

export interface ListWatchOptions<T> {
  /** The collection, such as `/api/v1/namespaces/inference/pods`. */
  readonly path: string;
  readonly labelSelector?: string | undefined;
  /** Such as `metadata.name=llama`, for one object of a collection. */
  readonly fieldSelector?: string | undefined;
  /**
   * The part of an object that is kept, so that thousands of pods cost little;
   * undefined leaves the object out. Gets whatever the server sent; must not throw.
   */
  readonly keep: (object: unknown) => T | undefined;
  /** Default 10,000; a collection with more is refused, and the last set stays. */
  readonly maxObjects?: number;
}

export interface ListWatchModules {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly random: Random;
}

/** Who follows a set of objects. */
export interface ListWatchListener<T> {
  /** The full set as it is now: after the first complete list, at every change, and when a problem is over. */
  onSet(objects: readonly T[]): void;
  /** Why the set may be old, reported when it is new. It stays as it is, and everything is tried again. */
  onError(error: KubernetesError): void;
  /** What was reported to `onError` is over. */
  onWell?(): void;
}

/**
 * A collection of a cluster, kept true: listed in pages, then watched from
 * there. A watch that ends or breaks is resumed where it stood; one whose place
 * the server has forgotten (410) begins with a new list.
 */
export class ListWatch<T> {
  readonly #options: ListWatchOptions<T>;
  readonly #modules: ListWatchModules;
  /** By `NAMESPACE/NAME`. Replaced as a whole by a list, changed by events. */
  #objects = new Map<string, T>();
  /** Where to go on watching; undefined when a list is due. */
  #resourceVersion: string | undefined;
  /** What was reported and holds still; undefined while all is well. */
  #reportedProblem: string | undefined;
  #gathering: Timer | undefined;
  #pageSize = PAGE_SIZE;
  /** Why a silent watch was left last. */
  #silenceFault: unknown;

  constructor(options: ListWatchOptions<T>, modules: ListWatchModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Runs until `signal` aborts. Never rejects by itself; what the listener throws ends it. To be called once. */
  async run(signal: AbortSignal, listener: ListWatchListener<T>): Promise<void> {
    const { clock, random } = this.#modules;
    let failures = 0;
    /** Places in a row that were forgotten immediately. */
    let expiries = 0;
    /** Answers in a row that something is not allowed. */
    let refusals = 0;
    while (!signal.aborted) {
      let watchedSinceMs: number | undefined;
      /** Whether a watch ended immediately, in order: not to be tried again without a pause, whatever it said. */
      let isShort = false;
      // A watch that ends immediately, again and again, must not become a storm of requests.
      const hasWatched = (): boolean =>
        watchedSinceMs !== undefined && clock.monotonicMs() - watchedSinceMs >= 1_000;
      try {
        if (this.#resourceVersion === undefined) {
          await this.#list(signal);
          this.#isWell(listener);
          this.#report(listener);
        }
        watchedSinceMs = clock.monotonicMs();
        const hasHeard = await this.#watch(signal, listener);
        failures = hasHeard || hasWatched() ? 0 : failures + 1;
        isShort = !hasWatched();
        expiries = 0;
        refusals = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof KubernetesError)) throw error;
        failures = hasWatched() ? 1 : failures + 1;
        if (error.code === 'expired') {
          this.#resourceVersion = undefined;
          expiries = hasWatched() ? 1 : expiries + 1;
          // A forgotten place is nothing to report and nothing to wait for, unless each one is forgotten immediately.
          if (expiries <= MAX_SILENT_EXPIRIES) continue;
        }
        // Load balancers cut long connections: a watch that can be resumed immediately is nothing to report.
        const isCut = error.code === 'unreachable' && watchedSinceMs !== undefined && failures === 1;
        // A server that has just come back refuses what it allows until it has read its own roles.
        refusals = error.code === 'forbidden' ? refusals + 1 : 0;
        const isJustBack = refusals === 1 && failures > 1;
        if (!(isCut || isJustBack) || error === this.#silenceFault) this.#reportProblem(error, listener);
      }
      if (failures > 0 || isShort) await sleep(clock, backoffMs(Math.max(1, failures), random), signal);
    }
    this.#gathering?.clear();
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { path, maxObjects = MAX_OBJECTS } = this.#options;
    const objects = new Map<string, T>();
    let page = '';
    let pages = 0;
    let resourceVersion: string | undefined;
    do {
      const answer = await this.#page(page, signal);
      const items = valueAt(answer, 'items');
      // An empty list of Go is null.
      if (!Array.isArray(items) && items !== null)
        throw this.#bad(`${path} answers with something that is no list`);
      for (const item of items ?? []) this.#take(objects, item);
      if (objects.size > maxObjects) throw this.#tooMany(maxObjects);
      resourceVersion = textAt(answer, 'metadata', 'resourceVersion');
      const next = textAt(answer, 'metadata', 'continue') ?? '';
      if (next !== '' && next === page) throw this.#bad(`${path} gives the same page again and again`);
      page = next;
      pages += 1;
      if (pages >= MAX_PAGES && page !== '') throw this.#bad(`${path} gives more than ${MAX_PAGES} pages`);
    } while (page !== '');
    if (resourceVersion === undefined) throw this.#bad(`the list of ${path} has no resourceVersion`);
    this.#objects = objects;
    this.#resourceVersion = resourceVersion;
  }

  /** One page of the list: smaller from now on where it is too large. */
  async #page(page: string, signal: AbortSignal): Promise<unknown> {
    for (;;) {
      const limit = this.#pageSize;
      try {
        return await this.#modules.api.get({
          path: this.#options.path,
          query: { ...this.#selection(), limit: String(limit), ...(page === '' ? {} : { continue: page }) },
          signal,
        });
      } catch (error) {
        const isTooLarge = error instanceof KubernetesError && error.code === 'too_large';
        if (!isTooLarge || limit === 1) throw error;
        this.#pageSize = Math.floor(limit / 2);
      }
    }
  }

  /** Follows the collection until the server ends the watch in order. Whether anything was heard. */
  async #watch(signal: AbortSignal, listener: ListWatchListener<T>): Promise<boolean> {
    const { api, clock, random } = this.#modules;
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const silence = new SilenceCheck(
      this.#modules,
      () => this.#check(either, listener),
      (reason) => {
        this.#silenceFault = reason;
        stop.abort(reason);
      },
    );
    const { min, max } = WATCH_SECONDS;
    const seconds = Math.round(min + (max - min) * random.fraction());
    let hasHeard = false;
    try {
      const events = api.watch({
        path: this.#options.path,
        query: {
          ...this.#selection(),
          resourceVersion: this.#resourceVersion ?? '',
          allowWatchBookmarks: 'true',
          timeoutSeconds: String(seconds),
        },
        signal: either,
      });
      silence.start(this.#reportedProblem === undefined ? CHECK_AFTER_MS : CHECK_AFTER_PROBLEM_MS);
      for await (const event of events) {
        silence.heard();
        hasHeard = true;
        const isChange = this.#apply(event);
        this.#isWell(listener);
        if (isChange) this.#gathering ??= clock.setTimer(GATHER_MS, () => this.#report(listener));
      }
      return hasHeard;
    } catch (error) {
      // A watch that only fell silent is resumed without a word: the server answers.
      if (error === RESUME) return true;
      throw error;
    } finally {
      silence.close();
      stop.abort();
    }
  }

  /** Asks for one object: whether the server is there. */
  async #check(signal: AbortSignal, listener: ListWatchListener<T>): Promise<void> {
    await this.#modules.api.get({
      path: this.#options.path,
      query: { ...this.#selection(), limit: '1' },
      signal,
    });
    this.#isWell(listener);
  }

  /** Whether the set changed. Throws where the event is an error or none. */
  #apply(event: unknown): boolean {
    const type = textAt(event, 'type');
    const object = asRecord(valueAt(event, 'object'));
    if (type === undefined || object === undefined)
      throw this.#bad(`the watch of ${this.#options.path} sends no event`);
    if (type === 'ERROR') throw this.#explainError(object);
    const resourceVersion = textAt(object, 'metadata', 'resourceVersion');
    if (type !== 'BOOKMARK') {
      const key = keyOf(object);
      if (key === undefined)
        throw this.#bad(`the watch of ${this.#options.path} sends an object without a name`);
      if (type === 'DELETED') this.#objects.delete(key);
      else this.#take(this.#objects, object);
      const { maxObjects = MAX_OBJECTS } = this.#options;
      if (this.#objects.size > maxObjects) {
        this.#objects.delete(key);
        this.#resourceVersion = undefined;
        throw this.#tooMany(maxObjects);
      }
    }
    if (resourceVersion !== undefined) this.#resourceVersion = resourceVersion;
    return type !== 'BOOKMARK';
  }

  #take(objects: Map<string, T>, object: unknown): void {
    const key = keyOf(object);
    if (key === undefined) throw this.#bad(`${this.#options.path} has an object without a name`);
    const kept = this.#options.keep(object);
    if (kept === undefined) objects.delete(key);
    else objects.set(key, kept);
  }

  #report(listener: ListWatchListener<T>): void {
    this.#gathering?.clear();
    this.#gathering = undefined;
    listener.onSet([...this.#objects.values()]);
  }

  #reportProblem(error: KubernetesError, listener: ListWatchListener<T>): void {
    if (this.#reportedProblem === error.message) return;
    this.#reportedProblem = error.message;
    listener.onError(error);
  }

  /** A problem that was reported is over: said by the set, also when it is the same. */
  #isWell(listener: ListWatchListener<T>): void {
    if (this.#reportedProblem === undefined) return;
    this.#reportedProblem = undefined;
    listener.onWell?.();
    this.#gathering ??= this.#modules.clock.setTimer(GATHER_MS, () => this.#report(listener));
  }

  #selection(): Readonly<Record<string, string>> {
    const { labelSelector, fieldSelector } = this.#options;
    return {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  #explainError(status: object): KubernetesError {
    const code = integerAt(status, 'code');
    const reason = textAt(status, 'reason') ?? '';
    const words = textAt(status, 'message') ?? reason;
    const isExpired = code === 410 || reason === 'Expired' || reason === 'Gone';
    return new KubernetesError(
      isExpired ? 'expired' : 'refused',
      `${this.#modules.api.name}: the watch of ${this.#options.path} ends with an error: ${onOneLine(words, MAX_WORDS_CHARS)}`,
    );
  }

  #tooMany(maxObjects: number): KubernetesError {
    return this.#bad(
      `${this.#options.path} has more than ${maxObjects} objects, which is the most that is followed; narrow the selector`,
    );
  }

  #bad(problem: string): KubernetesError {
    return new KubernetesError('bad_answer', `${this.#modules.api.name}: ${problem}`);
  }
}

/** Names are unique in a namespace. */
function keyOf(object: unknown): string | undefined {
  const name = textAt(object, 'metadata', 'name');
  return name === undefined ? undefined : `${textAt(object, 'metadata', 'namespace') ?? ''}/${name}`;
}
