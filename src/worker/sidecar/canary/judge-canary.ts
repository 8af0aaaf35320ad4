import type { PromptPath } from '../../../engines/descriptor/prompt-path.js';
import { Canary_State, type CanaryResult } from '../../../gen/kvaccord/v1/capabilities.js';
import type { CanaryCounts } from './canary-requests.js';

/** What was sent on one path, twice, and what came of it. */
export interface CanaryTrial {
  readonly promptPath: Pick<PromptPath, 'path' | 'takes'>;
  readonly rank: number;
  /** Tokens of the prompt, as sent or rendered; undefined where the engine renders none. */
  readonly promptTokens: number | undefined;
  /** What the engine counted when it was asked again. */
  readonly counts: CanaryCounts;
  /** Why its KV events cannot be looked at; empty when they are read. */
  readonly eventsReason: string;
  /** The width of the blocks that were seen, else of those that the report has; undefined while neither is known. */
  readonly tokensPerBlock: number | undefined;
  /** Blocks under the prompt's own hashes on its rank, and blocks on this rank that are not the prompt's. */
  readonly ownBlocks: number;
  readonly otherBlocks: number;
  /** The rank on which its blocks arrived instead. */
  readonly strayRank: number | undefined;
  readonly isCachingOff: boolean | undefined;
  readonly hitAlignmentTokens: number | undefined;
  readonly dropsLastHitBlock: boolean | undefined;
  /** Where its events are read, for people. */
  readonly eventSource: string;
}

/**
 * What a failed canary speaks against: that the events are this engine's
 * (`source`), that blocks are those of the tokens (`tokens`), that as much is
 * found in the cache as was predicted (`cached_less`).
 */
export type CanaryFault = 'source' | 'tokens' | 'cached_less';

/** What a canary showed; `fault` is what is wrong with the engine. */
export interface CanaryVerdict {
  readonly result: CanaryResult;
  readonly fault: CanaryFault | undefined;
}

/**
 * Prompt tokens that an engine finds in its cache when it is asked the same again: all but the last one, in whole blocks.
 * @internal
 */
export function predictCached(
  promptTokens: number,
  tokensPerBlock: number,
  { hitAlignmentTokens, dropsLastHitBlock }: Pick<CanaryTrial, 'hitAlignmentTokens' | 'dropsLastHitBlock'>,
): number {
  const unit = hitAlignmentTokens ?? tokensPerBlock;
  const found = Math.floor((promptTokens - 1) / unit) * unit;
  return dropsLastHitBlock === true ? Math.max(0, found - tokensPerBlock) : found;
}

/** Compares one trial with what was predicted of it. */
export function judgeCanary(trial: CanaryTrial): CanaryVerdict {
  const { promptPath, rank, counts, tokensPerBlock } = trial;
  // Where the engine renders no chat message, its own count has to do; then no block can be hashed.
  const promptTokens = trial.promptTokens ?? counts.promptTokens;
  const known = promptTokens !== undefined && tokensPerBlock !== undefined;
  const predicted = known ? predictCached(promptTokens, tokensPerBlock, trial) : undefined;
  const promptBlocks = known ? Math.floor(promptTokens / tokensPerBlock) : undefined;
  const finding = find(trial, predicted, promptBlocks);
  return {
    fault: finding.fault,
    result: {
      path: promptPath.path,
      dataParallelRank: rank,
      state: finding.state,
      reason: finding.reason,
      promptTokens,
      reportedPromptTokens: counts.promptTokens,
      predictedCachedTokens: predicted,
      reportedCachedTokens: counts.cachedTokens,
      promptBlocks,
      storedBlocks: promptBlocks === undefined || whyUnchecked(trial) !== '' ? undefined : trial.ownBlocks,
    },
  };
}

interface Finding {
  readonly state: Canary_State;
  readonly reason: string;
  readonly fault?: CanaryFault;
}

