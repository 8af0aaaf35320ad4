import type { ServerResponse } from 'node:http';
import type { WorkerFault } from '../../core/health/worker-fault.js';
import { workerName } from '../../core/text/worker-name.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { UnorderedMember } from '../../edge/platform/data/unordered-set.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { Logger } from '../../edge/platform/logger.js';
import { type Decision, type PairDecision, type Route, RoutingError } from '../../fleet/router/routing.js';
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
import { type Prefilled, PrefillLeg, type PrefillListener } from './prefill-leg.js';
import type { Picked, ProxiedRequest, ProxyOutcome, SplitBodies } from './proxied-request.js';
import type { ProxyOptions } from './proxy-options.js';
import { cutError, notAnsweredError, notPickedError, tooLateError } from './refusals.js';
import { type Silence, SilenceWatch, seconds } from './silence-watch.js';
import {
  beginsWithError,
  bootstrapRoom,
  type HeldHead,
  hostAndPort,
  isPairsFault,
  reportsPrefillCount,
  type SplitTry,
  seenTransfer,
} from './split-try.js';
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
export class Exchange implements AttemptListener, PrefillListener, UnorderedMember {
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
  /** The try at two workers that is under way. */
  #split: SplitTry | undefined;
  /** Whether one worker is to compute it all, because two could not. */
  #isUnsplit = false;
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
    this.#split?.leg.check(nowMs);
    const state = this.#state;
    const isTooOld = nowMs - this.#startedMs >= options.totalTimeoutMs;
    const elapsedMs = nowMs - this.#sinceMs;
    switch (state.type) {
      case 'picking':
      case 'chosen':
      case 'prefilling':
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
    return this.#stall.check(this.#asAlone(current), isWithin, this.#sinceMs, nowMs);
  }

