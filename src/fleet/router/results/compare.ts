import type { Prediction } from './prediction.js';

/**
 * Prompt tokens that an engine may report of one request: what the router takes of a prompt itself. What is more is no
 * report, for one answer could set a counter to 2^53-1, after which nothing is counted any more.
 */
const MAX_REPORTED_TOKENS = 4 * 1024 * 1024;

/** What an engine reported of one request, where that can be true. */
export interface Reported {
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** One request: what was predicted of its engine's cache, and what the engine reported. */
export interface Comparison {
  /** What the view of the cache said, in prompt tokens. */
  readonly predictedTokens: number;
  readonly reportedTokens: number;
  /** Tokens that the engine should have had and had not; 0 where something that is known explains it. */
  readonly overTokens: number;
  /** Tokens that the engine had and the view did not know of; 0 where something that is known explains it. */
  readonly underTokens: number;
  /** The engine counted another number of prompt tokens: it got other tokens than were looked up. */
  readonly isOtherPrompt: boolean;
}

/** What is found after a decision and belongs to its prediction. */
export interface Amendment {
  /** Leading blocks that were evicted while the request waited: the engine may have no more than those before. Default all. */
  readonly keptBlocks?: number | undefined;
  /** Leading blocks that the rank was found to hold later, own ones included. Default none. */
  readonly foundBlocks?: number | undefined;
}

/**
 * Blocks of a prompt that an engine can reuse at most: it computes at least the
 * last token again, since it needs its logits, and with it that token's block.
 */
function reusableBlocks({
  decision: { promptTokens = 0, tokensPerBlock },
  prefixTokens,
}: Prediction): number {
  // More follows, with the last token in it.
  if (prefixTokens !== undefined) return Math.floor(prefixTokens / tokensPerBlock);
  return promptTokens < 1 ? 0 : Math.floor((promptTokens - 1) / tokensPerBlock);
}

/** Prompt tokens that an engine should report as cached; 0 where the tokens were not known or its cache is not read. */
export function predictedCachedTokens(prediction: Prediction): number {
  return usableTokens(prediction, prediction.decision.cachedBlocks);
}

/** Prompt tokens of so many leading blocks that an engine can find at most. */
export function usableTokens(prediction: Prediction, blocks: number): number {
  if (prediction.cacheUse === 'unread') return 0;
  return Math.min(blocks, reusableBlocks(prediction)) * prediction.decision.tokensPerBlock;
}

/** What an engine reported, where that can be true; undefined where it cannot. */
export function readReported(promptTokens: number, cachedTokens: number): Reported | undefined {
  const isPossible =
    Number.isSafeInteger(promptTokens) &&
    Number.isSafeInteger(cachedTokens) &&
    promptTokens >= 1 &&
    promptTokens <= MAX_REPORTED_TOKENS &&
    cachedTokens >= 0 &&
    cachedTokens <= promptTokens;
  return isPossible ? { promptTokens, cachedTokens } : undefined;
}

/**
 * Compares one request. What the view of the cache says at the decision is not
 * all that the engine may find when it admits the request, so the truth may lie
 * in an interval:
 *
 * - not below the blocks on the device (a lower tier may be too slow or too
 *   far to be used), nor above what any tier holds;
 * - as high as prompts on their way reach that are computed there at the time;
 * - as low as blocks that were evicted before the request was admitted;
 * - for several samples of one prompt, as high as the whole prompt: the later
 *   ones find what the first computed;
 * - 0 or more where the engine does not read its cache (`prompt_logprobs`).
 *
 * A part of a block above that is no contradiction: an engine whose blocks are
 * smaller than the epoch's counts them. Of a view that is not exact, what is
 * missing contradicts nothing; of one that may hold too much, nothing does. Nor
 * does what is found behind the beginning of a prompt, where that alone is known.
 */
export function compare(prediction: Prediction, reported: Reported, amendment: Amendment = {}): Comparison {
  const { decision, view, cacheUse, deviceBlocks, inFlightBlocks } = prediction;
  const { tokensPerBlock, promptTokens } = decision;
  const { keptBlocks = Number.POSITIVE_INFINITY, foundBlocks = 0 } = amendment;
  const reusable = reusableBlocks(prediction);
  const predictedTokens = predictedCachedTokens(prediction);
  const reportedTokens = reported.cachedTokens;
  const lowest = cacheUse === 'unread' ? 0 : Math.min(deviceBlocks, keptBlocks, reusable);
  const known = Math.max(decision.cachedBlocks, inFlightBlocks, foundBlocks);
  const highest = cacheUse === 'several' ? reusable : Math.min(known, reusable);
  const mayHoldLess = view !== 'exact' && view !== 'partial';
  const over = mayHoldLess ? 0 : lowest * tokensPerBlock - reportedTokens;
  const under = view === 'exact' ? reportedTokens - highest * tokensPerBlock : 0;
  return {
    predictedTokens,
    reportedTokens,
    overTokens: Math.max(0, over),
    underTokens: under >= tokensPerBlock ? under : 0,
    isOtherPrompt: promptTokens !== undefined && promptTokens !== reported.promptTokens,
  };
}