function find(trial: CanaryTrial, predicted: number | undefined, promptBlocks: number | undefined): Finding {
  const { promptTokens, counts, isCachingOff } = trial;
  if (
    promptTokens !== undefined &&
    counts.promptTokens !== undefined &&
    counts.promptTokens !== promptTokens
  ) {
    return failed(
      'tokens',
      `the engine counted ${counts.promptTokens} prompt tokens, and ${trial.promptPath.takes === 'chat' ? 'it renders' : 'it was sent'} ${promptTokens}`,
    );
  }
  if (isCachingOff === true) {
    return inconclusive('its prefix cache is switched off: nothing of a prompt is kept for the next one');
  }
  if (promptBlocks === undefined || predicted === undefined) {
    const cached = counts.cachedTokens ?? 0;
    if (cached > 0 && trial.promptPath.takes === 'tokens' && whyUnchecked(trial) === '') {
      return failed('source', nothingArrived('no block', cached, trial));
    }
    return inconclusive(
      `no source says the block size, and none of ${promptTokens ?? counts.promptTokens} tokens was seen as a block`,
    );
  }
  const blocks = whyUnchecked(trial) === '' ? findBlocks(trial, promptBlocks) : undefined;
  return blocks?.fault !== undefined || blocks?.state === Canary_State.INCONCLUSIVE
    ? blocks
    : findCached(trial, predicted, promptBlocks);
}

/** Whether the blocks of the prompt came by the events that are read; undefined when they did. */
function findBlocks(trial: CanaryTrial, promptBlocks: number): Finding | undefined {
  const { promptPath, ownBlocks, otherBlocks, strayRank, counts, eventSource, promptTokens = 0 } = trial;
  // Of a prompt that ends with a block, some engines publish the last one with the next token only.
  const least = Math.min(promptBlocks, Math.floor((promptTokens - 1) / (trial.tokensPerBlock ?? 1)));
  if (ownBlocks >= least) return undefined;
  if (strayRank !== undefined) {
    return failed(
      'source',
      `the blocks of a prompt to rank ${trial.rank} arrived as those of rank ${strayRank}: the event sources of the ranks are swapped`,
    );
  }
  if (ownBlocks > 0) {
    return failed(
      'tokens',
      `${ownBlocks} of its ${promptBlocks} blocks arrived under the hashes of its tokens`,
    );
  }
  const cached = counts.cachedTokens ?? 0;
  if (promptPath.takes === 'chat') {
    return otherBlocks > 0
      ? failed(
          'tokens',
          `its ${promptBlocks} blocks arrived under other hashes than those of the tokens that the engine renders`,
        )
      : inconclusive('none of its blocks arrived');
  }
  if (otherBlocks > 0) {
    return failed(
      'source',
      `${eventSource} is not this engine's: none of the ${promptBlocks} blocks of its prompt arrived there, and blocks of other prompts did while it was idle`,
    );
  }
  if (cached > 0) {
    return failed('source', nothingArrived(`none of the ${promptBlocks} blocks`, cached, trial));
  }
  return inconclusive(`none of the ${promptBlocks} blocks of its prompt arrived by ${eventSource}`);
}

function nothingArrived(what: string, cachedTokens: number, { eventSource }: CanaryTrial): string {
  return `${what} of its prompt arrived by ${eventSource}, and the engine found ${cachedTokens} tokens of it in its cache: these are another engine's events, or it publishes none`;
}

function findCached(trial: CanaryTrial, predicted: number, promptBlocks: number): Finding {
  const { counts } = trial;
  const promptTokens = trial.promptTokens ?? counts.promptTokens;
  const { cachedTokens } = counts;
  const unchecked = whyUnchecked(trial);
  const stored =
    unchecked === '' ? `all ${promptBlocks} blocks arrived as hashed` : `blocks not checked: ${unchecked}`;
  if (cachedTokens === undefined) {
    const reason = `${stored}; the engine reports no cached tokens`;
    return unchecked === '' ? { state: Canary_State.PASSED, reason } : inconclusive(reason);
  }
  if (cachedTokens !== predicted) {
    const reason = `${predicted} of ${promptTokens} tokens were predicted to be cached, and the engine found ${cachedTokens}`;
    // An engine that reuses parts of a block finds more than whole ones: that misleads no router.
    return cachedTokens < predicted ? failed('cached_less', reason) : inconclusive(reason);
  }
  return {
    state: Canary_State.PASSED,
    reason: `${stored}; ${cachedTokens} of ${promptTokens} tokens cached as predicted`,
  };
}

function failed(fault: CanaryFault, reason: string): Finding {
  return { state: Canary_State.FAILED, reason, fault };
}

function inconclusive(reason: string): Finding {
  return { state: Canary_State.INCONCLUSIVE, reason };
}

/** Why blocks cannot be compared; empty when they can. */
function whyUnchecked({ eventsReason, promptTokens }: CanaryTrial): string {
  return eventsReason === '' && promptTokens === undefined
    ? 'the engine does not say which tokens a chat message becomes'
    : eventsReason;
}
