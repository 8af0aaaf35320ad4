import type { PairDecision, Route, Usage } from '../../fleet/router/routing.js';
import { beginsWithError } from '../proxy/answers/error-event.js';
import type { PassedAnswer } from '../proxy/answers/passed-answer.js';
import { type SplitSight, seenTransfer } from '../proxy/split/seen-transfer.js';
import type { ReceivedTokens } from '../proxy/workers/received-tokens.js';

export interface PickedPairOptions {
  /** The part of the worker that answers. */
  readonly route: Route;
  /** The part of the worker that computes the prompt. */
  readonly prefill: Route;
  readonly pair: PairDecision;
  /** Whether the prompt is computed by the rank that was chosen: a port or a header says so, or there is one alone. */
  readonly isRankSure: boolean;
  /** What the decode worker received, by its own counters. */
  readonly received: ReceivedTokens;
  /** Ends the count of the request at the prefill worker; may be called again. */
  readonly endCount: () => void;
}

/**
 * A request that two workers share: llm-d's routing sidecar, beside the decode worker, asks the prefill worker first. The gateway
 * shows the second step alone, so the prompt counts as computed when the head of its answer comes.
 */
export class PickedPair {
  readonly #options: PickedPairOptions;
  readonly #sight: SplitSight;

  constructor(options: PickedPairOptions) {
    const { pair, received } = options;
    this.#options = options;
    this.#sight = {
      pair,
      promptTokens: undefined,
      received,
      isFollowed: received.isFollowed,
      // The sidecar writes the prefill worker's count into the answer, and vLLM from 0.32 on does so itself.
      reportsPrefill: true,
      // How long the transfer took is seen by the sidecar alone.
      sentMs: 0,
      firstByteMs: 0,
    };
  }

  /** The head of its answer has come. */
  begun(): void {
    const { prefill, endCount } = this.#options;
    endCount();
    prefill.partDone?.();
  }

  /** The first piece of its answer's body has come: an engine begins a stream before it knows that nothing comes over. */
  firstPiece(piece: Buffer): void {
    if (beginsWithError(piece)) this.failed('an error in place of the first token');
  }

  /** It is over, before its route is released; `answer`: what came of one. */
  ended(answer: PassedAnswer | undefined): void {
    const { route, prefill } = this.#options;
    if (answer === undefined) return;
    const seen = seenTransfer(this.#sight, route.decision, answer, 0);
    if (seen !== undefined) route.transferred?.(seen);
    prefill.release(this.#usageOfPrefill(answer.usage));
  }

  /** One of its two steps failed, and no step shows which: that is the pair's fault. */
  failed(failure: string): void {
    const { route } = this.#options;
    route.transferred?.({ transferredTokens: 0, recomputedTokens: 0, durationMs: 0, failure });
  }

  /** Tokens that the prefill worker found cached; undefined where the answer cannot say. */
  #usageOfPrefill(usage: Usage | undefined): Usage | undefined {
    const { pair, isRankSure, route } = this.#options;
    // SGLang's decode engine counts for itself.
    if (usage?.cachedTokens === undefined || !isRankSure || pair.protocol === 'bootstrap') return undefined;
    const { promptTokens, cachedTokens } = usage;
    // Nearly all of it is what a decode engine says of itself: that all came over.
    const { tokensPerBlock } = route.decision;
    const isAll = promptTokens - cachedTokens <= tokensPerBlock;
    if (isAll && cachedTokens > pair.prefill.cachedBlocks * tokensPerBlock) return undefined;
    return { promptTokens, cachedTokens };
  }
}
