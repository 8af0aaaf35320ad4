import type { RoutingMode } from '../../core/agreement/cache-knowledge-counts.js';
import type { Selection } from '../../gen/kvaccord/v1/router.js';
import type { Decision, Neighbour } from './routing.js';

/** A decision as it is sent. */
export function toSelection(decision: Decision): Selection {
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
    rankCount: decision.rankCount,
    promptTokens: decision.promptTokens,
    isExact: decision.isExact,
    isTrial: decision.isTrial === true,
    neighbourTarget: decision.neighbour?.target ?? '',
    neighbourRank: decision.neighbour?.rank ?? 0,
    neighbourCachedBlocks: decision.neighbour?.cachedBlocks ?? 0,
  };
}

const ROUTING_MODES: readonly RoutingMode[] = ['closed', 'exact', 'mixed', 'approximate', 'load_only'];

/** A decision as it was received. A router of a later version may know more modes: they are no better than `load_only`. */
export function toDecision(selection: Selection): Decision {
  return {
    group: selection.group,
    target: selection.target,
    workerId: selection.workerId,
    instanceId: selection.instanceId,
    rank: selection.dataParallelRank,
    rankCount: selection.rankCount,
    epoch: Number(selection.epoch),
    tokensPerBlock: selection.tokensPerBlock,
    promptTokens: selection.promptTokens,
    promptBlocks: selection.promptBlocks,
    cachedBlocks: selection.cachedBlocks,
    isExact: selection.isExact,
    ...(selection.isTrial ? { isTrial: true } : {}),
    ...(selection.neighbourTarget === '' ? {} : { neighbour: neighbourOf(selection) }),
    routingMode: ROUTING_MODES.find((mode) => mode === selection.routingMode) ?? 'load_only',
  };
}

function neighbourOf({ neighbourTarget, neighbourRank, neighbourCachedBlocks }: Selection): Neighbour {
  return { target: neighbourTarget, rank: neighbourRank, cachedBlocks: neighbourCachedBlocks };
}
