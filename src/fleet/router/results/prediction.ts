import type { CacheView } from '../../../core/contract/wire/cache-view.js';
import type { CacheUse, Decision } from '../routing.js';
import type { LostReason } from './lost-hits.js';

/** What was known of the chosen rank's cache at a decision, beside the decision itself. */
export interface Prediction {
  readonly decision: Decision;
  /** Leading blocks that lie on its device. */
  readonly deviceBlocks: number;
  /** Leading blocks that requests on their way there have in common with it: computed, or about to be. */
  readonly inFlightBlocks: number;
  /** Leading blocks that the best of all workers held. */
  readonly bestBlocks: number;
  /** Why the best was not chosen; undefined where it was, or the tokens are not known. */
  readonly lostReason: LostReason | undefined;
  /** How much was known of what the rank holds; `none` where the tokens are not known. */
  readonly view: CacheView;
  readonly cacheUse: CacheUse;
  /**
   * What of the request its worker computes, where that is a part of it. What the worker of a `decode` part reports says
   * nothing of its own cache: vLLM and SGLang report there what the prefill worker found. Absent: all.
   */
  readonly part?: 'prefill' | 'decode' | undefined;
  /** Leading tokens that are known, of a prompt of which nothing more is; absent where all are known, or none. */
  readonly prefixTokens?: number | undefined;
}
