import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Route } from '../../fleet/router/routing.js';
import type { OpenAiError } from '../errors/openai-error.js';
import type { HeldAnswer } from './answers/held-answer.js';
import type { PassedAnswer } from './answers/passed-answer.js';
import { routeOf, type State } from './exchange-state.js';
import type { ProxiedRequest } from './proxied-request.js';
import type { ProxyOptions } from './proxy-options.js';
import { cutError, tooLateError } from './refusals.js';
import { type Silence, SilenceWatch, seconds } from './watches/silence-watch.js';
import { StallWatch } from './watches/stall-watch.js';
import { isOfUsedConnection } from './workers/attempt.js';
import type { Try } from './workers/try.js';

/** A connection that ends within this time was probably closing when the request was sent on it. */
const STALE_CONNECTION_MS = 1_000;

/** How long an error may take to come in whole. */
const HOLDING_MS = 2_000;

/** What has taken too long. */
export type Overdue =
  /** No answer began within the time of the request. */
  | { readonly type: 'request'; readonly route: Route | undefined }
  /** Its worker says nothing, or its engine computes nothing. */
  | { readonly type: 'worker'; readonly current: Try; readonly silence: Silence }
  /** The rest of an error. */
  | {
      readonly type: 'error';
      readonly current: Try;
      readonly coming: HeldAnswer;
      readonly fault: WorkerFault;
    }
  /** The rest of an answer; `error` is for the client. */
  | {
      readonly type: 'answer';
      readonly current: Try;
      readonly answer: PassedAnswer;
      readonly detail: string;
      readonly error: OpenAiError;
    }
  /** The client does not read. */
  | { readonly type: 'client'; readonly answer: PassedAnswer };

/** How long one request has waited, for whom, and whether that is too long. */
export class RequestTimeouts {
  readonly startedMs: number;
  readonly #request: ProxiedRequest;
  readonly #options: ProxyOptions;
  readonly #clock: Clock;
  readonly #silence: SilenceWatch;
  /** Made for a request that waits so long that it is looked at. */
  #stall: StallWatch | undefined;
  #sinceMs: number;
  /** Since when the client reads nothing; undefined while it does. */
  #pausedMs: number | undefined;

  constructor(
    request: ProxiedRequest,
    { options, clock }: { readonly options: ProxyOptions; readonly clock: Clock },
  ) {
    this.#request = request;
    this.#options = options;
    this.#clock = clock;
    this.#silence = new SilenceWatch(options, { clock });
    this.startedMs = clock.monotonicMs();
    this.#sinceMs = this.startedMs;
  }

  /** When its state began, or the last piece came. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** Its state has changed, or a piece has come; comes back with the time. */
  begin(): number {
    this.#sinceMs = this.#clock.monotonicMs();
    return this.#sinceMs;
  }

  /** Another worker is asked. */
  beginTry(): void {
    this.#silence.restart();
    this.#stall?.restart();
  }

  /** The client reads nothing. */
  pause(): void {
    this.#pausedMs ??= this.#sinceMs;
  }

  /** The client reads again. False where it did all the time. */
  resume(): boolean {
    if (this.#pausedMs === undefined) return false;
    this.#pausedMs = undefined;
    this.begin();
    return true;
  }

  /** Engines close idle connections without notice; the worker itself may be well, and is tried once more. */
  wasStale({ isSecond }: Try, error: Error): boolean {
    return (
      !isSecond &&
      isOfUsedConnection(error) &&
      this.#clock.monotonicMs() - this.#sinceMs < STALE_CONNECTION_MS
    );
  }

  /** What has taken too long, if anything. `watched` is the try that is under way as its watches shall see it. */
  check(state: State, watched: (current: Try) => Try, nowMs: number): Overdue | undefined {
    const { headersTimeoutMs, slowClientTimeoutMs, totalTimeoutMs } = this.#options;
    const isTooOld = nowMs - this.startedMs >= totalTimeoutMs;
    const elapsedMs = nowMs - this.#sinceMs;
    switch (state.type) {
      case 'picking':
      case 'chosen':
      case 'prefilling':
      case 'connecting':
        return isTooOld ? { type: 'request', route: routeOf(state) } : undefined;
      case 'waiting': {
        const { current } = state;
        const isTooSlow = elapsedMs >= headersTimeoutMs;
        if (isTooSlow) this.#blame(current, elapsedMs);
        if (isTooOld || isTooSlow) return { type: 'request', route: current.route };
        // A worker that answers no request keeps no request that another one can serve.
        const silence =
          this.#silence.beforeAnswer(current, this.#sinceMs, nowMs) ??
          this.#stalled(watched(current), false, nowMs);
        return silence?.isReported === true ? { type: 'worker', current, silence } : undefined;
      }
      case 'holding':
        if (isTooOld) return { type: 'request', route: state.current.route };
        return elapsedMs >= HOLDING_MS ? { ...state, type: 'error' } : undefined;
      case 'passing':
        return this.#checkAnswer(state, watched, isTooOld, nowMs);
      case 'flushing':
        return isTooOld || elapsedMs >= slowClientTimeoutMs
          ? { type: 'client', answer: state.answer }
          : undefined;
      case 'over':
        return undefined;
    }
  }

  #checkAnswer(
    { current, answer }: Extract<State, { type: 'passing' }>,
    watched: (current: Try) => Try,
    isTooOld: boolean,
    nowMs: number,
  ): Overdue | undefined {
    const { idleTimeoutMs, slowClientTimeoutMs, totalTimeoutMs } = this.#options;
    const elapsedMs = nowMs - this.#sinceMs;
    if (isTooOld) {
      const detail = `no request may take longer than ${seconds(totalTimeoutMs)} s`;
      return { type: 'answer', current, answer, detail, error: tooLateError() };
    }
    if (this.#pausedMs !== undefined)
      return nowMs - this.#pausedMs >= slowClientTimeoutMs ? { type: 'client', answer } : undefined;
    if (elapsedMs >= idleTimeoutMs) {
      this.#blame(current, elapsedMs);
      const detail = `nothing came for ${seconds(elapsedMs)} s`;
      return { type: 'answer', current, answer, detail, error: cutError() };
    }
    // A worker that says nothing at all within an answer, and not to who asks for its models, is gone.
    const silence =
      this.#silence.withinAnswer(current, this.#sinceMs, nowMs) ??
      this.#stalled(watched(current), true, nowMs);
    return silence?.isGone === true
      ? { type: 'answer', current, answer, detail: silence.detail, error: cutError() }
      : undefined;
  }

  /** What its worker's HTTP server answers by itself shows nothing of the engine. */
  #stalled(current: Try, isWithin: boolean, nowMs: number): Silence | undefined {
    if (this.#request.api.isAnsweredByServer === true) return undefined;
    this.#stall ??= new StallWatch(this.#options, this.#request, { clock: this.#clock });
    return this.#stall.check(current, isWithin, this.#sinceMs, nowMs);
  }

  /** It waited as long as a request may; a full engine is no fault as long as it answers others. */
  #blame({ route, endpoint }: Try, elapsedMs: number): void {
    if (endpoint.worker.life.hasAnsweredSince(this.#sinceMs)) return;
    route.failed({ kind: 'timeout', detail: `nothing for ${seconds(elapsedMs)} s` });
  }
}
