import type { ServerResponse } from 'node:http';
import type { Clock } from '../../edge/platform/clock.js';
import type { UnorderedMember } from '../../edge/platform/data/unordered-set.js';
import type { Logger } from '../../edge/platform/logger.js';
import { type Route, RoutingError } from '../../fleet/router/routing.js';
import { drainingError } from '../gateway/gateway-errors.js';
import { OpenAiError, sendOpenAiError } from '../gateway/openai-error.js';
import type { AccessTrouble } from './access-trouble.js';
import { AnswerWatch } from './answer-watch.js';
import { Attempt, type AttemptFailure, type AttemptListener } from './attempt.js';
import { breakOff } from './break-off.js';
import { decisionHeaders, forwardedHeaders, passedHeaders } from './headers.js';
import { HeldAnswer } from './held-answer.js';
import type { Picked, ProxiedRequest, ProxyOutcome } from './proxied-request.js';
import type { ProxyOptions } from './proxy-options.js';
import { notAnsweredError, notPickedError, tooLateError } from './refusals.js';
import type { WorkerEndpoint, WorkerPools } from './worker-pools.js';
import { writeHeadSafely } from './write-head.js';

export interface ExchangeModules {
  readonly options: ProxyOptions;
  readonly pools: WorkerPools;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly trouble: AccessTrouble;
}

/**
 * Where a request is:
 * - `picking`: a worker is being chosen;
 * - `connecting`, `waiting`: for a connection, for the first byte of an answer;
 * - `holding`: a 503 comes in, which is passed on only if nobody else answers;
 * - `passing`: the answer goes to the client as it comes;
 * - `flushing`: the worker is done, and the client reads the rest;
 * - `over`.
 */
type Phase = 'picking' | 'connecting' | 'waiting' | 'holding' | 'passing' | 'flushing' | 'over';

/** How often progress is told, in events of a stream, where blocks are smaller. */
const MIN_EVENTS_PER_PROGRESS = 16;

/** A connection that ends within this time was probably closing when the request was sent on it. */
const STALE_CONNECTION_MS = 1_000;

/**
 * Workers that may end with one request before it is given up: the request itself may be what ends engines, and is not to
 * go through a whole fleet of them.
 */
const MAX_ENDINGS = 2;

/** The status, used in logs alone, of a request whose client left before there was one. */
const CLIENT_CLOSED_REQUEST = 499;

const NOBODY: readonly string[] = [];

/** How long a 503 may take to come in whole. */
const HOLDING_MS = 2_000;

/** One request on its way from a client to a worker, and its answer on the way back. */
export class Exchange implements AttemptListener, UnorderedMember {
  place = -1;
  readonly #request: ProxiedRequest;
  readonly #response: ServerResponse;
  readonly #modules: ExchangeModules;
  readonly #settle: (outcome: ProxyOutcome) => void;
  readonly #startedMs: number;
  #phase: Phase = 'picking';
  /** When the phase began, or the last piece came. */
  #sinceMs: number;
  /** Since when the client reads nothing; undefined while it does. */
  #pausedMs: number | undefined;
  /** Targets that failed. */
  readonly #excluded: string[] = [];
  #route: Route | undefined;
  #endpoint: WorkerEndpoint | undefined;
  #attempt: Attempt | undefined;
  /** The same worker was tried once more, since its connection was only stale. */
  #isSecondTry = false;
  #failure: AttemptFailure | undefined;
  /** When another worker may be looked for again. */
  #lookElsewhereMs = Number.NEGATIVE_INFINITY;
  /** Workers that closed the connection after the request was sent. */
  #endings = 0;
  /** A 503 that is coming in, and the last one that came in whole. */
  #coming: HeldAnswer | undefined;
  #held: HeldAnswer | undefined;
  #watch: AnswerWatch | undefined;
  #isStream = false;
  #hasLength = false;
  #isPrefillDone = false;
  #nextProgress = 0;
  #hasData = false;
  #listensForDrain = false;
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
    const isTooOld = nowMs - this.#startedMs >= options.totalTimeoutMs;
    const elapsedMs = nowMs - this.#sinceMs;
    switch (this.#phase) {
      case 'picking':
      case 'connecting':
        if (isTooOld) this.#refuse(tooLateError());
        break;
      case 'waiting':
        if (isTooOld || elapsedMs >= options.headersTimeoutMs) this.#refuse(tooLateError());
        else this.#watchSilence(nowMs);
        break;
      case 'holding':
        if (isTooOld) this.#refuse(tooLateError());
        else if (elapsedMs >= HOLDING_MS) this.#retry('unavailable');
        break;
      case 'passing':
        if (isTooOld) this.#breakOff('upstream_broke');
        else if (this.#pausedMs !== undefined) {
          if (nowMs - this.#pausedMs >= options.slowClientTimeoutMs) this.#breakOff('client_gone');
        } else if (elapsedMs >= options.idleTimeoutMs) this.#breakOff('upstream_broke');
        break;
      case 'flushing':
        if (isTooOld || elapsedMs >= options.slowClientTimeoutMs) this.#breakOff('client_gone');
        break;
      case 'over':
        break;
    }
  }

