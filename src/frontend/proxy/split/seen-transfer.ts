import type { Decision, PairDecision, SeenTransfer, Usage } from '../../../fleet/router/routing.js';
import type { PassedAnswer } from '../answers/passed-answer.js';
import type { ReceivedTokens } from '../workers/received-tokens.js';

/** What is known of a try at two workers when its answer has come. */
export interface SplitSight {
  readonly pair: PairDecision;
  /** Tokens of the prompt, as the prefill worker counts them; undefined where it did not say. */
  readonly promptTokens: number | undefined;
  /** What the decode worker received, by its own counters. */
  readonly received: ReceivedTokens;
  /** Whether these were followed when it was asked. */
  readonly isFollowed: boolean;
  /** Whether what the decode worker reports as cached is what the prefill worker found. */
  readonly reportsPrefill: boolean;
  /** When the decode worker was asked, and when its first byte came. */
  readonly sentMs: number;
  readonly firstByteMs: number | undefined;
}

/** vLLM 0.32 has its decode engine report what the prefill engine found, where it is among the parameters. */
const PREFILL_CACHED = Buffer.from('"remote_prefill_cached_tokens"');

/** Whether the parameters of a transfer make the decode engine report the prefill engine's count. */
export function reportsPrefillCount(parameters: Buffer): boolean {
  return parameters.includes(PREFILL_CACHED);
}

/** What became of the blocks of a request that was answered, by the counts of its engines. */
export function seenTransfer(
  split: SplitSight,
  decision: Decision,
  answer: PassedAnswer,
  nowMs: number,
): SeenTransfer | undefined {
  if (!answer.showsWork) return undefined;
  const { usage } = answer;
  const promptTokens = split.promptTokens ?? usage?.promptTokens ?? decision.promptTokens;
  if (promptTokens === undefined) return undefined;
  // The last block is computed again, as far as the prompt fills it.
  if (split.isFollowed) split.received.answered(Math.max(0, promptTokens - decision.tokensPerBlock));
  const recomputedTokens =
    recomputed(split, decision, promptTokens, usage) || Math.min(promptTokens, split.received.takeMissing());
  const heldTokens = Math.min(decision.cachedBlocks * decision.tokensPerBlock, promptTokens);
  return {
    recomputedTokens,
    transferredTokens: Math.max(0, promptTokens - heldTokens - recomputedTokens),
    durationMs: (split.firstByteMs ?? nowMs) - split.sentMs,
  };
}

/** An engine computes the last token of a prompt again, with what its last block lacks. */
function recomputed(
  { reportsPrefill, pair }: SplitSight,
  { tokensPerBlock }: Decision,
  promptTokens: number,
  usage: Usage | undefined,
): number {
  // SGLang's decode engine refuses what does not come over; it computes nothing again.
  if (reportsPrefill || pair.protocol === 'bootstrap' || usage?.cachedTokens === undefined) return 0;
  const missing = promptTokens - usage.cachedTokens;
  return missing > tokensPerBlock ? missing : 0;
}
