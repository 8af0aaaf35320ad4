import type { HashContract } from '../indexer/prompt-hashes.js';
import type { CandidateCost } from './choice/candidates.js';
import type { RoutedPrompt } from './choice/worker-selector.js';
import type { AboutPrompt } from './predict.js';
import type { Decision, Pairing } from './routing.js';

/** What is asked of one group. */
export interface GroupRequest extends AboutPrompt {
  /** The prompt in the epoch's blocks; undefined when its tokens are not known. */
  readonly hash: ((contract: HashContract) => RoutedPrompt) | undefined;
  /** The LoRA adapter that it is for; empty for none. */
  readonly loraName: string;
  /** See `RouteRequest`. */
  readonly sessionHash?: number | undefined;
  /** Targets that must not be chosen. */
  readonly excluded: readonly string[];
  /** See `RouteRequest`. */
  readonly fallbacks?: number | undefined;
  /** See `RouteRequest`. */
  readonly pairing?: Pairing | undefined;
}

/** Who was chosen, and what each candidate would cost, the cheapest first. */
export interface Selected {
  readonly decision: Decision;
  readonly costs: readonly CandidateCost[];
}
