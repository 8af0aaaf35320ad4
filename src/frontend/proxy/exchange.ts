import type { ServerResponse } from 'node:http';
import type { WorkerFault } from '../../core/health/worker-fault.js';
import { workerName } from '../../core/text/worker-name.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { UnorderedMember } from '../../edge/platform/data/unordered-set.js';
import type { Logger } from '../../edge/platform/logger.js';
import { type Route, RoutingError } from '../../fleet/router/routing.js';
import { sendError } from '../errors/api-shapes.js';
import { drainingError } from '../errors/gateway-errors.js';
import { OpenAiError } from '../errors/openai-error.js';
import type { AccessProblems } from './access-problems.js';
import { Attempt, type AttemptFailure, type AttemptListener } from './attempt.js';
import { breakOff } from './break-off.js';
import { routeOf, type State, type Try } from './exchange-state.js';
import type { FailureLog } from './failure-log.js';
import { decisionHeaders, forwardedHeaders, passedHeaders } from './headers.js';
import { HeldAnswer } from './held-answer.js';
import { type AnswerHead, PassedAnswer } from './passed-answer.js';
import type { Picked, ProxiedRequest, ProxyOutcome } from './proxied-request.js';
import type { ProxyOptions } from './proxy-options.js';
import { cutError, notAnsweredError, notPickedError, tooLateError } from './refusals.js';
import { type Silence, SilenceWatch, seconds } from './silence-watch.js';
import { StallWatch } from './stall-watch.js';
import { faultOf, Suspects, suspicionOf } from './suspicion.js';
import type { WorkerEndpoint, WorkerPools } from './worker-pools.js';
import { writeHeadSafely } from './write-head.js';

export interface ExchangeModules {
  readonly options: ProxyOptions;
  readonly pools: WorkerPools;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly access: AccessProblems;
  readonly failures: FailureLog;
}

/** A connection that ends within this time was probably closing when the request was sent on it. */
const STALE_CONNECTION_MS = 1_000;

/**
 * Workers that may end with one request before it is given up: the request itself may be what ends engines, and is not to
 * go through a whole fleet of them.
 */
const MAX_ENDINGS = 2;

/** The status, used in logs alone, of a request whose client left before there was one. */
const CLIENT_CLOSED_REQUEST = 499;

const NO_TARGETS: readonly string[] = [];

/** How long an error may take to come in whole. */
const HOLDING_MS = 2_000;

/** One request on its way from a client to a worker, and its answer on the way back. */
export class Exchange implements AttemptListener, UnorderedMember {
  place = -1;
  readonly #request: ProxiedRequest;
  readonly #response: ServerResponse;
  readonly #modules: ExchangeModules;
  readonly #settle: (outcome: ProxyOutcome) => void;
  readonly #startedMs: number;
  #state: State = { type: 'picking' };
  /** When the state began, or the last piece came. */
  #sinceMs: number;
  /** Since when the client reads nothing; undefined while it does. */
  #pausedMs: number | undefined;
  #listensForDrain = false;
  /** Targets that failed. */
  readonly #excluded: string[] = [];
  #failure: AttemptFailure | undefined;
  readonly #silence: SilenceWatch;
  /** Made for a request that waits so long that it is looked at. */
  #stall: StallWatch | undefined;
  /** Workers that closed the connection after the request was sent. */
  #endings = 0;
  readonly #suspects = new Suspects();
  /** The worker that was asked last. */
  #lastRoute: Route | undefined;
  /** The last error that came in whole. */
  #held: HeldAnswer | undefined;
  /** 0 while none was sent. */
  #status = 0;
  #firstByteMs: number | undefined;

  constructor(
    request: ProxiedRequest,
    response: ServerResponse,
    modules: ExchangeModules,
    settle: (outcome: ProxyOutcome) => void,
  ) {
    this.#request = request;
    this.#response = response;
    this.#modules = modules;
    this.#settle = settle;
    this.#silence = new SilenceWatch(modules.options, modules);
    this.#startedMs = modules.clock.monotonicMs();
    this.#sinceMs = this.#startedMs;
  }