  /** A worker that says nothing to anybody keeps no request that another one can serve. */
  #watchSilence(nowMs: number): void {
    const { options, clock } = this.#modules;
    const { worker, pathPrefix } = this.#endpoint as WorkerEndpoint;
    const silentMs = worker.life.silentMs(this.#sinceMs, nowMs);
    const halfMs = options.firstByteTimeoutMs / 2;
    if (silentMs < halfMs) return;
    worker.life.ask(worker.pool, pathPrefix, halfMs, clock);
    if (silentMs < options.firstByteTimeoutMs || !this.#mayRetry || nowMs < this.#lookElsewhereMs) return;
    this.#lookElsewhereMs = nowMs + options.firstByteTimeoutMs;
    this.#lookElsewhere();
  }

  /** Goes to another worker, if there is one: until it is known, the silent one may still answer. */
  #lookElsewhere(): void {
    const attempt = this.#attempt;
    const { target } = (this.#route as Route).decision;
    const isOld = (): boolean => this.#phase !== 'waiting' || this.#attempt !== attempt;
    this.#request.pick([...this.#excluded, target]).then(
      (picked) => {
        if (isOld()) {
          picked.route.release();
          return;
        }
        if ((this.#endpoint as WorkerEndpoint).worker.life.tellSilence())
          this.#modules.logger.warn({ target }, 'A worker says nothing, and its requests go to others');
        this.#leave();
        this.#release();
        this.#failure = 'silent';
        this.#excluded.push(target);
        this.#enter('picking');
        this.#onPicked(picked);
      },
      (error: unknown) =>
        this.#modules.logger.debug(
          { target, error },
          'A worker says nothing, and no other can serve its request',
        ),
    );
  }

  /** Ends it now: with a refusal where nothing was sent yet, else in the middle. */
  cut(): void {
    if (this.#phase === 'flushing') this.#breakOff('client_gone');
    else if (this.#phase === 'passing') this.#breakOff('upstream_broke');
    else this.#refuse(drainingError());
  }

  onSent(): void {
    this.#enter('waiting');
  }

  onAnswer(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    this.#modules.trouble.answered(this.#route?.decision.target, status);
    this.#endpoint?.worker.life.hear(this.#modules.clock.monotonicMs());
    if (status === 503 && this.#mayRetry) {
      this.#coming = new HeldAnswer(status, passedHeaders(rawHeaders).headers);
      this.#enter('holding');
      return;
    }
    this.#passHead(status, rawHeaders);
  }

  onData(piece: Buffer): void {
    if (this.#phase === 'holding') {
      if (this.#coming?.add(piece) === false) this.#retry('unavailable');
      return;
    }
    const response = this.#response;
    // Its `close` comes in a moment.
    if (response.destroyed) return;
    this.#sinceMs = this.#modules.clock.monotonicMs();
    this.#endpoint?.worker.life.hear(this.#sinceMs);
    if (!this.#hasData) this.#onFirstData();
    this.#follow(piece);
    if (!response.write(piece)) this.#pause();
  }

  onEnd(): void {
    if (this.#phase === 'holding') {
      this.#held = this.#coming;
      this.#retry('unavailable');
      return;
    }
    if (this.#isSuccess) this.#prefillDone();
    this.#release();
    this.#enter('flushing');
    this.#response.end();
  }

  onFailure(failure: AttemptFailure, error: Error): void {
    const { clock, logger, trouble } = this.#modules;
    const target = this.#route?.decision.target;
    trouble.failed(target, error);
    logger.debug({ target, failure, error, phase: this.#phase }, 'A request failed at its worker');
    if (this.#phase === 'passing') this.#breakOff('upstream_broke');
    else if (this.#phase === 'holding') this.#retry('unavailable');
    else if (failure === 'closed' && this.#isStale(clock.monotonicMs())) {
      this.#isSecondTry = true;
      this.#dispatch();
    } else this.#retry(failure);
  }

  /** Engines close idle connections without telling; the worker itself may be well, and is tried once more. */
  #isStale(nowMs: number): boolean {
    return this.#phase === 'waiting' && !this.#isSecondTry && nowMs - this.#sinceMs < STALE_CONNECTION_MS;
  }

  get #isSuccess(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }

  get #mayRetry(): boolean {
    return this.#excluded.length < this.#modules.options.maxRetries && this.#endings < MAX_ENDINGS;
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#sinceMs = this.#modules.clock.monotonicMs();
  }

  #pick(): void {
    this.#enter('picking');
    try {
      this.#request.pick(this.#excluded.length === 0 ? NOBODY : [...this.#excluded]).then(
        (picked) => this.#onPicked(picked),
        (error: unknown) => this.#onNotPicked(error),
      );
    } catch (error) {
      this.#onNotPicked(error);
    }
  }

  #onPicked({ route, baseUrl }: Picked): void {
    if (this.#phase !== 'picking') {
      // It ended while it waited.
      route.release();
      return;
    }
    this.#route = route;
    this.#isSecondTry = false;
    try {
      this.#endpoint = this.#modules.pools.of(baseUrl);
    } catch (error) {
      this.#modules.logger.warn(
        { target: route.decision.target, baseUrl, error },
        'The address of a worker is not a URL',
      );
      this.#retry('unreachable');
      return;
    }
    this.#dispatch();
  }

  #onNotPicked(error: unknown): void {
    if (this.#phase !== 'picking') return;
    const isExpected = error instanceof RoutingError || error instanceof OpenAiError;
    if (!isExpected) this.#modules.logger.error({ error }, 'No worker could be chosen for a request');
    // Where somebody was asked, what happened there says more than that nobody is left.
    if (this.#failure === undefined || !isExpected) this.#refuse(notPickedError(error));
    else this.#giveUp(this.#failure);
  }

  #dispatch(): void {
    const { options } = this.#modules;
    const { worker, pathPrefix, baseUrl } = this.#endpoint as WorkerEndpoint;
    const { decision } = this.#route as Route;
    if (worker.running >= options.maxRequestsPerWorker) {
      this.#retry('busy');
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
      (options.passesAuthorization && headers.authorization !== undefined);
    const mayHaveKeys = hasKey && options.mayHaveKeys(decision.target, baseUrl);
    this.#enter('connecting');
    const attempt = new Attempt(worker, this);
    this.#attempt = attempt;
    // Whatever is wrong is told to the attempt: nothing is thrown here.
    worker.pool.dispatch(
      {
        method,
        path: pathPrefix + path,
        headers: forwardedHeaders(headers, caller, options, decision, mayHaveKeys),
        body: body.length === 0 ? null : body,
      },
      attempt,
    );
  }

  /** This worker is out; another one is asked for while that makes sense. */
  #retry(failure: AttemptFailure): void {
    const route = this.#route as Route;
    // One that closed the connection and cannot be reached any more has ended, too.
    if (failure === 'closed' || (failure === 'unreachable' && this.#isSecondTry)) this.#endings += 1;
    const mayRetry = this.#mayRetry && failure !== 'bad_request';
    this.#leave();
    this.#release();
    this.#failure = failure;
    this.#excluded.push(route.decision.target);
    if (mayRetry) this.#pick();
    else this.#giveUp(failure);
  }

  #giveUp(failure: AttemptFailure): void {
    const held = this.#held;
    if (held === undefined) {
      this.#refuse(notAnsweredError(failure, this.#excluded.length));
      return;
    }
    this.#status = held.status;
    this.#finish('complete');
    if (!this.#response.destroyed) held.send(this.#response);
  }

  #refuse(error: OpenAiError): void {
    this.#status = error.status;
    this.#finish('refused');
    if (!this.#response.destroyed) sendOpenAiError(this.#response, error);
  }

  #passHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    const response = this.#response;
    if (response.destroyed) return;
    const { decision } = this.#route as Route;
    const { headers, isEventStream, hasLength, isPlain } = passedHeaders(rawHeaders);
    if (this.#modules.options.decisionHeaders) headers.push(...decisionHeaders(decision));
    this.#status = status;
    this.#isStream = isEventStream;
    this.#hasLength = hasLength;
    if (this.#isSuccess && isPlain) this.#watch = new AnswerWatch(isEventStream);
    this.#nextProgress = Math.max(MIN_EVENTS_PER_PROGRESS, decision.tokensPerBlock);
    this.#enter('passing');
    writeHeadSafely(response, status, headers);
    // One packet where the body has come with the head; else the head goes alone.
    queueMicrotask(() => {
      if (!this.#hasData && this.#phase === 'passing' && !response.destroyed) response.flushHeaders();
    });
  }

  #onFirstData(): void {
    this.#hasData = true;
    this.#firstByteMs = this.#sinceMs - this.#startedMs;
    if (this.#isStream && this.#isSuccess) this.#prefillDone();
  }

  #follow(piece: Buffer): void {
    const watch = this.#watch;
    if (watch === undefined) return;
    watch.add(piece);
    if (watch.events < this.#nextProgress) return;
    const step = Math.max(MIN_EVENTS_PER_PROGRESS, this.#route?.decision.tokensPerBlock ?? 0);
    this.#nextProgress = watch.events + step;
    this.#route?.progress(watch.events);
  }

  #pause(): void {
    this.#attempt?.pause();
    this.#pausedMs ??= this.#sinceMs;
    if (this.#listensForDrain) return;
    this.#listensForDrain = true;
    this.#response.on('drain', () => this.#resume());
  }

  #resume(): void {
    if (this.#pausedMs === undefined || this.#phase !== 'passing') return;
    this.#pausedMs = undefined;
    this.#sinceMs = this.#modules.clock.monotonicMs();
    this.#attempt?.resume();
  }

  #onClientClosed(): void {
    const isWhole = this.#phase === 'flushing' && this.#response.writableFinished;
    this.#finish(isWhole ? 'complete' : 'client_gone');
  }

  #prefillDone(): void {
    if (this.#isPrefillDone) return;
    this.#isPrefillDone = true;
    this.#route?.prefillDone();
  }

  #breakOff(ended: ProxyOutcome['ended']): void {
    this.#finish(ended);
    breakOff(this.#response, this.#hasLength);
  }

  #finish(ended: ProxyOutcome['ended']): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#leave();
    this.#release();
    const status = this.#status === 0 ? CLIENT_CLOSED_REQUEST : this.#status;
    this.#settle({ status, ended, firstByteMs: this.#firstByteMs });
  }

  #leave(): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    attempt?.leave();
  }

  #release(): void {
    const route = this.#route;
    this.#route = undefined;
    try {
      route?.release(this.#watch?.usage);
    } catch (error) {
      // Whatever is wrong there, this request ends here.
      this.#modules.logger.error({ error }, 'A route could not be released');
    }
  }
}

/** What is written to a client that has just gone fails; that it went is told by `close`. */
function ignore(): void {}