  /** A decode worker that waits for blocks shows no work: that is the pair's fault, and not its own. */
  #asAlone(current: Try): Try {
    const { route } = current;
    if (route.prefill === undefined) return current;
    const failed = ({ detail }: WorkerFault): void => this.#failPair(detail);
    return { ...current, route: { ...silentRoute(route), failed } };
  }

  /** What a prefill worker computed did not come over. */
  #failPair(failure: string): void {
    const split = this.#split;
    if (split === undefined) return;
    split.route.transferred?.({ transferredTokens: 0, recomputedTokens: 0, durationMs: 0, failure });
    this.#isUnsplit = this.#modules.options.fallsBack;
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
    const head = { status, isEventStream, hasLength, isPlain };
    const split = this.#split;
    if (split?.route === route && status < 300 && isEventStream && isPlain && this.#mayRetry) {
      // An engine begins its stream before it knows that nothing comes over: the first event shows it.
      const { current } = state;
      split.heldHead = { headers, pass: () => this.#passHead(current, head, headers) };
      return;
    }
    if (fault !== undefined && this.#mayRetry) {
      const coming = new HeldAnswer(status, headers);
      this.#become({ type: 'holding', current: state.current, coming, fault });
      return;
    }
    if (fault === undefined && status < 300) this.#suspects.blame();
    this.#passHead(state.current, head, headers);
  }

  /** The first piece of a stream whose head was held: what it begins with shows whether it is an answer. */
  #onFirstPiece(current: Try, split: SplitTry, heldHead: HeldHead, piece: Buffer): void {
    split.heldHead = undefined;
    if (!beginsWithError(piece)) {
      this.#suspects.blame();
      heldHead.pass();
      this.onData(piece);
      return;
    }
    const held = new HeldAnswer(200, heldHead.headers);
    held.add(piece);
    this.#held = held;
    const detail = 'an error in place of the first token';
    this.#retry('error', current, { kind: 'server_error', detail });
  }

  onData(piece: Buffer): void {
    const state = this.#state;
    if (state.type === 'holding') {
      if (!state.coming.add(piece)) this.#retryHeld(state.current, state.coming, state.fault);
      return;
    }
    const split = this.#split;
    if (state.type === 'waiting' && split?.heldHead !== undefined) {
      this.#onFirstPiece(state.current, split, split.heldHead, piece);
      return;
    }
    const response = this.#response;
    // Its `close` comes in a moment.
    if (state.type !== 'passing' || response.destroyed) return;
    const { current, answer } = state;
    this.#sinceMs = this.#modules.clock.monotonicMs();
    current.endpoint.worker.life.answer(this.#sinceMs);
    if (!answer.hasData) this.#firstByteMs = this.#sinceMs - this.#startedMs;
    if (split !== undefined) split.firstByteMs ??= this.#sinceMs;
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
    if (state.type === 'waiting' && this.#split?.heldHead !== undefined) {
      const { heldHead } = this.#split;
      this.#split.heldHead = undefined;
      heldHead.pass();
      this.onEnd();
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
    if (next.type === 'picking' || next.type === 'over') this.#split?.leg.leave();
    if (route !== undefined && route !== routeOf(next)) {
      this.#release(route, 'answer' in old ? old.answer : undefined);
      if (next.type === 'picking') this.#split = undefined;
    }
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
      return this.#request.pick(excluded, this.#isUnsplit);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #onPicked({ route, baseUrl, prefillBaseUrl }: Picked): void {
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
    const { pair } = route.decision;
    if (pair === undefined || route.prefill === undefined || this.#request.split === undefined)
      this.#dispatch(route, endpoint, false);
    else this.#beginSplit(route, route.prefill, pair, endpoint, prefillBaseUrl ?? '');
  }

  /** Two workers were chosen: the prompt is computed first, or both begin and meet. */
  #beginSplit(
    route: Route,
    prefill: Route,
    pair: PairDecision,
    endpoint: WorkerEndpoint,
    prefillBaseUrl: string,
  ): void {
    const { options, pools, clock } = this.#modules;
    const split = this.#request.split as SplitBodies;
    const meeting = pair.protocol === 'bootstrap' ? hostAndPort(pair.bootstrapAddress) : undefined;
    let prefillEndpoint: WorkerEndpoint;
    try {
      if (pair.protocol === 'bootstrap' && meeting === undefined)
        throw new TypeError(`"${pair.bootstrapAddress}" is no address of a bootstrap server`);
      prefillEndpoint = pools.of(prefillBaseUrl);
    } catch (error) {
      const detail = describeError(error);
      this.#modules.logger.warn(
        { worker_id: pair.prefill.workerId, worker: pair.prefill.target, error },
        `Prefill worker ${workerName(pair.prefill)} cannot be asked: ${detail}`,
      );
      this.#failPrefill(route, prefill, 'unreachable', { kind: 'unreachable', detail });
      return;
    }
    const both =
      meeting === undefined
        ? undefined
        : split.withBootstrap(meeting.host, meeting.port, bootstrapRoom(pair.prefill));
    const leg = new PrefillLeg(
      {
        route: prefill,
        endpoint: prefillEndpoint,
        path: this.#request.path,
        headers: this.#headersFor(prefill.decision, prefillBaseUrl),
        body: both ?? split.forPrefill(),
      },
      this.#request,
      { options, clock },
      this,
    );
    this.#split = {
      route,
      pair,
      leg,
      body: both,
      promptTokens: undefined,
      received: endpoint.worker.received,
      isFollowed: endpoint.worker.received.isFollowed,
      reportsPrefill: false,
      sentMs: clock.monotonicMs(),
      firstByteMs: undefined,
      heldHead: undefined,
    };
    this.#become({ type: 'prefilling', route, endpoint });
    leg.start();
    if (both !== undefined && this.#state.type === 'prefilling') this.#dispatch(route, endpoint, false);
  }

  onPrefilled({ parameters, usage }: Prefilled): void {
    const split = this.#split;
    const { route, pair } = split ?? {};
    if (split === undefined || route?.prefill === undefined || pair === undefined) return;
    route.prefill.prefillDone();
    route.prefill.release(usage);
    split.promptTokens = usage?.promptTokens;
    // One that meets its partner has nothing more to say.
    const state = this.#state;
    if (pair.protocol === 'bootstrap' || state.type !== 'prefilling') return;
    if (parameters === undefined) {
      this.#failPair(
        'the prefill worker answered without kv_transfer_params: its engine hands out no blocks',
      );
      this.#excluded.push(pair.prefill.target);
      this.#tryWithout('error', route);
      return;
    }
    split.body = (this.#request.split as SplitBodies).withTransfer(parameters);
    split.reportsPrefill = reportsPrefillCount(parameters);
    split.isFollowed = split.received.isFollowed;
    if (split.reportsPrefill) this.#askReceived(split, state.endpoint);
    split.sentMs = this.#modules.clock.monotonicMs();
    this.#dispatch(route, state.endpoint, false);
  }

  /** An engine that reports another one's count has counters of its own. */
  #askReceived({ received, route }: SplitTry, { worker, pathPrefix, baseUrl }: WorkerEndpoint): void {
    const { options, clock } = this.#modules;
    const { engineApiKey, mayHaveKeys } = options;
    void received.ask(
      () => ({
        pool: worker.pool,
        pathPrefix,
        model: this.#request.group,
        headers:
          engineApiKey !== undefined && mayHaveKeys(route.decision, baseUrl)
            ? { authorization: `Bearer ${engineApiKey}` }
            : {},
      }),
      clock,
    );
  }

  onPrefillFailed(failure: AttemptFailure, fault: WorkerFault | undefined, held?: HeldAnswer): void {
    const { route } = this.#split ?? {};
    if (route?.prefill === undefined) return;
    const { type } = this.#state;
    // Its partner has what it needs, or says itself what it lacks.
    if (type === 'passing' || type === 'flushing' || type === 'over') {
      if (fault !== undefined) route.prefill.failed(fault);
      route.prefill.release();
      return;
    }
    this.#held = held ?? this.#held;
    this.#failPrefill(route, route.prefill, failure, fault);
  }

  /** A prefill worker is out: one worker computes all, or another pair is asked for. */
  #failPrefill(route: Route, prefill: Route, failure: AttemptFailure, fault: WorkerFault | undefined): void {
    const { options, failures } = this.#modules;
    if (fault?.kind === 'unreachable') prefill.failed(fault);
    else if (fault !== undefined) this.#suspects.add(prefill, fault);
    if (failure === 'closed' || failure === 'error') this.#endings += 1;
    this.#excluded.push(prefill.decision.target);
    this.#isUnsplit = options.fallsBack;
    failures.prefillFailed(prefill.decision, fault?.detail ?? failure, options.fallsBack);
    this.#tryWithout(failure, route);
  }

  #tryWithout(failure: AttemptFailure, route: Route): void {
    this.#lastRoute = route;
    this.#failure = failure;
    if (this.#mayRetry || (this.#isUnsplit && this.#excluded.length <= this.#modules.options.maxRetries))
      this.#pick();
    else this.#giveUp(failure);
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
    const { method, path } = this.#request;
    const body = this.#split?.body ?? this.#request.body;
    const headers = this.#headersFor(decision, baseUrl);
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
        headers,
        body: body.length === 0 ? null : body,
      },
      attempt,
    );
  }

  /** The headers of the request as one worker gets them. */
  #headersFor(decision: Decision, baseUrl: string): string[] {
    const { options } = this.#modules;
    const { headers, cacheSourceOf } = this.#request;
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
    const source = cacheSourceOf === undefined ? undefined : (cacheSourceOf(decision) ?? 'none');
    return forwardedHeaders(headers, caller, options, decision, mayHaveKeys, source);
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
    // What it was to receive may be to blame, and then it can compute the prompt itself.
    const isPairs = this.#split?.route === route && fault !== undefined && isPairsFault(fault);
    if (isPairs) this.#failPair(fault.detail);
    // That no connection can be made is no fault of any request.
    else if (fault?.kind === 'unreachable') route.failed(fault);
    else if (fault !== undefined && !this.#isRightlyRefused(fault)) this.#suspects.add(route, fault);
    // One that closed the connection and cannot be reached any more has ended, too.
    if (failure === 'closed' || failure === 'error' || (failure === 'unreachable' && isSecond))
      this.#endings += 1;
    this.#lastRoute = route;
    const mayRetry = this.#mayRetry && failure !== 'bad_request';
    this.#failure = failure;
    if (!isPairs || !this.#isUnsplit) this.#excluded.push(route.decision.target);
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
      const split = this.#split?.route === route ? this.#split : undefined;
      if (split !== undefined && answer !== undefined) {
        const seen = seenTransfer(split, route.decision, answer, this.#modules.clock);
        if (seen !== undefined) route.transferred?.(seen);
      }
      route.release(answer?.usage);
    } catch (error) {
      // Whatever is wrong there, this request ends here.
      this.#modules.logger.error({ error }, 'A route could not be released');
    }
  }
}

/** A route of which nothing but its worker is asked. */
function silentRoute({ decision }: Route): Route {
  return { decision, prefillDone: ignore, progress: ignore, release: ignore, failed: ignore };
}

/** What is written to a client that has just gone fails; its `close` says so. */
function ignore(): void {}
