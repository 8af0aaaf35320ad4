import type { FleetView } from '../../../core/agreement/snapshot.js';
import { TRANSFER_PROTOCOLS, type TransferProtocol } from '../../../core/contract/connector-rules.js';
import { onAbort } from '../../../edge/platform/time/on-abort.js';
import { RpcError, toRpcError } from '../../../edge/rpc/errors.js';
import { type RpcEdge, wrapDuplexStream, wrapUnary } from '../../../edge/rpc/handlers.js';
import type { Prompt } from '../../../gen/kvaccord/v1/indexer.js';
import type {
  AttachRequest,
  AttachResponse,
  CandidateCost as CostMessage,
  GroupResults,
  ListResultsRequest,
  ListResultsResponse,
  PrefillDoneRequest,
  PrefillDoneResponse,
  ProgressRequest,
  ProgressResponse,
  ReleaseRequest,
  ReleaseResponse,
  ReservePairRequest,
  ReservePairResponse,
  ReserveRequest,
  ReserveResponse,
  RouterServer,
  SelectPairRequest,
  SelectPairResponse,
  SelectWorkerRequest,
  SelectWorkerResponse,
  WorkerFailure,
} from '../../../gen/kvaccord/v1/router.js';
import { findAskedGroup, NO_INDEX_MESSAGE, shutMessage } from '../../indexer/asked-group.js';
import { type PromptHashes, tokenCountOf } from '../../indexer/prompt-hashes.js';
import type { ActiveRoute } from '../active-route.js';
import type { CandidateCost } from '../choice/candidates.js';
import type { GroupRequest, Selected } from '../group-router.js';
import { type CacheUse, type Decision, type Pairing, RoutingError } from '../routing.js';
import { AttachedClient } from './attached-client.js';
import type { Reservations } from './reservations.js';
import { toPairSelection, toSelection } from './selection-message.js';
import type { ServedBoard } from './served-board.js';

const DEFAULT_LEASE_SECONDS = 600;
const MAX_LEASE_SECONDS = 86_400;

/** Workers that one request may leave out. */
const MAX_EXCLUDED = 1_024;

/** The same of an attached client, which leaves out all that do not have a name: more than a fleet has. */
const MAX_EXCLUDED_ATTACHED = 16_384;

/** Tokens that one request may generate: four times what any model's context holds. */
const MAX_OUTPUT_TOKENS = 4 * 1024 * 1024;

export interface RouterServiceModules {
  readonly edge: RpcEdge;
  readonly hashes: PromptHashes;
  readonly reservations: Reservations;
  readonly board: ServedBoard;
  /** The fleet as last prepared. */
  view(): FleetView;
  select(group: string, request: GroupRequest): Selected;
  selectPair(group: string, request: GroupRequest): Decision;
  reserve(group: string, request: GroupRequest): ActiveRoute;
  /** The results of one group, or of all where the name is empty. */
  results(group: string): GroupResults[];
  /** A worker failed a request, that of `route` where it is known. */
  failed(failure: WorkerFailure, route: ActiveRoute | undefined): void;
}

/** How often a silent stream says that the router lives. */
export const ATTACH_HEARTBEAT_MS = 5_000;

/** Clients that may be attached to one router: four times the processes that one frontend may have. */
const MAX_ATTACHED = 1_024;

/** What a request says beside its group. */
interface AskedRequest {
  readonly group: string;
  readonly prompt?: Prompt | undefined;
  readonly excludedTargets: readonly string[];
  readonly prefixCacheUnread?: boolean | undefined;
  readonly severalAnswers?: boolean | undefined;
  readonly sessionHash?: number | undefined;
}