  start(): void {
    const response = this.#response;
    if (response.destroyed) {
      this.#finish('client_gone');
      return;
    }
    response.on('close', () => this.#onClientClosed());
    response.on('error', ignore);
    this.#pick();
  }

  /** Ends what has taken too long. */
  check(nowMs: number): void {
    const { options } = this.#modules;
    const state = this.#state;
    const isTooOld = nowMs - this.#startedMs >= options.totalTimeoutMs;
    const elapsedMs = nowMs - this.#sinceMs;
    switch (state.type) {
      case 'picking':
      case 'chosen':
      case 'connecting':
        if (isTooOld) this.#refuseLate(routeOf(state));
        break;
      case 'waiting':
        if (isTooOld || elapsedMs >= options.headersTimeoutMs) {
          if (elapsedMs >= options.headersTimeoutMs) this.#blameForSilence(state.current, elapsedMs);
          this.#refuseLate(state.current.route);
        } else {
          // A worker that answers no request keeps no request that another one can serve.
          const silence =
            this.#silence.beforeAnswer(state.current, this.#sinceMs, nowMs) ??
            this.#stalled(state.current, false, nowMs);
          if (silence?.isReported === true && (this.#mayRetry || silence.isGone))
            this.#lookElsewhere(state.current, silence);
        }
        break;
      case 'holding':
        if (isTooOld) this.#refuseLate(state.current.route);
        else if (elapsedMs >= HOLDING_MS) this.#retryHeld(state.current, state.coming, state.fault);
        break;
      case 'passing':
        if (isTooOld) {
          const detail = `no request may take longer than ${seconds(options.totalTimeoutMs)} s`;
          this.#modules.failures.cut(state.current.route.decision, detail);
          this.#breakOff('upstream_broke', state.answer, tooLateError());
        } else if (this.#pausedMs !== undefined) {
          if (nowMs - this.#pausedMs >= options.slowClientTimeoutMs)
            this.#breakOff('client_gone', state.answer);
        } else if (elapsedMs >= options.idleTimeoutMs) {
          this.#blameForSilence(state.current, elapsedMs);
          this.#cut(state.current, state.answer, `nothing came for ${seconds(elapsedMs)} s`);
        } else {
          // A worker that says nothing at all within an answer, and not to who asks for its models, is gone.
          const silence =
            this.#silence.withinAnswer(state.current, this.#sinceMs, nowMs) ??
            this.#stalled(state.current, true, nowMs);
          if (silence?.isGone === true) this.#cut(state.current, state.answer, silence.detail);
        }
        break;
      case 'flushing':
        if (isTooOld || elapsedMs >= options.slowClientTimeoutMs) this.#breakOff('client_gone', state.answer);
        break;
      case 'over':
        break;
    }
  }

  /** What its worker's HTTP server answers by itself shows nothing of the engine. */
  #stalled(current: Try, isWithin: boolean, nowMs: number): Silence | undefined {
    if (this.#request.api.isAnsweredByServer === true) return undefined;
    this.#stall ??= new StallWatch(this.#modules.options, this.#request, this.#modules);
    return this.#stall.check(current, isWithin, this.#sinceMs, nowMs);
  }

  /** It waited as long as a request may; a full engine is no fault as long as it answers others. */
  #blameForSilence({ route, endpoint }: Try, elapsedMs: number): void {
    if (endpoint.worker.life.hasAnsweredSince(this.#sinceMs)) return;
    route.failed({ kind: 'timeout', detail: `nothing for ${seconds(elapsedMs)} s` });
  }

  /** The answer of a worker ended before its end. */
  #cut({ route }: Try, answer: PassedAnswer, detail: string): void {
    this.#modules.failures.cut(route.decision, detail);
    this.#breakOff('upstream_broke', answer, cutError());
  }

  /**
   * Goes to another worker, if there is one: until it is known, the silent one may still answer. An ejected worker is a
   * better place only than one that is gone: before, each one that is offered is added to `ejected`, and passed over. Where
   * no further worker may be tried, the request ends as soon as another attempt of its client would find one.
   */
  #lookElsewhere(silent: Try, silence: Silence, ejected: readonly string[] = NO_TARGETS): void {
    const { target } = silent.route.decision;
    const { isGone, isNew, what } = silence;
    const passedOver = [...this.#excluded, target, ...ejected];
    this.#ask(passedOver).then(
      (picked) => {
        const state = this.#state;
        const { decision } = picked.route;
        if (state.type !== 'waiting' || state.current !== silent || passedOver.includes(decision.target)) {
          picked.route.release();
          return;
        }
        if (decision.isTrial === true && !isGone) {
          picked.route.release();
          this.#lookElsewhere(silent, silence, [...ejected, decision.target]);
          return;
        }
        const mayRetry = this.#mayRetry;
        if (isNew(silent))
          this.#modules.logger.warn(
            { target, worker: workerName(silent.route.decision) },
            `${what}, and its requests go to others`,
          );
        this.#failure = 'silent';
        this.#lastRoute = silent.route;
        this.#excluded.push(target);
        this.#become({ type: 'picking' });
        if (mayRetry) this.#onPicked(picked);
        else {
          picked.route.release();
          this.#giveUp('silent');
        }
      },
      (error: unknown) =>
        this.#modules.logger.debug({ target, error }, `${what}, and no other can serve its request`),
    );
  }

  /** Ends it now: with a refusal where nothing was sent yet, else in the middle. */
  cut(): void {
    const state = this.#state;
    if (state.type === 'flushing') this.#breakOff('client_gone', state.answer);
    else if (state.type === 'passing') this.#breakOff('upstream_broke', state.answer, drainingError());
    else this.#refuse(drainingError());
  }

  onSent(): void {
    const state = this.#state;
    if (state.type === 'connecting') this.#become({ type: 'waiting', current: state.current });
  }

  onAnswer(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    const state = this.#state;
    if (state.type !== 'waiting') return;
    const { route, endpoint } = state.current;
    this.#modules.access.answered(route.decision, status);
    endpoint.worker.life.answer(this.#modules.clock.monotonicMs());
    const { headers, isHtml, isEventStream, hasLength, isPlain } = passedHeaders(rawHeaders);
    if (this.#modules.options.decisionHeaders) headers.push(...decisionHeaders(route.decision));
    const fault = suspicionOf({ status, isHtml });
    if (fault !== undefined && this.#mayRetry) {
      const coming = new HeldAnswer(status, headers);
      this.#become({ type: 'holding', current: state.current, coming, fault });
      return;
    }
    if (fault === undefined && status < 300) this.#suspects.blame();
    this.#passHead(state.current, { status, isEventStream, hasLength, isPlain }, headers);
  }

  onData(piece: Buffer): void {
    const state = this.#state;
    if (state.type === 'holding') {
      if (!state.coming.add(piece)) this.#retryHeld(state.current, state.coming, state.fault);
      return;
    }
    const response = this.#response;
    // Its `close` comes in a moment.
    if (state.type !== 'passing' || response.destroyed) return;
    const { current, answer } = state;
    this.#sinceMs = this.#modules.clock.monotonicMs();
    current.endpoint.worker.life.answer(this.#sinceMs);
    if (!answer.hasData) this.#firstByteMs = this.#sinceMs - this.#startedMs;
    const passed = answer.onData(piece, current.route);
    if (answer.showsWork) current.endpoint.worker.work.worked(this.#sinceMs);
    this.#request.onPiece?.(piece, current.route.decision);
    if (passed !== undefined && !response.write(passed)) this.#pause(current.attempt);
  }

  onEnd(): void {
    const state = this.#state;
    if (state.type === 'holding') {
      this.#held = state.coming;
      this.#retryHeld(state.current, state.coming, state.fault);
      return;
    }
    if (state.type !== 'passing') return;
    const rest = state.answer.onEnd(state.current.route);
    this.#become({ type: 'flushing', answer: state.answer });
    this.#response.end(rest);
  }

  onFailure(failure: AttemptFailure, error: Error): void {
    const { clock, logger, access } = this.#modules;
    const state = this.#state;
    if (!('current' in state)) return;
    const { current } = state;
    const { decision } = current.route;
    const { target } = decision;
    access.failed(decision, error);
    logger.debug({ target, failure, error, phase: state.type }, 'A request failed at its worker');
    if (state.type === 'passing') {
      current.route.failed({ kind: 'cut', detail: error.message });
      this.#cut(current, state.answer, error.message);
    } else if (state.type === 'holding') this.#retryHeld(current, state.coming, state.fault);
    else if (failure === 'closed' && state.type === 'waiting' && this.#isStale(current, clock.monotonicMs()))
      this.#dispatch(current.route, current.endpoint, true);
    else this.#retry(failure, current, faultOf(failure, error));
  }

  /** Engines close idle connections without notice; the worker itself may be well, and is tried once more. */
  #isStale({ isSecond }: Try, nowMs: number): boolean {
    return !isSecond && nowMs - this.#sinceMs < STALE_CONNECTION_MS;
  }

  get #mayRetry(): boolean {
    return this.#excluded.length < this.#modules.options.maxRetries && this.#endings < MAX_ENDINGS;
  }

  /** The only place where the state changes: what the next one does not hold any more is left, or released. */
  #become(next: State): void {
    const old = this.#state;
    if (old.type === 'over') return;
    this.#state = next;
    this.#sinceMs = this.#modules.clock.monotonicMs();
    if ('current' in old && !('current' in next && next.current.attempt === old.current.attempt))
      old.current.attempt.leave();
    const route = routeOf(old);
    if (route !== undefined && route !== routeOf(next))
      this.#release(route, 'answer' in old ? old.answer : undefined);
  }

  #pick(): void {
    this.#become({ type: 'picking' });
    this.#ask(this.#excluded.length === 0 ? NO_TARGETS : [...this.#excluded]).then(
      (picked) => this.#onPicked(picked),
      (error: unknown) => this.#onNotPicked(error),
    );
  }

  #ask(excluded: readonly string[]): Promise<Picked> {
    try {
      return this.#request.pick(excluded);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #onPicked({ route, baseUrl }: Picked): void {
    if (this.#state.type !== 'picking') {
      // It ended while it waited.
      route.release();
      return;
    }
    this.#become({ type: 'chosen', route });
    let endpoint: WorkerEndpoint;
    try {
      endpoint = this.#modules.pools.of(baseUrl);
    } catch (error) {
      this.#modules.logger.warn(
        { worker_id: route.decision.workerId, worker: route.decision.target, baseUrl, error },
        `The engine's address of worker ${workerName(route.decision)} is not a URL`,
      );
      const fault = { kind: 'unreachable', detail: 'its address is not a URL' } as const;
      this.#retry('unreachable', { route, isSecond: false }, fault);
      return;
    }
    this.#dispatch(route, endpoint, false);
  }

  #onNotPicked(error: unknown): void {
    if (this.#state.type !== 'picking') return;
    const isExpected = error instanceof RoutingError || error instanceof OpenAiError;
    if (!isExpected) this.#modules.logger.error({ error }, 'No worker could be chosen for a request');
    // Where a worker was asked, what happened there says more than that none is left.
    if (this.#failure === undefined || !isExpected) this.#refuse(notPickedError(error));
    else this.#giveUp(this.#failure);
  }

  #dispatch(route: Route, endpoint: WorkerEndpoint, isSecond: boolean): void {
    const { options } = this.#modules;
    const { worker, pathPrefix, baseUrl } = endpoint;
    const { decision } = route;
    if (worker.running >= options.maxRequestsPerWorker) {
      this.#retry('busy', { route, isSecond });
      return;
    }
    const { method, path, headers, body } = this.#request;
    const { socket } = this.#response;
    const caller = {
      address: socket?.remoteAddress,
      isEncrypted: socket !== null && 'encrypted' in socket,
    };
    // Asked only where there is a key: a refusal is logged.
    const hasKey =
      options.engineApiKey !== undefined ||
      (options.passesAuthorization &&
        (headers.authorization !== undefined || headers['x-api-key'] !== undefined));
    const mayHaveKeys = hasKey && options.mayHaveKeys(decision, baseUrl);
    const { cacheSourceOf } = this.#request;
    const source = cacheSourceOf === undefined ? undefined : (cacheSourceOf(decision) ?? 'none');
    const attempt = new Attempt(worker, this);
    if (!isSecond) {
      this.#silence.restart();
      this.#stall?.restart();
    }
    this.#become({ type: 'connecting', current: { route, endpoint, attempt, isSecond } });
    worker.work.sent(decision, body.length, this.#sinceMs);
    // The attempt hears of everything that is wrong: nothing is thrown here.
    worker.pool.dispatch(
      {
        method,
        path: pathPrefix + path,
        headers: forwardedHeaders(headers, caller, options, decision, mayHaveKeys, source),
        body: body.length === 0 ? null : body,
      },
      attempt,
    );
  }

  #isRightlyRefused({ kind }: WorkerFault): boolean {
    return kind === 'refused' && this.#request.mayBeRefused === true;
  }

  /** The worker answered with an error; whether it or the request is to blame shows when another one is asked. */
  #retryHeld(current: Try, { status }: HeldAnswer, fault: WorkerFault): void {
    this.#retry(status === 503 ? 'unavailable' : 'error', current, fault);
  }

