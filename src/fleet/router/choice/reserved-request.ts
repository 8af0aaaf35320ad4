import type { LostReason } from '../results/lost-hits.js';
import type { Neighbour } from '../routing.js';
import type { ActiveRequest } from './active-blocks.js';
import type { Candidate, CandidateCost } from './candidates.js';
import type { Flight } from './flight.js';

/** Who was chosen, and what that costs. */
export interface Decided {
  readonly candidate: Candidate;
  readonly cost: CandidateCost;
  /** Undefined when the tokens are not known; where `isPrefix`, only those that are known count. */
  readonly promptTokens: number | undefined;
  /** Whether more of the prompt follows, of which nothing is known. Absent: it does not. */
  readonly isPrefix?: boolean | undefined;
  /** Blocks of the prompt, a last partial one counted; 0 when the tokens are not known. */
  readonly promptBlocks: number;
  /** Leading blocks that the rank holds in any tier. */
  readonly cachedBlocks: number;
  /** Leading blocks that the best of all workers held. */
  readonly bestBlocks: number;
  /** Why that one was not chosen; undefined where it was. */
  readonly lostReason: LostReason | undefined;
  /** Of another worker, who holds most, where that is more and it gets requests. */
  readonly neighbour: Neighbour | undefined;
  /** Leading blocks that are active there already. */
  readonly sharedBlocks: number;
  /** Leading blocks of prompts on their way there, which are expected to be cached. */
  readonly flyingBlocks: number;
  /** Targets of the next best, where they were asked for. */
  readonly fallbacks?: readonly string[] | undefined;
  /** Its results contradict its view: only a part of what that promises went into the cost. */
  readonly isDoubted: boolean;
}

/** A request that counts as active on its rank; all calls are harmless once it has ended. */
export interface Reservation {
  readonly decided: Decided;
  /** The first token has come. */
  prefillDone(): void;
  /** All tokens that were generated so far; less than before is not believed. */
  progress(outputTokens: number): void;
  release(): void;
  /** Its prompt, expected where it goes; undefined where its tokens are not known, or nothing is followed there. */
  readonly flight: Flight | undefined;
  /** Leading blocks of its prompt that ranks hold in any tier now; undefined where that cannot be known any more. */
  find(): Found | undefined;
}

/** Who holds how many leading blocks of a prompt. */
export interface Found {
  /** The rank that it went to. */
  readonly here: number;
  /** The best of the others. */
  readonly elsewhere: number;
}

/** A decision whose request counts for its worker until it ends. */
export class Reserved implements Reservation {
  readonly decided: Decided;
  readonly flight: Flight | undefined;
  readonly find: () => Found | undefined;
  readonly #request: ActiveRequest;

  constructor(
    decided: Decided,
    request: ActiveRequest,
    flight: Flight | undefined,
    find: () => Found | undefined,
  ) {
    this.decided = decided;
    this.#request = request;
    this.flight = flight;
    this.find = find;
  }

  prefillDone(): void {
    this.#request.prefillDone();
  }

  progress(outputTokens: number): void {
    this.#request.progress(outputTokens);
  }

  release(): void {
    this.#request.release();
  }
}
