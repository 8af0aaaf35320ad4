import type { ServerResponse } from 'node:http';
import type { Reason } from '../../core/agreement/view/snapshot.js';
import type { WorkerFault } from '../../core/health/worker-fault.js';
import { workerName } from '../../core/text/worker-name.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { UnorderedMember } from '../../edge/platform/data/unordered-set.js';
import type { Logger } from '../../edge/platform/logger.js';
import { type Route, RoutingError } from '../../fleet/router/routing.js';
import { drainingError } from '../errors/gateway-errors.js';
import { OpenAiError } from '../errors/openai-error.js';
import { beginsWithError } from './answers/error-event.js';
import { HeldAnswer } from './answers/held-answer.js';
import { type AnswerHead, PassedAnswer } from './answers/passed-answer.js';
import { ClientSide } from './client-side.js';
import { routeOf, type State } from './exchange-state.js';
import { FailedTries, isEnding } from './failed-tries.js';
import type { FailureLog } from './failure-log.js';
import { decisionHeaders, headersFor, passedHeaders } from './headers.js';
import type { Picked, ProxiedRequest, ProxyOutcome } from './proxied-request.js';
import type { ProxyOptions } from './proxy-options.js';
import { cutError, notPickedError, tooLateError } from './refusals.js';
import { RequestTimeouts } from './request-timeouts.js';
import { type HeldHead, type SplitListener, type SplitTarget, SplitTry } from './split/split-try.js';
import type { Silence } from './watches/silence-watch.js';
import { faultOf, suspicionOf } from './watches/suspicion.js';
import type { AccessProblems } from './workers/access-problems.js';
import { Attempt, type AttemptFailure, type AttemptListener } from './workers/attempt.js';
import type { Try } from './workers/try.js';
import type { WorkerEndpoint, WorkerPools } from './workers/worker-pools.js';

export interface ExchangeModules {
  readonly options: ProxyOptions;
  readonly pools: WorkerPools;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly access: AccessProblems;
  readonly failures: FailureLog;
}

const NO_TARGETS: readonly string[] = [];
const NO_PAIR: Reason = {
  code: 'no_pair',
  text: 'no pair of workers can be used, and --no-pd-fallback lets no worker serve a request alone',
};

/** One request on its way from a client to a worker, and its answer on the way back. */
export class Exchange implements AttemptListener, SplitListener, UnorderedMember {
  place = -1;
  readonly #request: ProxiedRequest;
  readonly #client: ClientSide;
  readonly #modules: ExchangeModules;
  readonly #settle: (outcome: ProxyOutcome) => void;
  readonly #timeouts: RequestTimeouts;
  readonly #tries: FailedTries;
  #state: State = { type: 'picking' };
  /** The try at two workers that is under way. */
  #split: SplitTry | undefined;
  #firstByteMs: number | undefined;

  constructor(
    request: ProxiedRequest,
    response: ServerResponse,
    modules: ExchangeModules,
    settle: (outcome: ProxyOutcome) => void,
  ) {
    this.#request = request;
    this.#client = new ClientSide(response, request.api.shape);
    this.#modules = modules;
    this.#settle = settle;
    this.#timeouts = new RequestTimeouts(request, modules);
    this.#tries = new FailedTries(modules.options);
  }

