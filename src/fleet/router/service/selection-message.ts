import type { RoutingMode } from '../../../core/agreement/state/cache-knowledge-counts.js';
import { PAIR_CLASS_NAMES, pairClassName } from '../../../core/pairs/pair-class-names.js';
import { PairClass } from '../../../gen/kvaccord/v1/fleet.js';
import type { PairSelection, RouteTransfer, Selection } from '../../../gen/kvaccord/v1/router.js';
import { type Decision, type Neighbour, type SeenTransfer, UNSPLIT_REASONS } from '../routing.js';

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

/** A decision for one worker or two as it is sent. */
export function toPairSelection(decision: Decision): PairSelection {
  const { pair, unsplit = '' } = decision;
  return {
    prefill: pair === undefined ? undefined : toSelection(pair.prefill),
    decode: toSelection(decision),
    unsplitReason: unsplit,
    class: pair === undefined ? PairClass.UNSPECIFIED : PAIR_CLASS_NAMES[pair.pairClass],
    expectedTransferMilliseconds: pair?.expectedTransferMs,
    transferProtocol: pair?.protocol ?? '',
    bootstrapAddress: pair?.bootstrapAddress ?? '',
    transferredTokens: pair?.transferredTokens,
  };
}

/** A decision for one worker or two as it was received; undefined where it names none, or a protocol that is not known here. */
export function fromPairSelection(selection: PairSelection): Decision | undefined {
  const { prefill, decode, unsplitReason, transferProtocol: protocol } = selection;
  if (decode === undefined) return undefined;
  const decision = toDecision(decode);
  if (prefill === undefined)
    return { ...decision, unsplit: UNSPLIT_REASONS.find((reason) => reason === unsplitReason) };
  if (protocol !== 'nixl' && protocol !== 'bootstrap') return undefined;
  return {
    ...decision,
    pair: {
      prefill: toDecision(prefill),
      protocol,
      bootstrapAddress: selection.bootstrapAddress,
      pairClass: pairClassName(selection.class),
      expectedTransferMs: selection.expectedTransferMilliseconds,
      transferredTokens: selection.transferredTokens,
    },
  };
}

/** What became of a transfer, as it is sent. */
export function toRouteTransfer({
  transferredTokens,
  recomputedTokens,
  durationMs,
  failure,
}: SeenTransfer): RouteTransfer {
  return { transferredTokens, recomputedTokens, seconds: durationMs / 1_000, failure };
}

/** What became of a transfer, as it was received. */
export function fromRouteTransfer({
  transferredTokens,
  recomputedTokens,
  seconds,
  failure,
}: RouteTransfer): SeenTransfer {
  return { transferredTokens, recomputedTokens, durationMs: seconds * 1_000, failure };
}

function neighbourOf({ neighbourTarget, neighbourRank, neighbourCachedBlocks }: Selection): Neighbour {
  return { target: neighbourTarget, rank: neighbourRank, cachedBlocks: neighbourCachedBlocks };
}
