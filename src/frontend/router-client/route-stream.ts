import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { EventLoop } from '../../edge/platform/time/event-loop.js';
import type { Decision, Route, RouteRequest, Routing } from '../../fleet/router/routing.js';
import { MAX_EVENTS } from '../../fleet/router/service/attached-client.js';
import { fromPairSelection, toDecision } from '../../fleet/router/service/selection-message.js';
import type {
  AttachRequest,
  RouteAnswer,
  RouteEvent,
  RouteUsage,
  WorkerFailure,
} from '../../gen/kvaccord/v1/router.js';
import { internalError, overloadedError, routerUnavailableError } from '../errors/gateway-errors.js';
import { countThatFit, toError, toReserve, toReservePair } from './route-messages.js';
import { type ReportedEvent, StreamRoute } from './stream-route.js';

export interface RouteStreamOptions {
  /** Routes at a time whose answer is not there. */
  readonly maxWaiting: number;
}

export interface RouteStreamModules {
  readonly clock: Clock;
  readonly eventLoop: EventLoop;
  /** Sends to the router; calls `onWritten` once the transport has room for more. */
  send(request: AttachRequest, onWritten: () => void): void;
}

/** A decision takes less than a millisecond: after this time the router has a problem. @internal */
export const ROUTE_TIMEOUT_MS = 10_000;

/** How long an event that nobody waits for may wait for the next message: nothing to a request, which takes a hundred times that. */
const LOW_PRIORITY_DELAY_MS = 5;

/** Events that wait, beyond which progress is not reported: the next report says the same and more. */
const MAX_BACKLOG = 4_096;

interface Waiting {
  readonly deadlineMs: number;
  readonly resolve: (route: Route) => void;
  readonly reject: (error: Error) => void;
}

/** The routes of one `Attach` stream. All of them end with it: the router releases what was not released. */
export class RouteStream implements Routing {
  readonly #options: RouteStreamOptions;
  readonly #modules: RouteStreamModules;
  /** In the order of their deadlines. */
  readonly #waiting = new Map<number, Waiting>();
  /** Nobody waits for these answers any longer; a reservation that comes is released. */
  readonly #abandoned = new Set<number>();
  /** Ids that are not free. */
  readonly #open = new Set<number>();
  #lastId = 0;
  #queue: RouteEvent[] = [];
  #failures: WorkerFailure[] = [];
  #isSending = false;
  /** Runs while only events that nobody waits for are in the queue. */
  #delay: Timer | undefined;
  #deadline: Timer | undefined;
  #isClosed = false;

  constructor(options: RouteStreamOptions, modules: RouteStreamModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Rejects with a `RoutingError` as the router does, or with an `OpenAiError` where it could not be asked. */
  route(request: RouteRequest): Promise<Route> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(routerUnavailableError());
      if (this.#waiting.size + this.#abandoned.size >= this.#options.maxWaiting)
        return reject(overloadedError());
      const { clock } = this.#modules;
      const routeId = this.#freeId();
      this.#open.add(routeId);
      this.#waiting.set(routeId, { deadlineMs: clock.monotonicMs() + ROUTE_TIMEOUT_MS, resolve, reject });
      this.#deadline ??= clock.setTimer(ROUTE_TIMEOUT_MS, this.#expire);
      const { pairing } = request;
      const value = toReserve(request);
      this.#queue.push({
        routeId,
        event:
          pairing === undefined
            ? { $case: 'reserve', value }
            : { $case: 'reservePair', value: toReservePair(value, pairing) },
      });
      this.#sendSoon();
    });
  }

  /** Takes an answer of the router. */
  take({ routeId, answer }: RouteAnswer): void {
    const waiting = this.#waiting.get(routeId);
    const isReserved = answer?.$case === 'selection' || answer?.$case === 'pair';
    if (waiting === undefined) {
      if (!this.#abandoned.delete(routeId)) return;
      if (isReserved) this.#release(routeId, undefined);
      else this.#open.delete(routeId);
      return;
    }
    this.#waiting.delete(routeId);
    if (isReserved) {
      const decision = answer.$case === 'pair' ? fromPairSelection(answer.value) : toDecision(answer.value);
      if (decision === undefined) {
        this.#release(routeId, undefined);
        waiting.reject(internalError());
      } else
        waiting.resolve(
          new StreamRoute(decision, {
            report: (event) => this.#report(routeId, event),
            fail: (failed, fault) => this.#fail(failed === decision ? routeId : undefined, failed, fault),
          }),
        );
      return;
    }
    this.#open.delete(routeId);
    waiting.reject(answer?.$case === 'notRouted' ? toError(answer.value) : internalError());
  }

  /** The stream has ended: all routes that wait are refused. */
  close(): void {
    this.#isClosed = true;
    this.#deadline?.clear();
    this.#delay?.clear();
    for (const { reject } of this.#waiting.values()) reject(routerUnavailableError());
    this.#waiting.clear();
    this.#abandoned.clear();
    this.#queue = [];
    this.#failures = [];
  }

  /** Goes with the next message: what is decided after it is to know it. */
  #fail(routeId: number | undefined, { group, target, instanceId }: Decision, fault: WorkerFault): void {
    if (this.#isClosed || this.#failures.length >= MAX_EVENTS) return;
    this.#failures.push({ group, target, instanceId, fault, routeId });
    this.#sendSoon();
  }

  #freeId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0;
    while (this.#open.has(this.#lastId));
    return this.#lastId;
  }

  /** Reports what nobody waits for: it goes with the next message, or a little later. The order stays. */
  #report(routeId: number, event: ReportedEvent): void {
    if (this.#isClosed) return;
    if (event.$case === 'release') {
      this.#release(routeId, event.value);
      return;
    }
    if (event.$case === 'outputTokens' && this.#queue.length >= MAX_BACKLOG) return;
    this.#queue.push({ routeId, event });
    this.#sendLater();
  }

  #release(routeId: number, usage: RouteUsage | undefined): void {
    this.#open.delete(routeId);
    this.#queue.push({ routeId, event: { $case: 'release', value: usage ?? {} } });
    this.#sendLater();
  }

  #sendLater(): void {
    if (this.#isSending) return;
    if (this.#queue.length >= MAX_EVENTS) this.#sendSoon();
    else this.#delay ??= this.#modules.clock.setTimer(LOW_PRIORITY_DELAY_MS, () => this.#sendSoon());
  }

  /** All requests that came in at the same time share one message. */
  #sendSoon(): void {
    if (this.#isSending) return;
    this.#delay?.clear();
    this.#delay = undefined;
    this.#isSending = true;
    this.#modules.eventLoop.soon(() => this.#send());
  }

  #send(): void {
    if (this.#isClosed) return;
    const count = countThatFit(this.#queue);
    const events = count === this.#queue.length ? this.#queue : this.#queue.slice(0, count);
    this.#queue = count === this.#queue.length ? [] : this.#queue.slice(count);
    const failures = this.#failures;
    this.#failures = [];
    this.#modules.send({ events, failures }, () => {
      if (this.#queue.length > 0 || this.#failures.length > 0) this.#send();
      else this.#isSending = false;
    });
  }

  readonly #expire = (): void => {
    this.#deadline = undefined;
    const { clock } = this.#modules;
    const nowMs = clock.monotonicMs();
    for (const [id, { deadlineMs, reject }] of this.#waiting) {
      if (deadlineMs > nowMs) {
        this.#deadline = clock.setTimer(deadlineMs - nowMs, this.#expire);
        return;
      }
      this.#waiting.delete(id);
      this.#abandoned.add(id);
      reject(routerUnavailableError());
    }
  };
}
