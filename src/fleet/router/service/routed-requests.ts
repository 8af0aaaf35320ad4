import type { FleetView } from '../../../core/agreement/view/snapshot.js';
import { invalidArgument, RpcError } from '../../../edge/rpc/errors.js';
import type { Prompt } from '../../../gen/kvaccord/v1/indexer.js';
import type { ReserveRequest } from '../../../gen/kvaccord/v1/router.js';
import { findAskedGroup, NO_INDEX_MESSAGE, shutMessage } from '../../indexer/asked-group.js';
import { type PromptHashes, tokenCountOf } from '../../indexer/prompt-hashes.js';
import type { ActiveRoute } from '../active-route.js';
import type { GroupRequest } from '../group-request.js';
import { type CacheUse, type Pairing, RoutingError } from '../routing.js';
import type { Reservations } from './reservations.js';

const DEFAULT_LEASE_SECONDS = 600;
const MAX_LEASE_SECONDS = 86_400;

/** Workers that one request may leave out. */
const MAX_EXCLUDED = 1_024;

/** The same of an attached client, which leaves out all that do not have a name: more than a fleet has. */
const MAX_EXCLUDED_ATTACHED = 16_384;

/** What a request says beside its group. */
export interface AskedRequest {
  readonly group: string;
  readonly prompt?: Prompt | undefined;
  readonly excludedTargets: readonly string[];
  readonly prefixCacheUnread?: boolean | undefined;
  readonly severalAnswers?: boolean | undefined;
  readonly sessionHash?: number | undefined;
}

export interface RoutedRequestsModules {
  readonly hashes: PromptHashes;
  readonly reservations: Reservations;
  /** The fleet as last prepared. */
  view(): FleetView;
  reserve(group: string, request: GroupRequest): ActiveRoute;
}

/** Requests for a worker as clients send them: checked, and as the router of their group takes them. */
export class RoutedRequests {
  readonly #modules: RoutedRequestsModules;

  constructor(modules: RoutedRequestsModules) {
    this.#modules = modules;
  }

  /** What `answer` gives for the group that is meant. Throws an `RpcError` with the reason where nothing can be routed. */
  asked<T>(request: AskedRequest, answer: (group: string, request: GroupRequest) => T, pairing?: Pairing): T {
    const groupRequest = this.#toGroupRequest(request, MAX_EXCLUDED, pairing);
    const view = findAskedGroup(this.#modules.view(), request.group);
    try {
      return answer(view.group, groupRequest);
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
      switch (error.code) {
        case 'gate_shut':
          throw new RpcError('unavailable', shutMessage(view), {
            reason: view.reasons[0]?.code ?? 'settling',
          });
        case 'no_index':
          throw new RpcError('unavailable', NO_INDEX_MESSAGE, { reason: error.code });
        default:
          throw new RpcError('unavailable', error.message, { reason: error.reasons[0]?.code ?? error.code });
      }
    }
  }

  /** Reserves with a lease, under an id of its own. */
  reserve(
    request: ReserveRequest,
    pairing?: Pairing,
  ): { readonly reservationId: string; readonly route: ActiveRoute } {
    const { leaseSeconds = DEFAULT_LEASE_SECONDS } = request;
    if (leaseSeconds < 1 || leaseSeconds > MAX_LEASE_SECONDS)
      throw invalidArgument(`lease_seconds is ${leaseSeconds}, it must be from 1 to ${MAX_LEASE_SECONDS}`);
    const { reservations, reserve } = this.#modules;
    const { fullMessage } = reservations;
    if (fullMessage !== undefined)
      throw new RpcError('too_many_calls', fullMessage, { reason: 'too_many_reservations' });
    const route = this.asked(request, reserve, pairing);
    return { reservationId: reservations.add(route, leaseSeconds), route };
  }

  /** Reserves for an attached client, whose stream holds what it reserved. */
  reserveAttached(request: AskedRequest, pairing?: Pairing): ActiveRoute {
    const groupRequest = this.#toGroupRequest(request, MAX_EXCLUDED_ATTACHED, pairing);
    // An adapter's name may come without tokens: then load alone decides among those that have it.
    const isLoadOnly = request.prompt?.form === undefined;
    return this.#modules.reserve(
      this.#onlyGroup(request.group),
      isLoadOnly ? { ...groupRequest, hash: undefined } : groupRequest,
    );
  }

  /** The route of a reservation. Throws an `RpcError` where there is none of that id. */
  routeOf(reservationId: string): ActiveRoute {
    const route = this.#modules.reservations.find(reservationId);
    if (route !== undefined) return route;
    throw new RpcError(
      'not_found',
      'there is no such reservation: it was released, it expired, or its worker or epoch has ended',
      { reason: 'unknown_reservation' },
    );
  }

  #toGroupRequest(request: AskedRequest, maxExcluded: number, pairing?: Pairing): GroupRequest {
    const { prompt, excludedTargets: excluded } = request;
    if (excluded.length > maxExcluded)
      throw invalidArgument(
        `excluded_targets has ${excluded.length} entries, at most ${maxExcluded} are taken`,
      );
    return {
      hash: prompt === undefined ? undefined : (contract) => this.#modules.hashes.read(prompt, contract),
      tokenCount: prompt === undefined || prompt.isPrefix === true ? undefined : tokenCountOf(prompt),
      loraName: prompt?.loraName ?? '',
      cacheUse: cacheUseOf(request),
      sessionHash: request.sessionHash,
      excluded,
      ...(pairing === undefined ? {} : { pairing }),
    };
  }

  /** An empty name stands for the only group that there is. */
  #onlyGroup(name: string): string {
    return name === '' ? findAskedGroup(this.#modules.view(), name).group : name;
  }
}

function cacheUseOf({ prefixCacheUnread, severalAnswers }: AskedRequest): CacheUse {
  if (prefixCacheUnread === true) return 'unread';
  return severalAnswers === true ? 'several' : 'plain';
}
