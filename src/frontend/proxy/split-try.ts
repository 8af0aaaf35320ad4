import type { WorkerFault } from '../../core/health/worker-fault.js';
import { parseAddress } from '../../edge/platform/address.js';
import type { Clock } from '../../edge/platform/clock.js';
import { systemRandom } from '../../edge/platform/random.js';
import type { Decision, PairDecision, Route, SeenTransfer, Usage } from '../../fleet/router/routing.js';
import type { PassedAnswer } from './passed-answer.js';
import type { PrefillLeg } from './prefill-leg.js';
import type { ReceivedTokens } from './received-tokens.js';

/** One try of a request at two workers. */
export interface SplitTry {
  readonly route: Route;
  readonly pair: PairDecision;
  readonly leg: PrefillLeg;
  /** What the worker that goes on is sent; undefined until the prompt is computed. */
  body: Buffer | undefined;
  /** Tokens of the prompt, as the prefill worker counts them. */
  promptTokens: number | undefined;
  /** What the decode worker received, by its own counters. */
  readonly received: ReceivedTokens;
  /** Whether these were followed when it was asked. */
  isFollowed: boolean;
  /** Whether what the decode worker reports as cached is what the prefill worker found. */
  reportsPrefill: boolean;
  /** When the decode worker was asked, and when its first byte came. */
  sentMs: number;
  firstByteMs: number | undefined;
  /** The head of a stream, until its first event shows that it is an answer. */
  heldHead: HeldHead | undefined;
}

/** The head of an answer that is not passed on yet. */
export interface HeldHead {
  readonly headers: readonly string[];
  pass(): void;
}

/** A fault of the worker that goes on, as far as it may come from the transfer: then it is the pair's. */
export function isPairsFault({ kind }: WorkerFault): boolean {
  return kind === 'server_error' || kind === 'stalled';
}

/** Begins like the event of an error, in the words of vLLM, SGLang, OpenAI and Anthropic. */
const ERROR_EVENT = /^(?:event: ?error|data: ?\{"(?:error"|object": ?"error"))/;
const LOOKED_AT_BYTES = 32;

/** Whether a stream begins with an error in place of a token. */
export function beginsWithError(piece: Buffer): boolean {
  return ERROR_EVENT.test(piece.subarray(0, LOOKED_AT_BYTES).toString('latin1').trimStart());
}

/** vLLM 0.32 has its decode engine report what the prefill engine found, where it is among the parameters. */
const PREFILL_CACHED = Buffer.from('"remote_prefill_cached_tokens"');

/** Whether the parameters of a transfer make the decode engine report the prefill engine's count. */
export function reportsPrefillCount(parameters: Buffer): boolean {
  return parameters.includes(PREFILL_CACHED);
}

/** What became of the blocks of a request that was answered, by the counts of its engines. */
export function seenTransfer(
  split: SplitTry,
  decision: Decision,
  answer: PassedAnswer,
  clock: Clock,
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
    durationMs: (split.firstByteMs ?? clock.monotonicMs()) - split.sentMs,
  };
}

/** An engine computes the last token of a prompt again, with what its last block lacks. */
function recomputed(
  { reportsPrefill, pair }: SplitTry,
  { tokensPerBlock }: Decision,
  promptTokens: number,
  usage: Usage | undefined,
): number {
  // SGLang's decode engine refuses what does not come over; it computes nothing again.
  if (reportsPrefill || pair.protocol === 'bootstrap' || usage?.cachedTokens === undefined) return 0;
  const missing = promptTokens - usage.cachedTokens;
  return missing > tokensPerBlock ? missing : 0;
}

const ROOM_BITS = 0x3fff_ffff_ffff_ffffn;

/**
 * The number under which two engines meet, which nobody can guess. SGLang sends a request to the rank that is its remainder
 * by their number (`follow_bootstrap_room`), so it leads to the rank that was chosen.
 */
export function bootstrapRoom({ rank, rankCount }: Pick<Decision, 'rank' | 'rankCount'>): bigint {
  const drawn = BigInt(`0x${systemRandom.uniqueId()}`) & ROOM_BITS;
  const ranks = BigInt(Math.max(1, rankCount));
  return drawn - (drawn % ranks) + BigInt(rank);
}

/** HOST and PORT of an address; undefined where it is none. */
export function hostAndPort(address: string): { readonly host: string; readonly port: number } | undefined {
  const parsed = parseAddress(address);
  if (parsed?.type !== 'tcp' || parsed.port === 0) return undefined;
  return { host: parsed.host, port: parsed.port };
}
