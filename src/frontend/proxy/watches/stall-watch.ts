import type { Clock } from '../../../edge/platform/clock.js';
import type { ProxiedRequest } from '../proxied-request.js';
import type { ProxyOptions } from '../proxy-options.js';
import type { Try } from '../workers/try.js';
import { type Silence, seconds } from './silence-watch.js';

/** The longest time without work of an ejected worker that a request tries. */
const TRIAL_STALL_MS = 10_000;

/** An engine is asked after each third of its time: it has to show twice that it stands still. */
const PARTS = 3;

/** Without counters so many times as long: a token that is not computed may be one that waits behind others. */
const MUTE_TIMES = 4;

/** An engine that has shown no work for so many times as long as it may counts as gone: answers that have begun end. */
const GONE_TIMES = 2;

type StallOptions = Pick<
  ProxyOptions,
  'engineApiKey' | 'mayHaveKeys' | 'passesAuthorization' | 'stallTimeoutMs'
>;

const STALL: Pick<Silence, 'isNew' | 'what'> = {
  what: 'A worker computes nothing',
  isNew: ({ endpoint }) => endpoint.worker.work.isNewStall(),
};

/**
 * Watches whether the engine of one request computes anything, for whichever request, and asks it while nothing shows it. An
 * HTTP server goes on answering when the process behind it that computes hangs (vLLM's `EngineCore`, SGLang's scheduler).
 */
export class StallWatch {
  readonly #options: StallOptions;
  readonly #request: Pick<ProxiedRequest, 'group' | 'headers'>;
  readonly #clock: Clock;
  /** When a stall may be reported again. */
  #reportDueMs = Number.NEGATIVE_INFINITY;

  constructor(
    options: StallOptions,
    request: Pick<ProxiedRequest, 'group' | 'headers'>,
    modules: { readonly clock: Clock },
  ) {
    this.#options = options;
    this.#request = request;
    this.#clock = modules.clock;
  }

  /** Another worker is asked. */
  restart(): void {
    this.#reportDueMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * What is to be done about the worker of a request that waits for it since `sinceMs`: for its answer to begin, or, with
   * `isWithin`, for the next piece. Undefined while it works, or may.
   */
  check(current: Try, isWithin: boolean, sinceMs: number, nowMs: number): Silence | undefined {
    const { stallTimeoutMs } = this.#options;
    if (stallTimeoutMs === 0) return undefined;
    const { route, endpoint } = current;
    const isTrial = route.decision.isTrial === true && !isWithin;
    const limitMs = isTrial ? Math.min(TRIAL_STALL_MS, stallTimeoutMs) : stallTimeoutMs;
    const { worker, pathPrefix } = endpoint;
    const idleMs = worker.work.idleMs(sinceMs, nowMs);
    const partMs = limitMs / PARTS;
    if (idleMs < partMs) return undefined;
    worker.work.ask(
      () => ({
        pool: worker.pool,
        pathPrefix,
        model: this.#request.group,
        headers: this.#keyHeaders(current),
      }),
      partMs,
      this.#clock,
    );
    const { shown } = worker.work;
    const stallMs = shown === 'mute' ? MUTE_TIMES * limitMs : limitMs;
    if (shown === undefined || idleMs < stallMs) return undefined;
    const why = shown === 'mute' ? 'not one token' : 'not one token, and its counters stand still';
    const detail = `${why}, for ${seconds(idleMs)} s`;
    const isReported = nowMs >= this.#reportDueMs;
    if (isReported) {
      this.#reportDueMs = nowMs + limitMs;
      route.failed({ kind: 'stalled', detail });
    }
    return { ...STALL, detail, isReported, isGone: idleMs >= GONE_TIMES * stallMs };
  }

  /** The key with which the request itself was sent: the engine is asked on its behalf. */
  #keyHeaders({ route, endpoint }: Try): Readonly<Record<string, string>> {
    const { engineApiKey, mayHaveKeys, passesAuthorization } = this.#options;
    if (!mayHaveKeys(route.decision, endpoint.baseUrl)) return {};
    if (engineApiKey !== undefined) return { authorization: `Bearer ${engineApiKey}` };
    const { authorization, 'x-api-key': key } = this.#request.headers;
    if (!passesAuthorization) return {};
    return {
      ...(authorization === undefined ? {} : { authorization }),
      ...(typeof key === 'string' ? { 'x-api-key': key } : {}),
    };
  }
}
