import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { EventLoop } from '../../edge/platform/time/event-loop.js';
import { packTokenIds } from '../../fleet/indexer/prompt-hashes.js';
import { MAX_EVENTS } from '../../fleet/router/attached-client.js';
import {
  type Decision,
  type Pairing,
  ROUTING_ERROR_CODES,
  type Route,
  type RouteRequest,
  type Routing,
  RoutingError,
  type SeenTransfer,
  type Usage,
} from '../../fleet/router/routing.js';
import { fromPairSelection, toDecision, toRouteTransfer } from '../../fleet/router/selection-message.js';
import { fromReason } from '../../fleet/router/served-messages.js';
import type {
  AttachRequest,
  NotRouted,
  ReservePairRequest,
  ReserveRequest,
  RouteAnswer,
  RouteEvent,
  RouteUsage,
  WorkerFailure,
} from '../../gen/kvaccord/v1/router.js';
import { internalError, overloadedError, routerUnavailableError } from '../errors/gateway-errors.js';

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

/** Bytes of one message: below gRPC's 4 MiB, with room for the longest names. */
const MAX_MESSAGE_BYTES = 3 * 1024 * 1024;

/** Prompts of more tokens are routed by load alone, because their ids would not fit into a message. */
const MAX_SENT_TOKENS = 768 * 1024;

/** Targets that one request excludes, as the router's own bound. */
const MAX_EXCLUDED = 16_384;

/** Characters of what failed a transfer. */
const MAX_FAILURE_CHARS = 200;

/** Bytes of an event beside its token ids and excluded targets; a rough figure is enough. */
const EVENT_BYTES = 256;

/** The same of an image beside its identifier. */
const MEDIA_BYTES = 16;

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
          new StreamRoute(
            decision,
            (event) => this.#report(routeId, event),
            (failed, fault) => this.#fail(failed === decision ? routeId : undefined, failed, fault),
          ),
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

/** What is reported of a route that was reserved. */
type ReportedEvent = Exclude<
  NonNullable<RouteEvent['event']>,
  { readonly $case: 'reserve' } | { readonly $case: 'reservePair' }
>;

class StreamRoute implements Route {
  readonly decision: Decision;
  readonly #report: (event: ReportedEvent) => void;
  readonly #fail: (decision: Decision, fault: WorkerFault) => void;
  readonly prefill: Route | undefined;
  #isPrefillDone = false;
  #isTransferred = false;
  #isReleased = false;

