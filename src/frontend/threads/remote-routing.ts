import type { Clock, Timer } from '../../edge/platform/clock.js';
import {
  type Decision,
  type Route,
  type RouteRequest,
  type Routing,
  RoutingError,
} from '../../fleet/router/routing.js';
import { internalError, overloadedError } from '../gateway/gateway-errors.js';
import { OpenAiError } from '../gateway/openai-error.js';
import { canBeSent, type RouteAnswer, type RouteMessage } from './messages.js';
import type { Outbox } from './outbox.js';

export interface RemoteRoutingOptions {
  /** Routes at a time whose answer is not there. */
  readonly maxWaiting: number;
}

export interface RemoteRoutingModules {
  readonly clock: Clock;
  readonly outbox: Pick<Outbox<RouteMessage>, 'post' | 'postWithoutHaste' | 'backlog'>;
}

/** A decision takes less than a millisecond: after this time the process that makes them is in trouble. */
export const ROUTE_TIMEOUT_MS = 10_000;

/** Messages that wait, beyond which no progress is told: the next one says it all. */
const MAX_BACKLOG = 4_096;

interface Waiting {
  readonly deadlineMs: number;
  readonly resolve: (route: Route) => void;
  readonly reject: (error: Error) => void;
}

/** The router of another process. */
export class RemoteRouting implements Routing {
  readonly #options: RemoteRoutingOptions;
  readonly #modules: RemoteRoutingModules;
  /** In the order of their deadlines. */
  readonly #waiting = new Map<number, Waiting>();
  /** Nobody waits for these any longer; what is reserved for them is released as soon as the answer comes. */
  readonly #abandoned = new Set<number>();
  #lastId = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: RemoteRoutingOptions, modules: RemoteRoutingModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Rejects with a `RoutingError` as the router does, or with an `OpenAiError` where it could not be asked. */
  route(request: RouteRequest): Promise<Route> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(unansweredError());
      if (!canBeSent(request)) return reject(new RoutingError('prompt_too_long', 'the prompt is too long'));
      if (this.#waiting.size + this.#abandoned.size >= this.#options.maxWaiting)
        return reject(overloadedError());
      const { clock, outbox } = this.#modules;
      this.#lastId += 1;
      const id = this.#lastId;
      this.#waiting.set(id, { deadlineMs: clock.monotonicMs() + ROUTE_TIMEOUT_MS, resolve, reject });
      this.#timer ??= clock.setTimer(ROUTE_TIMEOUT_MS, this.#expire);
      outbox.post({ type: 'route', id, request });
    });
  }

  /** What the other process answers. */
  take(answer: RouteAnswer): void {
    const { id } = answer;
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) {
      const wasAbandoned = this.#abandoned.delete(id);
      if (wasAbandoned && answer.type === 'routed')
        this.#modules.outbox.postWithoutHaste({ type: 'release', id, usage: undefined });
      return;
    }
    this.#waiting.delete(id);
    switch (answer.type) {
      case 'routed':
        waiting.resolve(new RemoteRoute(id, answer.decision, this.#modules.outbox));
        return;
      case 'not_routed':
        waiting.reject(new RoutingError(answer.code, answer.message, answer.reasons));
        return;
      case 'failed':
        waiting.reject(internalError());
    }
  }

  /** Nothing more comes: all that waits is refused. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.clear();
    this.#timer = undefined;
    for (const { reject } of this.#waiting.values()) reject(unansweredError());
    this.#waiting.clear();
    this.#abandoned.clear();
  }

  readonly #expire = (): void => {
    this.#timer = undefined;
    const { clock } = this.#modules;
    const nowMs = clock.monotonicMs();
    for (const [id, { deadlineMs, reject }] of this.#waiting) {
      if (deadlineMs > nowMs) {
        this.#timer = clock.setTimer(deadlineMs - nowMs, this.#expire);
        return;
      }
      this.#waiting.delete(id);
      this.#abandoned.add(id);
      reject(unansweredError());
    }
  };
}

class RemoteRoute implements Route {
  readonly decision: Decision;
  readonly #id: number;
  readonly #outbox: RemoteRoutingModules['outbox'];
  #isPrefillDone = false;
  #isReleased = false;

  constructor(id: number, decision: Decision, outbox: RemoteRoutingModules['outbox']) {
    this.#id = id;
    this.decision = decision;
    this.#outbox = outbox;
  }

  prefillDone(): void {
    if (this.#isPrefillDone || this.#isReleased) return;
    this.#isPrefillDone = true;
    this.#outbox.postWithoutHaste({ type: 'prefill_done', id: this.#id });
  }

  progress(outputTokens: number): void {
    if (this.#isReleased || this.#outbox.backlog >= MAX_BACKLOG) return;
    this.#outbox.postWithoutHaste({ type: 'progress', id: this.#id, outputTokens });
  }

  release(usage?: Parameters<Route['release']>[0]): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#outbox.postWithoutHaste({ type: 'release', id: this.#id, usage });
  }
}

function unansweredError(): OpenAiError {
  return new OpenAiError(503, 'The router of this server does not answer now.', {
    code: 'router_unavailable',
    retryAfterSeconds: 1,
  });
}