  start(): void {
    if (this.#client.isGone) {
      this.#finish('client_gone');
      return;
    }
    this.#client.listen({
      onClosed: () => this.#onClientClosed(),
      onDrain: () => this.#onDrain(),
    });
    this.#pick();
  }

  /** Ends what has taken too long. */
  check(nowMs: number): void {
    this.#split?.check(nowMs);
    const overdue = this.#timeouts.check(this.#state, this.#watched, nowMs);
    switch (overdue?.type) {
      case undefined:
        break;
      case 'request':
        this.#refuseLate(overdue.route);
        break;
      case 'worker':
        if (this.#tries.mayRetry || overdue.silence.isGone)
          this.#lookElsewhere(overdue.current, overdue.silence);
        break;
      case 'error':
        this.#retryHeld(overdue.current, overdue.coming, overdue.fault);
        break;
      case 'answer':
        this.#cut(overdue.current, overdue.answer, overdue.detail, overdue.error);
        break;
      case 'client':
        this.#breakOff('client_gone', overdue.answer);
        break;
    }
  }

  readonly #watched = (current: Try): Try =>
    this.#split?.isOf(current.route) === true ? this.#split.watched(current) : current;

  /** The answer of a worker ended before its end. */
  #cut({ route }: Try, answer: PassedAnswer, detail: string, error: OpenAiError): void {
    this.#modules.failures.cut(route.decision, detail);
    this.#breakOff('upstream_broke', answer, error);
  }

  /**
   * Goes to another worker, if there is one: until it is known, the silent one may still answer. An ejected worker is a
   * better place only than one that is gone: before, each one that is offered is added to `ejected`, and passed over. Where
   * no further worker may be tried, the request ends as soon as another attempt of its client would find one.
   */
  #lookElsewhere(silent: Try, silence: Silence, ejected: readonly string[] = NO_TARGETS): void {
    const { target } = silent.route.decision;
    const { isGone, isNew, what } = silence;
    const passedOver = [...this.#tries.excluded, target, ...ejected];
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
        const { mayRetry } = this.#tries;
        if (isNew(silent))
          this.#modules.logger.warn(
            { target, worker: workerName(silent.route.decision) },
            `${what}, and its requests go to others`,
          );
        this.#tries.failed('silent', silent.route, false);
        this.#tries.exclude(target);
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
    const { current } = state;
    const { route, endpoint } = current;
    const { options, access, clock } = this.#modules;
    access.answered(route.decision, status);
    endpoint.worker.life.answer(clock.monotonicMs());
    const { headers, isHtml, isEventStream, hasLength, isPlain } = passedHeaders(rawHeaders);
    if (options.decisionHeaders) headers.push(...decisionHeaders(route.decision));
    const fault = suspicionOf({ status, isHtml });
    const head = { status, isEventStream, hasLength, isPlain };
    const { mayRetry } = this.#tries;
    if (this.#split?.isOf(route) === true && status < 300 && isEventStream && isPlain && mayRetry) {
      // An engine begins its stream before it knows that nothing comes over: the first event shows it.
      this.#split.heldHead = { headers, pass: () => this.#passHead(current, head, headers) };
      return;
    }
    if (fault !== undefined && mayRetry) {
      const coming = new HeldAnswer(status, headers);
      this.#become({ type: 'holding', current, coming, fault });
      return;
    }
    if (fault === undefined && status < 300) this.#tries.blameWorkers();
    this.#passHead(current, head, headers);
  }

  /** The first piece of a stream whose head was held: what it begins with shows whether it is an answer. */
  #onFirstPiece(current: Try, split: SplitTry, heldHead: HeldHead, piece: Buffer): void {
    split.heldHead = undefined;
    if (!beginsWithError(piece)) {
      this.#tries.blameWorkers();
      heldHead.pass();
      this.onData(piece);
      return;
    }
    const held = new HeldAnswer(200, heldHead.headers);
    held.add(piece);
    this.#tries.held = held;
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
    if (state.type !== 'passing' || this.#client.isGone) return;
    const { current, answer } = state;
    const { life, work } = current.endpoint.worker;
    const nowMs = this.#timeouts.begin();
    life.answer(nowMs);
    if (!answer.hasData) this.#firstByteMs = nowMs - this.#timeouts.startedMs;
    split?.answering(nowMs);
    const passed = answer.onData(piece, current.route);
    if (answer.showsWork) work.worked(nowMs);
    this.#request.onPiece?.(piece, current.route.decision);
    if (passed === undefined || this.#client.send(passed)) return;
    current.attempt.pause();
    this.#timeouts.pause();
  }

  onEnd(): void {
    const state = this.#state;
    if (state.type === 'holding') {
      this.#tries.held = state.coming;
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
    this.#client.end(rest);
  }

  onFailure(failure: AttemptFailure, error: Error): void {
    const { logger, access } = this.#modules;
    const state = this.#state;
    if (!('current' in state)) return;
    const { current } = state;
    const { decision } = current.route;
    const { target } = decision;
    access.failed(decision, error);
    logger.debug({ target, failure, error, phase: state.type }, 'A request failed at its worker');
    if (state.type === 'passing') {
      current.route.failed({ kind: 'cut', detail: error.message });
      this.#cut(current, state.answer, error.message, cutError());
    } else if (state.type === 'holding') this.#retryHeld(current, state.coming, state.fault);
    else if (failure === 'closed' && state.type === 'waiting' && this.#timeouts.wasStale(current, error))
      this.#dispatch(current.route, current.endpoint, true);
    else this.#retry(failure, current, faultOf(failure, error));
  }

  /** The only place where the state changes: what the next one does not hold any more is left, or released. */
  #become(next: State): void {
    const old = this.#state;
    if (old.type === 'over') return;
    this.#state = next;
    this.#timeouts.begin();
    if ('current' in old && !('current' in next && next.current.attempt === old.current.attempt))
      old.current.attempt.leave();
    const route = routeOf(old);
    if (next.type === 'picking' || next.type === 'over') this.#split?.leave();
    if (route !== undefined && route !== routeOf(next)) {
      this.#release(route, 'answer' in old ? old.answer : undefined);
      if (next.type === 'picking') this.#split = undefined;
    }
  }

  #release(route: Route, answer: PassedAnswer | undefined): void {
    try {
      if (answer !== undefined && this.#split?.isOf(route) === true) this.#split.ended(answer);
      route.release(answer?.usage);
    } catch (error) {
      // Whatever is wrong there, this request ends here.
      this.#modules.logger.error({ error }, 'A route could not be released');
    }
  }

  #pick(): void {
    this.#become({ type: 'picking' });
    this.#ask(this.#tries.excluded).then(
      (picked) => this.#onPicked(picked),
      (error: unknown) => this.#onNotPicked(error),
    );
  }

  #ask(excluded: readonly string[]): Promise<Picked> {
    try {
      return this.#request.pick(excluded, this.#tries.isUnsplit);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #onPicked({ route, baseUrl, prefillBaseUrl = '' }: Picked): void {
    if (this.#state.type !== 'picking') {
      // It ended while it waited.
      route.release();
      return;
    }
    if (route.decision.unsplit === 'no_pair' && !this.#modules.options.fallsBack) {
      route.release();
      this.#onNotPicked(new RoutingError('no_worker', NO_PAIR.text, [NO_PAIR]));
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
    const { prefill, decision } = route;
    const { split: bodies } = this.#request;
    if (decision.pair === undefined || prefill === undefined || bodies === undefined)
      this.#dispatch(route, endpoint, false);
    else this.#beginSplit({ route, endpoint, prefill, prefillBaseUrl, pair: decision.pair, bodies });
  }

  #onNotPicked(error: unknown): void {
    if (this.#state.type !== 'picking') return;
    const isExpected = error instanceof RoutingError || error instanceof OpenAiError;
    if (!isExpected) this.#modules.logger.error({ error }, 'No worker could be chosen for a request');
    const { failure } = this.#tries;
    // Where a worker was asked, what happened there says more than that none is left.
    if (failure === undefined || !isExpected) this.#refuse(notPickedError(error));
    else this.#giveUp(failure);
  }

  /** Two workers were chosen: the prompt is computed first, or both begin and meet. */
  #beginSplit(target: SplitTarget): void {
    const { route, endpoint } = target;
    const modules = { ...this.#modules, tries: this.#tries, headersFor: this.#headersFor };
    this.#split = new SplitTry(target, this.#request, modules, this);
    this.#become({ type: 'prefilling', route, endpoint });
    this.#split.start();
  }

  onReady(): void {
    const state = this.#state;
    if (state.type === 'prefilling') this.#dispatch(state.route, state.endpoint, false);
  }

  onNotPrefilled(failure: AttemptFailure): void {
    if (this.#tries.mayRetry || this.#tries.mayFallBack) this.#pick();
    else this.#giveUp(failure);
  }

  get isAnswered(): boolean {
    const { type } = this.#state;
    return type === 'passing' || type === 'flushing' || type === 'over';
  }

  #dispatch(route: Route, endpoint: WorkerEndpoint, isSecond: boolean): void {
    const { worker, pathPrefix, baseUrl } = endpoint;
    if (worker.running >= this.#modules.options.maxRequestsPerWorker) {
      this.#retry('busy', { route, isSecond });
      return;
    }
    const { method, path } = this.#request;
    const body = this.#split?.body ?? this.#request.body;
    const headers = this.#headersFor(route.decision, baseUrl);
    const attempt = new Attempt(worker, this);
    if (!isSecond) this.#timeouts.beginTry();
    this.#become({ type: 'connecting', current: { route, endpoint, attempt, isSecond } });
    worker.work.sent(route.decision, body.length, this.#timeouts.sinceMs);
    // The attempt hears of everything that is wrong: nothing is thrown here.
    worker.pool.dispatch(
      { method, path: pathPrefix + path, headers, body: body.length === 0 ? null : body },
      attempt,
    );
  }

  readonly #headersFor = (decision: Route['decision'], baseUrl: string): string[] =>
    headersFor(this.#request, this.#client.caller, this.#modules.options, decision, baseUrl);

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
    const tries = this.#tries;
    const isPairs = fault !== undefined && this.#split?.takesBlame(route, fault) === true;
    if (fault !== undefined && !isPairs && !this.#isRightlyRefused(fault)) tries.suspect(route, fault);
    // One that closed the connection and cannot be reached any more has ended, too.
    tries.failed(failure, route, isEnding(failure) || (failure === 'unreachable' && isSecond));
    const mayRetry = tries.mayRetry && failure !== 'bad_request';
    if (!isPairs || !tries.isUnsplit) tries.exclude(route.decision.target);
    if (mayRetry) this.#pick();
    else this.#giveUp(failure);
  }

  #isRightlyRefused({ kind }: WorkerFault): boolean {
    return kind === 'refused' && this.#request.mayBeRefused === true;
  }

  #giveUp(failure: AttemptFailure): void {
    const last = this.#tries.conclude(failure, this.#request.group, this.#modules.failures);
    if (last instanceof OpenAiError) this.#refuse(last);
    else this.#client.sendLast(last, () => this.#finish('complete'));
  }

  /** Its time is over, before an answer began. */
  #refuseLate(route: Route | undefined): void {
    const error = tooLateError();
    const { decision } = route ?? this.#tries.lastRoute ?? {};
    this.#modules.failures.refused(this.#request.group, error.message, decision);
    this.#refuse(error);
  }

  #refuse(error: OpenAiError): void {
    this.#client.sendLast(error, () => this.#finish('refused'));
  }

  #passHead(current: Try, head: AnswerHead, headers: readonly string[]): void {
    if (this.#client.isGone) return;
    const { tokensPerBlock } = current.route.decision;
    const answer = new PassedAnswer(head, tokensPerBlock, this.#request.api);
    this.#become({ type: 'passing', current, answer });
    this.#client.sendHead(head, headers, answer);
  }

  #onDrain(): void {
    const state = this.#state;
    if (state.type === 'passing' && this.#timeouts.resume()) state.current.attempt.resume();
  }

  #onClientClosed(): void {
    const isWhole = this.#state.type === 'flushing' && this.#client.hasAll;
    this.#finish(isWhole ? 'complete' : 'client_gone');
  }

  /** `error` is what the client of a stream reads as its last event, where it still reads. */
  #breakOff(ended: ProxyOutcome['ended'], answer: PassedAnswer, error?: OpenAiError): void {
    this.#finish(ended);
    this.#client.breakOff(answer, error);
  }

  #finish(ended: ProxyOutcome['ended']): void {
    if (this.#state.type === 'over') return;
    this.#become({ type: 'over' });
    this.#settle({ status: this.#client.status, ended, firstByteMs: this.#firstByteMs });
  }
}