  /** This worker is out; another one is asked for while that makes sense. */
  #retry(
    failure: AttemptFailure,
    { route, isSecond }: Pick<Try, 'route' | 'isSecond'>,
    fault?: WorkerFault,
  ): void {
    // That no connection can be made is no fault of any request.
    if (fault?.kind === 'unreachable') route.failed(fault);
    else if (fault !== undefined && !this.#isRightlyRefused(fault)) this.#suspects.add(route, fault);
    // One that closed the connection and cannot be reached any more has ended, too.
    if (failure === 'closed' || failure === 'error' || (failure === 'unreachable' && isSecond))
      this.#endings += 1;
    this.#lastRoute = route;
    const mayRetry = this.#mayRetry && failure !== 'bad_request';
    this.#failure = failure;
    this.#excluded.push(route.decision.target);
    if (mayRetry) this.#pick();
    else this.#giveUp(failure);
  }

  #giveUp(failure: AttemptFailure): void {
    const held = this.#held;
    const { group } = this.#request;
    if (held === undefined) {
      const error = notAnsweredError(failure, this.#excluded.length);
      if (failure !== 'bad_request')
        this.#modules.failures.refused(group, error.message, this.#lastRoute?.decision);
      this.#refuse(error);
      return;
    }
    if (held.status >= 500)
      this.#modules.failures.refused(
        group,
        `a worker answered with status ${held.status}.`,
        this.#lastRoute?.decision,
      );
    this.#status = held.status;
    this.#finish('complete');
    if (!this.#response.destroyed) held.send(this.#response);
  }

  /** Its time is over, before an answer began. */
  #refuseLate(route: Route | undefined): void {
    const error = tooLateError();
    const { decision } = route ?? this.#lastRoute ?? {};
    this.#modules.failures.refused(this.#request.group, error.message, decision);
    this.#refuse(error);
  }

  #refuse(error: OpenAiError): void {
    this.#status = error.status;
    this.#finish('refused');
    if (!this.#response.destroyed) sendError(this.#response, error, this.#request.api.shape);
  }

  #passHead(current: Try, head: AnswerHead, headers: readonly string[]): void {
    const response = this.#response;
    if (response.destroyed) return;
    const { status } = head;
    this.#status = status;
    const { tokensPerBlock } = current.route.decision;
    const answer = new PassedAnswer(head, tokensPerBlock, this.#request.api);
    this.#become({ type: 'passing', current, answer });
    writeHeadSafely(response, status, headers);
    // One packet where the body has come with the head; else the head goes alone.
    queueMicrotask(() => {
      if (!answer.hasData && this.#state.type === 'passing' && !response.destroyed) response.flushHeaders();
    });
  }

  #pause(attempt: Attempt): void {
    attempt.pause();
    this.#pausedMs ??= this.#sinceMs;
    if (this.#listensForDrain) return;
    this.#listensForDrain = true;
    this.#response.on('drain', () => this.#resume());
  }

  #resume(): void {
    const state = this.#state;
    if (this.#pausedMs === undefined || state.type !== 'passing') return;
    this.#pausedMs = undefined;
    this.#sinceMs = this.#modules.clock.monotonicMs();
    state.current.attempt.resume();
  }

  #onClientClosed(): void {
    const isWhole = this.#state.type === 'flushing' && this.#response.writableFinished;
    this.#finish(isWhole ? 'complete' : 'client_gone');
  }

  /** `error` is what the client of a stream reads as its last event, where it still reads. */
  #breakOff(ended: ProxyOutcome['ended'], answer: PassedAnswer, error?: OpenAiError): void {
    const response = this.#response;
    this.#finish(ended);
    const event = error && answer.lastEvent(this.#request.api.shape.streamEvent(error));
    if (event === undefined || response.writableNeedDrain || response.destroyed)
      breakOff(response, answer.hasLength);
    else response.end(event);
  }

  #finish(ended: ProxyOutcome['ended']): void {
    if (this.#state.type === 'over') return;
    this.#become({ type: 'over' });
    const status = this.#status === 0 ? CLIENT_CLOSED_REQUEST : this.#status;
    this.#settle({ status, ended, firstByteMs: this.#firstByteMs });
  }

  #release(route: Route, answer: PassedAnswer | undefined): void {
    try {
      route.release(answer?.usage);
    } catch (error) {
      // Whatever is wrong there, this request ends here.
      this.#modules.logger.error({ error }, 'A route could not be released');
    }
  }
}

/** What is written to a client that has just gone fails; its `close` says so. */
function ignore(): void {}
