import { onAbort } from '../../../edge/platform/time/on-abort.js';
import { invalidArgument, RpcError } from '../../../edge/rpc/errors.js';
import type { MessageReader } from '../../../edge/rpc/handlers.js';
import type { ServerStream } from '../../../edge/rpc/server-stream.js';
import type {
  AttachRequest,
  AttachResponse,
  NotRouted,
  ReservePairRequest,
  ReserveRequest,
  RouteAnswer,
  RouteUsage,
  WorkerFailure,
} from '../../../gen/kvaccord/v1/router.js';
import type { ActiveRoute } from '../active-route.js';
import { RoutingError, type Usage } from '../routing.js';
import type { Reservations } from './reservations.js';
import { fromRouteTransfer, toPairSelection, toSelection } from './selection-message.js';
import type { ServedBoard } from './served-board.js';
import { toReason } from './served-messages.js';

/** Events of one message; `AttachRequest` says it to clients. */
export const MAX_EVENTS = 256;

/** Routes that one client may have open: sixteen times what a frontend takes by default. */
const MAX_ROUTES = 65_536;

/** Ids are whole numbers from 0. */
const NO_ROUTE = -1;

/** Answers of one message: with the longest reasons they stay below gRPC's 4 MiB. */
const MAX_ANSWERS = 256;

export interface AttachedClientModules {
  readonly board: ServedBoard;
  readonly reservations: Reservations;
  /** Decides. Throws a `RoutingError`, or an `RpcError` for a request that is no request. */
  reserve(request: ReserveRequest, pair?: ReservePairRequest): ActiveRoute;
  /** A worker failed a request, that of `route` where it is known. */
  failed(failure: WorkerFailure, route: ActiveRoute | undefined): void;
  /** Logs what is neither. Returns the error that the client gets. */
  explainFault(error: unknown): string;
}

/** One process that takes requests and has its routes decided here, over one stream. */
export class AttachedClient implements MessageReader<AttachRequest> {
  readonly #stream: ServerStream<AttachResponse>;
  readonly #modules: AttachedClientModules;
  readonly #routes = new Map<number, ActiveRoute>();
  #answers: RouteAnswer[] = [];
  /** The version of what is served that was sent last. */
  #sentParts: ServedBoard['parts'] = [];
  #isSending = false;

  constructor(stream: ServerStream<AttachResponse>, modules: AttachedClientModules) {
    this.#stream = stream;
    this.#modules = modules;
    const stopWatching = modules.board.watch(() => void this.#send());
    onAbort(stream.signal, () => {
      stopWatching();
      this.#releaseAll();
    });
    void this.#send();
  }

  take({ events, failures }: AttachRequest): void {
    if (events.length > MAX_EVENTS)
      throw invalidArgument(`a message has ${events.length} events, at most ${MAX_EVENTS} are taken`);
    if (failures.length > MAX_EVENTS)
      throw invalidArgument(`a message has ${failures.length} failures, at most ${MAX_EVENTS} are taken`);
    // First: what a message reserves goes by them.
    for (const failure of failures)
      this.#modules.failed(failure, this.#routes.get(failure.routeId ?? NO_ROUTE));
    for (const { routeId, event } of events) {
      if (event?.$case === 'reserve') this.#reserve(routeId, event.value);
      else if (event?.$case === 'reservePair') this.#reservePair(routeId, event.value);
      else {
        const route = this.#routes.get(routeId);
        if (route === undefined) throw invalidArgument(`route ${routeId} is not open`);
        switch (event?.$case) {
          case 'prefillDone':
            route.prefillDone();
            break;
          case 'outputTokens':
            route.progress(event.value);
            break;
          case 'prefillRelease':
            route.prefill?.release(usageOf(event.value));
            break;
          case 'prefillFirstToken':
            route.prefill?.prefillDone();
            break;
          case 'transfer':
            route.transferred?.(fromRouteTransfer(event.value));
            break;
          case 'release':
            this.#routes.delete(routeId);
            route.release(usageOf(event.value));
            break;
          default:
            throw invalidArgument(`an event of route ${routeId} is of an unknown kind`);
        }
      }
    }
    void this.#send();
  }

  #reservePair(routeId: number, pair: ReservePairRequest): void {
    if (pair.request === undefined)
      throw invalidArgument(`the pair of route ${routeId} is asked for without a request`);
    this.#reserve(routeId, pair.request, pair);
  }

  #reserve(routeId: number, request: ReserveRequest, pair?: ReservePairRequest): void {
    if (this.#routes.has(routeId)) throw invalidArgument(`route ${routeId} is open already`);
    const { board, reservations } = this.#modules;
    const { fullMessage } = reservations;
    const reason =
      this.#routes.size >= MAX_ROUTES
        ? `this client has ${MAX_ROUTES} open routes, which is the most`
        : fullMessage;
    if (reason !== undefined) {
      this.#refuse(routeId, { code: 'too_many_reservations', message: reason, reasons: [] });
      return;
    }
    let route: ActiveRoute;
    try {
      route = this.#modules.reserve(request, pair);
    } catch (error) {
      this.#refuse(routeId, this.#notRouted(error));
      return;
    }
    reservations.addAttached(route);
    this.#routes.set(routeId, route);
    const { decision } = route;
    board.prepareFor(decision);
    if (decision.pair !== undefined) board.prepareFor(decision.pair.prefill);
    this.#answers.push({
      routeId,
      answer:
        pair === undefined
          ? { $case: 'selection', value: toSelection(decision) }
          : { $case: 'pair', value: toPairSelection(decision) },
    });
  }

  #refuse(routeId: number, value: NotRouted): void {
    this.#answers.push({ routeId, answer: { $case: 'notRouted', value } });
  }

  #notRouted(error: unknown): NotRouted {
    if (error instanceof RoutingError)
      return { code: error.code, message: error.message, reasons: error.reasons.map(toReason) };
    if (error instanceof RpcError) return { code: error.reason, message: error.message, reasons: [] };
    return { code: 'internal', message: this.#modules.explainFault(error), reasons: [] };
  }

  #releaseAll(): void {
    for (const route of this.#routes.values()) route.release();
    this.#routes.clear();
    this.#answers = [];
  }

  /** Sends until there is nothing more to say. While the client does not read, all that is new waits for the next message. */
  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    const { board } = this.#modules;
    while (this.#stream.isOpen && (this.#answers.length > 0 || this.#sentParts !== board.parts)) {
      // The answers first: what is served knows their workers then.
      const answers = this.#answers.splice(0, MAX_ANSWERS);
      const parts = this.#sentParts === board.parts ? [] : board.parts;
      this.#sentParts = board.parts;
      for (const served of parts.slice(0, -1)) await this.#stream.write({ served, answers: [] });
      await this.#stream.write({ served: parts.at(-1), answers });
    }
    this.#isSending = false;
  }
}

function usageOf({ promptTokens, cachedTokens, outputTokens }: RouteUsage): Usage | undefined {
  return promptTokens === undefined ? undefined : { promptTokens, cachedTokens, outputTokens };
}