  constructor(
    decision: Decision,
    report: (event: ReportedEvent) => void,
    fail: (decision: Decision, fault: WorkerFault) => void,
  ) {
    this.decision = decision;
    this.#report = report;
    this.#fail = fail;
    this.prefill =
      decision.pair === undefined
        ? undefined
        : new StreamPrefill(decision.pair.prefill, (event) => this.#reportOpen(event), fail);
  }

  transferred(seen: SeenTransfer): void {
    if (this.prefill === undefined || this.#isTransferred) return;
    this.#isTransferred = true;
    this.#reportOpen({ $case: 'transfer', value: toRouteTransfer(countsOf(seen)) });
  }

  /** After the release the id is another route's. */
  #reportOpen(event: ReportedEvent): void {
    if (!this.#isReleased) this.#report(event);
  }

  prefillDone(): void {
    if (this.#isPrefillDone || this.#isReleased) return;
    this.#isPrefillDone = true;
    this.#report({ $case: 'prefillDone', value: {} });
  }

  progress(outputTokens: number): void {
    if (!this.#isReleased && isCount(outputTokens))
      this.#report({ $case: 'outputTokens', value: outputTokens });
  }

  release(usage?: Usage): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#report({ $case: 'release', value: toUsage(usage) });
  }

  failed(fault: WorkerFault): void {
    this.#fail(this.decision, fault);
  }
}

/** The prefill worker's part of a route. */
class StreamPrefill implements Route {
  readonly decision: Decision;
  readonly #report: (event: ReportedEvent) => void;
  readonly #fail: (decision: Decision, fault: WorkerFault) => void;
  #isAnswered = false;
  #isReleased = false;

  constructor(
    decision: Decision,
    report: (event: ReportedEvent) => void,
    fail: (decision: Decision, fault: WorkerFault) => void,
  ) {
    this.decision = decision;
    this.#report = report;
    this.#fail = fail;
  }

  prefillDone(): void {
    if (this.#isAnswered || this.#isReleased) return;
    this.#isAnswered = true;
    this.#report({ $case: 'prefillFirstToken', value: {} });
  }

  progress(): void {
    // It generates one token, and nobody waits for more.
  }

  release(usage?: Usage): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#report({ $case: 'prefillRelease', value: toUsage(usage) });
  }

  failed(fault: WorkerFault): void {
    this.#fail(this.decision, fault);
  }
}

/** The wire takes counts and times alone. */
function countsOf({ transferredTokens, recomputedTokens, durationMs, failure }: SeenTransfer): SeenTransfer {
  return {
    transferredTokens: isCount(transferredTokens) ? transferredTokens : 0,
    recomputedTokens: isCount(recomputedTokens) ? recomputedTokens : 0,
    durationMs: Number.isFinite(durationMs) ? durationMs : 0,
    failure: failure?.slice(0, MAX_FAILURE_CHARS),
  };
}

function toReservePair(
  request: ReserveRequest,
  { protocols, isUnsplit = false }: Pairing,
): ReservePairRequest {
  return {
    request,
    unsplit: isUnsplit,
    transferProtocols: protocols.length === 0 ? [NO_PROTOCOL] : [...protocols],
  };
}

/** Says that a request cannot be split: an empty list stands for all. */
const NO_PROTOCOL = 'none';

function toReserve(request: RouteRequest): ReserveRequest {
  const { group, tokens, loraName, cacheSalt, media, isPrefix, cacheUse, sessionHash, excluded } = request;
  const isSent = tokens !== undefined && tokens.length <= MAX_SENT_TOKENS;
  return {
    group,
    prompt:
      !isSent && loraName === ''
        ? undefined
        : {
            form: isSent ? { $case: 'packedTokenIds', value: packTokenIds(tokens) } : undefined,
            loraName,
            cacheSalt,
            ...(isSent && media !== undefined ? { media: { items: [...media] } } : {}),
            ...(isSent && isPrefix === true ? { isPrefix } : {}),
          },
    excludedTargets: excluded.length <= MAX_EXCLUDED ? [...excluded] : excluded.slice(-MAX_EXCLUDED),
    ...(cacheUse === 'unread' ? { prefixCacheUnread: true } : {}),
    ...(cacheUse === 'several' ? { severalAnswers: true } : {}),
    ...(sessionHash === undefined ? {} : { sessionHash }),
  };
}

/** An engine may report any number; the wire takes counts. */
function toUsage(usage: Usage | undefined): RouteUsage {
  if (usage === undefined || !isCount(usage.promptTokens)) return {};
  const { promptTokens, cachedTokens, outputTokens } = usage;
  return {
    promptTokens,
    cachedTokens: cachedTokens !== undefined && isCount(cachedTokens) ? cachedTokens : undefined,
    outputTokens: outputTokens !== undefined && isCount(outputTokens) ? outputTokens : undefined,
  };
}

function toError({ code, message, reasons }: NotRouted): Error {
  if (code === 'too_many_reservations') return overloadedError();
  const known = ROUTING_ERROR_CODES.find((each) => each === code);
  return known === undefined ? internalError() : new RoutingError(known, message, reasons.map(fromReason));
}

/** How many events from the front go into one message: at least one. */
function countThatFit(queue: readonly RouteEvent[]): number {
  let sizeBytes = 0;
  let count = 0;
  for (const { event } of queue) {
    if (event?.$case === 'reserve') sizeBytes += reserveBytes(event.value);
    else if (event?.$case === 'reservePair' && event.value.request !== undefined)
      sizeBytes += reserveBytes(event.value.request);
    else sizeBytes += EVENT_BYTES;
    if (count > 0 && sizeBytes > MAX_MESSAGE_BYTES) break;
    count += 1;
    if (count === MAX_EVENTS) break;
  }
  return count;
}

function reserveBytes({ prompt, excludedTargets }: ReserveRequest): number {
  const form = prompt?.form;
  let sizeBytes = EVENT_BYTES + (form?.$case === 'packedTokenIds' ? form.value.length : 0);
  for (const target of excludedTargets) sizeBytes += target.length;
  for (const { identifier } of prompt?.media?.items ?? []) sizeBytes += identifier.length + MEDIA_BYTES;
  return sizeBytes;
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
}
