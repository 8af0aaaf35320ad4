import {
  TRANSFER_PROTOCOLS,
  type TransferProtocol,
} from '../../../core/contract/transfer/connector-rules.js';
import { onAbort } from '../../../edge/platform/time/on-abort.js';
import { invalidArgument, RpcError, toRpcError } from '../../../edge/rpc/errors.js';
import { type RpcEdge, wrapDuplexStream, wrapUnary } from '../../../edge/rpc/handlers.js';
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
import type { ActiveRoute } from '../active-route.js';
import type { CandidateCost } from '../choice/candidates.js';
import type { GroupRequest, Selected } from '../group-request.js';
import type { Decision, Pairing } from '../routing.js';
import { AttachedClient } from './attached-client.js';
import { RoutedRequests, type RoutedRequestsModules } from './routed-requests.js';
import { toPairSelection, toSelection } from './selection-message.js';
import type { ServedBoard } from './served-board.js';

/** Tokens that one request may generate: four times what any model's context holds. */
const MAX_OUTPUT_TOKENS = 4 * 1024 * 1024;

export interface RouterServiceModules extends RoutedRequestsModules {
  readonly edge: RpcEdge;
  readonly board: ServedBoard;
  select(group: string, request: GroupRequest): Selected;
  selectPair(group: string, request: GroupRequest): Decision;
  /** The results of one group, or of all where the name is empty. */
  results(group: string): GroupResults[];
  /** A worker failed a request, that of `route` where it is known. */
  failed(failure: WorkerFailure, route: ActiveRoute | undefined): void;
}

/** How often a silent stream says that the router lives. */
export const ATTACH_HEARTBEAT_MS = 5_000;

/** Clients that may be attached to one router: four times the processes that one frontend may have. */
const MAX_ATTACHED = 1_024;

/** The `kvaccord.v1.Router` service. */
export function createRouterService(modules: RouterServiceModules): RouterServer {
  const { edge, reservations } = modules;
  let attached = 0;
  const requests = new RoutedRequests(modules);
  return {
    selectWorker: wrapUnary(edge, (request: SelectWorkerRequest): SelectWorkerResponse => {
      const { decision, costs } = requests.asked(request, modules.select);
      return { selection: toSelection(decision), candidates: costs.map(costOf) };
    }),
    reserve: wrapUnary(edge, (request: ReserveRequest): ReserveResponse => {
      const { reservationId, route } = requests.reserve(request);
      return { reservationId, selection: toSelection(route.decision) };
    }),
    selectPair: wrapUnary(edge, (request: SelectPairRequest): SelectPairResponse => {
      const pairing = { protocols: protocolsOf(request.transferProtocols) };
      return { selection: toPairSelection(requests.asked(request, modules.selectPair, pairing)) };
    }),
    reservePair: wrapUnary(edge, (message: ReservePairRequest): ReservePairResponse => {
      if (message.request === undefined)
        throw invalidArgument('request is missing: it says for what a pair is asked');
      const { reservationId, route } = requests.reserve(message.request, pairingOf(message));
      return { reservationId, selection: toPairSelection(route.decision) };
    }),
    prefillDone: wrapUnary(edge, ({ reservationId }: PrefillDoneRequest): PrefillDoneResponse => {
      const route = requests.routeOf(reservationId);
      route.prefill?.prefillDone();
      route.prefill?.release();
      route.prefillDone();
      return {};
    }),
    progress: wrapUnary(edge, ({ reservationId, outputTokens }: ProgressRequest): ProgressResponse => {
      if (outputTokens > MAX_OUTPUT_TOKENS)
        throw invalidArgument(`output_tokens is ${outputTokens}, at most ${MAX_OUTPUT_TOKENS} are taken`);
      requests.routeOf(reservationId).progress(outputTokens);
      return {};
    }),
    release: wrapUnary(edge, (request: ReleaseRequest): ReleaseResponse => {
      const { reservationId, cachedTokens, fault } = request;
      const route = reservations.find(reservationId);
      const promptTokens = request.promptTokens ?? route?.decision.promptTokens;
      if (cachedTokens !== undefined && cachedTokens > (promptTokens ?? cachedTokens))
        throw invalidArgument(
          `cached_tokens is ${cachedTokens}, more than the ${promptTokens} of prompt_tokens`,
        );
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
          reserve: (request, pairMessage) =>
            requests.reserveAttached(request, pairMessage === undefined ? undefined : pairingOf(pairMessage)),
          failed: modules.failed,
          explainFault: (error) => toRpcError(error, 'Attach', edge).message,
        });
      },
    ),
  };
}

/** The protocols that a caller speaks; none named are all. */
function protocolsOf(words: readonly string[]): readonly TransferProtocol[] {
  return words.length === 0 ? TRANSFER_PROTOCOLS : TRANSFER_PROTOCOLS.filter((one) => words.includes(one));
}

function pairingOf({ transferProtocols, unsplit }: ReservePairRequest): Pairing {
  return { protocols: protocolsOf(transferProtocols), isUnsplit: unsplit };
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
