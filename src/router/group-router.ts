import type { AskedIndex } from '../indexer/asked-index.js';
import type { Random } from '../platform/random.js';
import type { Candidate, CandidateCost } from './candidates.js';
import type { CostWeights } from './cost.js';
import { type RouterMode, RoutingError } from './routing.js';

/** How a group's requests are spread. */
export interface GroupRouterOptions {
  readonly mode: RouterMode;
  readonly weights: CostWeights;
  /** 0: always the cheapest; above: the higher, the more often another one. */
  readonly temperature: number;
}

export interface GroupRouterModules {
  readonly random: Pick<Random, 'fraction'>;
}

/** A prompt as the index is asked. */
export interface RoutedPrompt {
  /** Of its whole blocks, packed little-endian u64, chained; read during the call alone. */
  readonly sequenceHashes: Uint8Array;
  readonly tokenCount: number;
}

/** Who was chosen, and what that costs. */
export interface Decided {
  readonly candidate: Candidate;
  readonly cost: CandidateCost;
  /** Undefined when the tokens are not known. */
  readonly promptTokens: number | undefined;
  /** Blocks of the prompt, a last partial one counted; 0 when the tokens are not known. */
  readonly promptBlocks: number;
  /** Leading blocks that the rank holds in any tier. */
  readonly cachedBlocks: number;
}

/** A request that counts as active on its rank; all calls are harmless once it has ended. */
export interface Reservation {
  readonly decided: Decided;
  /** The first token has come. */
  prefillDone(): void;
  /** All tokens that were generated so far; less than before is not believed. */
  progress(outputTokens: number): void;
  release(): void;
}

/** What is active on one rank. */
export interface RankLoad {
  readonly candidate: Candidate;
  readonly activeBlocks: number;
  readonly activeRequests: number;
  /** Prompt tokens that are being computed: of requests whose first token has not come, what was not cached. */
  readonly prefillingTokens: number;
}

/** Chooses among the ranks of one group, and knows what is active on each of them. */
export class GroupRouter {
  readonly #modules: GroupRouterModules;
  #candidates: readonly Candidate[] = [];
  #epoch = 0;
  #tokensPerBlock = 1;

  constructor(_options: GroupRouterOptions, modules: GroupRouterModules) {
    this.#modules = modules;
  }

  get epoch(): number {
    return this.#epoch;
  }

  get tokensPerBlock(): number {
    return this.#tokensPerBlock;
  }

  /** Prompt blocks that are counted by their number alone, as too many were active to know each. */
  get untrackedBlocks(): number {
    return 0;
  }

  /** A new epoch: whatever was active ends. The candidates stay. Without an index nobody is known to hold anything. */
  begin(_index: AskedIndex | undefined, epoch: number, tokensPerBlock: number): void {
    this.#epoch = epoch;
    this.#tokensPerBlock = tokensPerBlock;
  }

  /** Those that may be chosen. What is active on others, or on another instance of the same rank, ends. */
  setCandidates(candidates: readonly Candidate[]): void {
    this.#candidates = candidates;
  }

  /** Chooses. Throws `RoutingError('no_worker')`. `excluded` are targets. */
  decide(prompt: RoutedPrompt | undefined, excluded: readonly string[]): Decided {
    const left = this.#candidates.filter(({ target }) => !excluded.includes(target));
    const candidate = left[Math.floor(this.#modules.random.fraction() * left.length)];
    if (candidate === undefined) throw new RoutingError('no_worker', 'no worker can be given a request');
    return {
      candidate,
      cost: {
        candidate,
        logit: 0,
        overlapScoreWeight: 1,
        potentialPrefillBlocks: 0,
        potentialActiveBlocks: 0,
        cachedBlocks: [0, 0, 0, 0],
        probability: 1 / left.length,
      },
      promptTokens: prompt?.tokenCount,
      promptBlocks: prompt === undefined ? 0 : Math.ceil(prompt.tokenCount / this.#tokensPerBlock),
      cachedBlocks: 0,
    };
  }

  /** Chooses, and counts the request as active there. Throws `RoutingError('no_worker')`. */
  reserve(prompt: RoutedPrompt | undefined, excluded: readonly string[]): Reservation {
    return { decided: this.decide(prompt, excluded), prefillDone() {}, progress() {}, release() {} };
  }

  /** What each candidate would cost, and how likely it is to be chosen; the cheapest first. */
  explain(prompt: RoutedPrompt | undefined, excluded: readonly string[]): CandidateCost[] {
    return this.#candidates.length === 0 ? [] : [this.decide(prompt, excluded).cost];
  }

  /** What is active on each candidate. */
  loads(): RankLoad[] {
    return this.#candidates.map((candidate) => ({
      candidate,
      activeBlocks: 0,
      activeRequests: 0,
      prefillingTokens: 0,
    }));
  }
}
