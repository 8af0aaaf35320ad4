import type { TrtllmDrainSource } from '../../../core/relay/rank-source.js';
import type { RankStatus } from '../../../core/relay/relay.js';
import { type Clock, sleep } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { RankCache } from '../cache/rank-cache.js';
import { parseExactJson } from '../decode/exact-json.js';
import type { RankReader, RankReaderListener } from './rank-reader.js';
import type { StreamCounts } from './stream-counts.js';

/** Posts an empty request and gives the body of the answer, bounded in size; rejects when there is none. */
export type PostJson = (url: string, signal: AbortSignal) => Promise<string>;

export interface TrtllmDrainOptions {
  /** Milliseconds between two reads. Default 500. The engine keeps a bounded number of events meanwhile. */
  readonly drainIntervalMs?: number;
}

/** What a drain does with what the rank holds. */
export type DrainedCache = Pick<RankCache, 'applyTrtllm' | 'clear' | 'size' | 'flaw'>;

export interface TrtllmDrainModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: DrainedCache;
  readonly counts: StreamCounts;
  readonly listener: RankReaderListener;
  readonly postJson: PostJson | undefined;
}

const DRAIN_INTERVAL_MS = 500;

/** Reads in a row that fail until the cache view is dropped: the engine keeps few events, and others may have read them. */
const MAX_FAILURES = 20;

/**
 * Reads TensorRT-LLM's events from the endpoint that loses what it answers.
 * Each event has a number; nothing gives a lost one again, so that a gap
 * empties the cache view, which is then partial until the engine restarts.
 */
export class TrtllmDrain implements RankReader {
  readonly #source: TrtllmDrainSource;
  readonly #intervalMs: number;
  readonly #modules: TrtllmDrainModules;
  readonly #closing = new AbortController();
  #done: Promise<void> | undefined;
  #view: RankStatus['picture'] = 'none';
  #reason: string;
  #unknownBefore: number | undefined;
  #last: number | undefined;
  #isKnown = false;
  #hasRestarted = false;
  #failures = 0;
  /** Why the engine may be another start than the one that was read; undefined when nothing speaks for it. */
  #doubt: string | undefined;

  constructor(source: TrtllmDrainSource, options: TrtllmDrainOptions, modules: TrtllmDrainModules) {
    this.#source = source;
    this.#intervalMs = options.drainIntervalMs ?? DRAIN_INTERVAL_MS;
    this.#modules = modules;
    this.#reason = `${source.url} was not read yet`;
  }

  get hasRestarted(): boolean {
    return this.#hasRestarted;
  }

  get status(): RankStatus {
    const flaw = this.#view === 'exact' ? this.#modules.cache.flaw : undefined;
    const doubt = this.#view === 'none' ? undefined : this.#doubt;
    return {
      rank: this.#source.rank,
      picture: doubt !== undefined ? 'stale' : flaw !== undefined ? 'partial' : this.#view,
      ...(this.#unknownBefore === undefined ? {} : { unknownBeforeSequence: this.#unknownBefore }),
      ...(this.#last === undefined ? {} : { engineSequence: this.#last }),
      reason: doubt ?? flaw ?? this.#reason,
      blockCount: this.#modules.cache.size,
    };
  }

  start(): void {
    this.#done ??= this.#run();
  }

  acceptInstance(): void {
    this.#hasRestarted = false;
  }

  startOver(reason: string): void {
    this.#hasRestarted = false;
    this.#last = undefined;
    this.#drop(reason);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { clock, postJson } = this.#modules;
    if (postJson === undefined) {
      this.#reason = 'nothing here may read an endpoint that loses what it answers';
      this.#modules.listener.onStatus();
      return;
    }
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const body = parseExactJson(await postJson(this.#source.url, signal));
        if (signal.aborted) return;
        if (!Array.isArray(body)) throw new Error('it answers no list of events');
        this.#failures = 0;
        this.#take(body);
      } catch (error) {
        if (!signal.aborted) this.#fail(error);
      }
      await sleep(clock, this.#intervalMs, signal);
    }
  }

  #fail(error: unknown): void {
    const { logger } = this.#modules;
    this.#failures += 1;
    logger.debug({ rank: this.#source.rank, error }, 'The KV events of TensorRT-LLM could not be read.');
    const reason = `cannot read ${this.#source.url}: ${describeError(error)}`;
    if (this.#failures === MAX_FAILURES) this.#drop(reason);
    else if (this.#failures < MAX_FAILURES) {
      // The engine may be restarted meanwhile. A number that is due proves nothing; an older one shows it.
      this.#doubt ??= reason;
      this.#modules.listener.onStatus();
    }
  }

  #take(events: readonly unknown[]): void {
    if (events.length === 0) return;
    // Each run of events that follow one another is applied together; what is between two runs was lost.
    let from = 0;
    for (let at = 0; at < events.length; at += 1) {
      const id = eventIdOf(events[at]);
      if (id === undefined) continue;
      if (this.#last !== undefined && id === this.#last + 1) {
        this.#last = id;
        continue;
      }
      this.#apply(events.slice(from, at));
      from = at;
      this.#jump(id);
      this.#last = id;
    }
    this.#apply(events.slice(from));
  }

  /** The next event is not the one that was due. */
  #jump(id: number): void {
    const { counts, listener } = this.#modules;
    if (this.#last !== undefined && id > this.#last) {
      counts.gaps.no_replay_endpoint += 1;
      this.#drop('events were lost, or another client reads them too');
    } else if (this.#last !== undefined) {
      counts.publisherRestarts += 1;
      this.#hasRestarted = true;
      this.#drop('the engine was restarted');
      listener.onPublisherRestart();
    }
    this.#isKnown = true;
    if (id === 0) {
      this.#view = 'exact';
      this.#reason = '';
      this.#unknownBefore = undefined;
    } else {
      this.#view = 'partial';
      this.#unknownBefore = id;
      this.#reason = `what the engine stored before its event ${id} is unknown`;
    }
    listener.onStatus();
  }

  #apply(events: readonly unknown[]): void {
    if (events.length === 0) return;
    const { counts, listener, logger, cache } = this.#modules;
    const { tokensPerBlock } = this.#source;
    const applied = cache.applyTrtllm(events, tokensPerBlock === undefined ? {} : { tokensPerBlock });
    counts.batches += 1;
    if (applied.problem !== undefined) {
      logger.debug(
        { rank: this.#source.rank },
        `Events of TensorRT-LLM could not be read in full: ${applied.problem}.`,
      );
    }
    listener.onApplied(applied);
    listener.onStatus();
  }

  #drop(reason: string): void {
    const { listener, cache } = this.#modules;
    const hadSomething = this.#isKnown;
    cache.clear();
    this.#isKnown = false;
    this.#view = 'none';
    this.#reason = reason;
    this.#unknownBefore = undefined;
    this.#doubt = undefined;
    if (hadSomething) listener.onDropped(reason);
    listener.onStatus();
  }
}

/** The number of an event; undefined when it has none that can be counted with. */
function eventIdOf(event: unknown): number | undefined {
  if (typeof event !== 'object' || event === null || !('event_id' in event)) return undefined;
  const id = Number(String(event.event_id));
  return Number.isSafeInteger(id) && id >= 0 ? id : undefined;
}
