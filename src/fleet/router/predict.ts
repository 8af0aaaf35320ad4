import type { GroupView } from '../../core/agreement/view/snapshot.js';
import type { AskedIndex } from '../indexer/index/asked-index.js';
import type { Decided } from './choice/reserved-request.js';
import type { Prediction } from './results/prediction.js';
import type { CacheUse, Decision, PairDecision, UnsplitReason } from './routing.js';

/** An epoch that requests are routed in. */
export interface OpenEpoch {
  readonly view: GroupView;
  readonly index: AskedIndex;
}

/** What of a request a worker computes, and with whom. */
export interface AboutPart {
  readonly part?: 'prefill' | 'decode';
  readonly pair?: PairDecision;
  readonly unsplit?: UnsplitReason;
  /** Its worker is ejected, and this request tries it. Default false. */
  readonly isTrial?: boolean;
}

/** What is known of a request apart from its prompt. */
export interface AboutPrompt {
  /** Its length; undefined when it is known by its hashes alone, by its beginning alone, or not at all. */
  readonly tokenCount: number | undefined;
  /** Default `plain`. */
  readonly cacheUse?: CacheUse | undefined;
}

/** What is expected of the worker that was chosen for a request of this group. */
export function predict(
  group: string,
  { view, index }: OpenEpoch,
  { tokenCount, cacheUse = 'plain' }: AboutPrompt,
  decided: Decided,
  { isTrial = false, part, pair, unsplit }: AboutPart,
): Prediction {
  const { candidate, cost, cachedBlocks, sharedBlocks, flyingBlocks, isDoubted } = decided;
  const { tokensPerBlock } = index;
  const isPromptKnown = decided.promptTokens !== undefined;
  const { isPrefix = false } = decided;
  const knownTokens = decided.promptTokens ?? tokenCount;
  const promptTokens = isPrefix ? undefined : knownTokens;
  const heldView =
    isPromptKnown && candidate.offer === 'full' && part !== 'decode'
      ? index.cacheViewOfRank(candidate.target, candidate.rank)
      : 'none';
  // Of what follows, the engine may have more than is known.
  const rankView = isPrefix && heldView === 'exact' ? 'partial' : heldView;
  const decision: Decision = {
    group,
    target: candidate.target,
    workerId: candidate.workerId,
    instanceId: candidate.instanceId,
    rank: candidate.rank,
    rankCount: candidate.rankCount,
    epoch: index.epoch,
    tokensPerBlock,
    promptTokens,
    promptBlocks: knownTokens === undefined ? 0 : Math.ceil(knownTokens / tokensPerBlock),
    cachedBlocks,
    isExact: rankView === 'exact' && !isDoubted,
    // What is known of caches says nothing of a prompt that is not.
    routingMode: isPromptKnown ? view.routingMode : 'load_only',
    isTrial: isTrial ? true : undefined,
    fallbacks: decided.fallbacks,
    neighbour: decided.neighbour,
    pair,
    unsplit,
  };
  return {
    decision,
    deviceBlocks: cost.cachedBlocks[0] ?? 0,
    inFlightBlocks: Math.max(sharedBlocks, flyingBlocks),
    bestBlocks: Math.max(decided.bestBlocks, pair?.prefill.cachedBlocks ?? 0),
    lostReason: decided.lostReason,
    view: rankView,
    cacheUse,
    prefixTokens: isPrefix ? knownTokens : undefined,
    part,
  };
}