/** The `kvaccord.v1.Router` service. */
export function createRouterService(modules: RouterServiceModules): RouterServer {
  const { edge, reservations } = modules;
  let attached = 0;
  const toGroupRequest = (request: AskedRequest, maxExcluded: number, pairing?: Pairing): GroupRequest => {
    const { prompt, excludedTargets: excluded } = request;
    if (excluded.length > maxExcluded)
      throw invalid(`excluded_targets has ${excluded.length} entries, at most ${maxExcluded} are taken`);
    return {
      hash: prompt === undefined ? undefined : (contract) => modules.hashes.read(prompt, contract),
      tokenCount: prompt === undefined || prompt.isPrefix === true ? undefined : tokenCountOf(prompt),
      loraName: prompt?.loraName ?? '',
      cacheUse: cacheUseOf(request),
      sessionHash: request.sessionHash,
      excluded,
      ...(pairing === undefined ? {} : { pairing }),
    };
  };
  const asked = <T>(
    request: AskedRequest,
    answer: (group: string, request: GroupRequest) => T,
    pairing?: Pairing,
  ): T => {
    const groupRequest = toGroupRequest(request, MAX_EXCLUDED, pairing);
    const view = findAskedGroup(modules.view(), request.group);
    const { group } = view;
    try {
      return answer(group, groupRequest);
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
  };
  const open = (id: string): ActiveRoute => {
    const route = reservations.find(id);
    if (route !== undefined) return route;
    throw new RpcError(
      'not_found',
      'there is no such reservation: it was released, it expired, or its worker or epoch has ended',
      { reason: 'unknown_reservation' },
    );
  };
  return {
    selectWorker: wrapUnary(edge, (request: SelectWorkerRequest): SelectWorkerResponse => {
      const { decision, costs } = asked(request, modules.select);
      return { selection: toSelection(decision), candidates: costs.map(costOf) };
    }),
    reserve: wrapUnary(edge, (request: ReserveRequest): ReserveResponse => {
      const { reservationId, route } = reserveFor(request);
      return { reservationId, selection: toSelection(route.decision) };
    }),
    selectPair: wrapUnary(edge, (request: SelectPairRequest): SelectPairResponse => {
      const pairing = { protocols: protocolsOf(request.transferProtocols) };
      return { selection: toPairSelection(asked(request, modules.selectPair, pairing)) };
    }),
    reservePair: wrapUnary(edge, (message: ReservePairRequest): ReservePairResponse => {
      if (message.request === undefined)
        throw invalid('request is missing: it says for what a pair is asked');
      const { reservationId, route } = reserveFor(message.request, pairingOf(message));
      return { reservationId, selection: toPairSelection(route.decision) };
    }),
    prefillDone: wrapUnary(edge, ({ reservationId }: PrefillDoneRequest): PrefillDoneResponse => {
      const route = open(reservationId);
      route.prefill?.prefillDone();
      route.prefill?.release();
      route.prefillDone();
      return {};
    }),
    progress: wrapUnary(edge, ({ reservationId, outputTokens }: ProgressRequest): ProgressResponse => {
      if (outputTokens > MAX_OUTPUT_TOKENS)
        throw invalid(`output_tokens is ${outputTokens}, at most ${MAX_OUTPUT_TOKENS} are taken`);
      open(reservationId).progress(outputTokens);
      return {};
    }),
    release: wrapUnary(edge, (request: ReleaseRequest): ReleaseResponse => {
      const { reservationId, cachedTokens, fault } = request;
      const route = reservations.find(reservationId);
      const promptTokens = request.promptTokens ?? route?.decision.promptTokens;
      if (cachedTokens !== undefined && cachedTokens > (promptTokens ?? cachedTokens))
        throw invalid(`cached_tokens is ${cachedTokens}, more than the ${promptTokens} of prompt_tokens`);
      if (route !== undefined && fault !== undefined) modules.failed({ ...route.decision, fault }, route);
      route?.release(promptTokens === undefined ? undefined : { promptTokens, cachedTokens });
      return { wasActive: route !== undefined };
    }),
    listResults: wrapUnary(edge, ({ group }: ListResultsRequest): ListResultsResponse => {
      const groups = modules.results(group);
      if (group === '' || groups.length > 0) return { groups };
      throw new RpcError('not_found', `no request of "${group.slice(0, 256)}" was routed here`, {
        reason: 'unknown_group',
      });
    }),
    attach: wrapDuplexStream<AttachRequest, AttachResponse>(
      edge,
      {
        mode: 'every',
        heartbeat: { intervalMs: ATTACH_HEARTBEAT_MS, make: () => ({ served: undefined, answers: [] }) },
      },
      (stream) => {
        if (attached >= MAX_ATTACHED)
          throw new RpcError('too_many_calls', `${MAX_ATTACHED} clients are attached, which is the most`);
        attached += 1;
        onAbort(stream.signal, () => {
          attached -= 1;
        });
        return new AttachedClient(stream, {
          board: modules.board,
          reservations,
          reserve: (request, pairMessage) => {
            const pairing = pairMessage === undefined ? undefined : pairingOf(pairMessage);
            const groupRequest = toGroupRequest(request, MAX_EXCLUDED_ATTACHED, pairing);
            // An adapter's name may come without tokens: then load alone decides among those that have it.
            const isLoadOnly = request.prompt?.form === undefined;
            return modules.reserve(
              onlyGroup(request.group),
              isLoadOnly ? { ...groupRequest, hash: undefined } : groupRequest,
            );
          },
          failed: modules.failed,
          explainFault: (error) => toRpcError(error, 'Attach', edge).message,
        });
      },
    ),
  };

  function reserveFor(
    request: ReserveRequest,
    pairing?: Pairing,
  ): { readonly reservationId: string; readonly route: ActiveRoute } {
    const { leaseSeconds = DEFAULT_LEASE_SECONDS } = request;
    if (leaseSeconds < 1 || leaseSeconds > MAX_LEASE_SECONDS)
      throw invalid(`lease_seconds is ${leaseSeconds}, it must be from 1 to ${MAX_LEASE_SECONDS}`);
    const { fullMessage } = reservations;
    if (fullMessage !== undefined)
      throw new RpcError('too_many_calls', fullMessage, { reason: 'too_many_reservations' });
    const route = asked(request, modules.reserve, pairing);
    return { reservationId: reservations.add(route, leaseSeconds), route };
  }

  /** An empty name stands for the only group that there is. */
  function onlyGroup(name: string): string {
    return name === '' ? findAskedGroup(modules.view(), name).group : name;
  }
}

/** The protocols that a caller speaks; none named are all. */
function protocolsOf(words: readonly string[]): readonly TransferProtocol[] {
  return words.length === 0 ? TRANSFER_PROTOCOLS : TRANSFER_PROTOCOLS.filter((one) => words.includes(one));
}

function pairingOf({ transferProtocols, unsplit }: ReservePairRequest): Pairing {
  return { protocols: protocolsOf(transferProtocols), isUnsplit: unsplit };
}

function cacheUseOf({ prefixCacheUnread, severalAnswers }: AskedRequest): CacheUse {
  if (prefixCacheUnread === true) return 'unread';
  return severalAnswers === true ? 'several' : 'plain';
}

function costOf(cost: CandidateCost): CostMessage {
  const { candidate, cachedBlocks } = cost;
  return {
    target: candidate.target,
    workerId: candidate.workerId,
    dataParallelRank: candidate.rank,
    logit: cost.logit,
    overlapScoreWeight: cost.overlapScoreWeight,
    potentialPrefillBlocks: cost.potentialPrefillBlocks,
    potentialActiveBlocks: cost.potentialActiveBlocks,
    deviceBlocks: cachedBlocks[0] ?? 0,
    hostBlocks: cachedBlocks[1] ?? 0,
    diskBlocks: cachedBlocks[2] ?? 0,
    externalBlocks: cachedBlocks[3] ?? 0,
    probability: cost.probability,
  };
}

function invalid(message: string): RpcError {
  return new RpcError('invalid_argument', message);
}
