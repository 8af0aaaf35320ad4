import type { FleetView } from '../../core/agreement/snapshot.js';
import { RpcError } from '../../edge/rpc/errors.js';
import { type RpcEdge, wrapUnary } from '../../edge/rpc/handlers.js';
import type { Prompt } from '../../gen/kvaccord/v1/indexer.js';
import type {
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
  ReserveRequest,
  ReserveResponse,
  RouterServer,
  Selection,
  SelectWorkerRequest,
  SelectWorkerResponse,
} from '../../gen/kvaccord/v1/router.js';
import { findAskedGroup, NO_INDEX_WORDS, shutWords } from '../indexer/asked-group.js';
import type { PromptHashes } from '../indexer/prompt-hashes.js';
import type { ActiveRoute } from './active-route.js';
import type { CandidateCost } from './candidates.js';
import type { GroupRequest, Selected } from './group-router.js';
import type { Reservations } from './reservations.js';
import { type Decision, RoutingError } from './routing.js';

const DEFAULT_LEASE_SECONDS = 600;
const MAX_LEASE_SECONDS = 86_400;

/** Workers that one request may leave out. */
const MAX_EXCLUDED = 1_024;

/** Tokens that one request may generate: four times what any model's context holds. */
const MAX_OUTPUT_TOKENS = 4 * 1024 * 1024;

export interface RouterServiceModules {
  readonly edge: RpcEdge;
  readonly hashes: PromptHashes;
  readonly reservations: Reservations;
  /** The fleet as last prepared. */
  view(): FleetView;
  select(group: string, request: GroupRequest): Selected;
  reserve(group: string, request: GroupRequest): ActiveRoute;
  /** The results of one group, or of all where the name is empty. */
  results(group: string): GroupResults[];
}

/** The `kvaccord.v1.Router` service. */
export function createRouterService(modules: RouterServiceModules): RouterServer {
  const { edge, reservations } = modules;
  const asked = <T>(
    request: {
      group: string;
      prompt?: Prompt | undefined;
      excludedTargets: string[];
      prefixCacheUnread?: boolean | undefined;
    },
    answer: (group: string, request: GroupRequest) => T,
  ): T => {
    const { prompt, excludedTargets: excluded } = request;
    const cacheUse = request.prefixCacheUnread === true ? 'unread' : 'plain';
    if (excluded.length > MAX_EXCLUDED)
      throw invalid(`excluded_targets has ${excluded.length} entries, at most ${MAX_EXCLUDED} are taken`);
    const view = findAskedGroup(modules.view(), request.group);
    const { group } = view;
    const hash: GroupRequest['hash'] =
      prompt === undefined ? undefined : (contract) => modules.hashes.read(prompt, contract);
    const form = prompt?.form;
    const tokenCount = form?.$case === 'tokenIds' ? form.value.ids.length : undefined;
    try {
      return answer(group, { hash, tokenCount, loraName: prompt?.loraName ?? '', cacheUse, excluded });
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
      switch (error.code) {
        case 'gate_shut':
          throw new RpcError('unavailable', shutWords(view), { reason: view.reasons[0]?.code ?? 'settling' });
        case 'no_index':
          throw new RpcError('unavailable', NO_INDEX_WORDS, { reason: error.code });
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
      return { selection: selectionOf(decision), candidates: costs.map(costOf) };
    }),
    reserve: wrapUnary(edge, (request: ReserveRequest): ReserveResponse => {
      const { leaseSeconds = DEFAULT_LEASE_SECONDS } = request;
      if (leaseSeconds < 1 || leaseSeconds > MAX_LEASE_SECONDS)
        throw invalid(`lease_seconds is ${leaseSeconds}, it must be from 1 to ${MAX_LEASE_SECONDS}`);
      const { fullWords } = reservations;
      if (fullWords !== undefined)
        throw new RpcError('too_many_calls', fullWords, { reason: 'too_many_reservations' });
      const route = asked(request, modules.reserve);
      return {
        reservationId: reservations.add(route, leaseSeconds),
        selection: selectionOf(route.decision),
      };
    }),
    prefillDone: wrapUnary(edge, ({ reservationId }: PrefillDoneRequest): PrefillDoneResponse => {
      open(reservationId).prefillDone();
      return {};
    }),
    progress: wrapUnary(edge, ({ reservationId, outputTokens }: ProgressRequest): ProgressResponse => {
      if (outputTokens > MAX_OUTPUT_TOKENS)
        throw invalid(`output_tokens is ${outputTokens}, at most ${MAX_OUTPUT_TOKENS} are taken`);
      open(reservationId).progress(outputTokens);
      return {};
    }),
    release: wrapUnary(edge, (request: ReleaseRequest): ReleaseResponse => {
      const { reservationId, cachedTokens } = request;
      const route = reservations.find(reservationId);
      const promptTokens = request.promptTokens ?? route?.decision.promptTokens;
      if (cachedTokens !== undefined && cachedTokens > (promptTokens ?? cachedTokens))
        throw invalid(`cached_tokens is ${cachedTokens}, more than the ${promptTokens} of prompt_tokens`);
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
  };
}

function selectionOf(decision: Decision): Selection {
  return {
    group: decision.group,
    epoch: BigInt(decision.epoch),
    tokensPerBlock: decision.tokensPerBlock,
    target: decision.target,
    workerId: decision.workerId,
    instanceId: decision.instanceId,
    dataParallelRank: decision.rank,
    cachedBlocks: decision.cachedBlocks,
    promptBlocks: decision.promptBlocks,
    routingMode: decision.routingMode,
  };
}

function costOf(cost: CandidateCost): CostMessage {
  const { candidate, cachedBlocks } = cost;
  return {
    target: candidate.target,
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
