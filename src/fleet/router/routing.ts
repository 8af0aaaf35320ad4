import type { RoutingMode } from '../../core/agreement/state/cache-knowledge-counts.js';
import type { Reason } from '../../core/agreement/view/snapshot.js';
import type { MediaItem } from '../../core/blocks/media-identity.js';
import type { TransferProtocol } from '../../core/contract/transfer/connector-rules.js';
import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { PairClass } from '../../core/pairs/pair-words.js';

/** How a worker is chosen: by cost, in turn, by lot, or where the fewest requests are active. */
export type RouterMode = 'kv' | 'round-robin' | 'random' | 'least-loaded';

/**
 * What the engine does with its prefix cache for a request. `plain`: it reads
 * it. `unread`: it computes the whole prompt again (vLLM and SGLang do so where
 * the prompt's own log probabilities are asked for). `several`: several answers
 * to one prompt are wanted, of which the later ones find what the first computed.
 */
export type CacheUse = 'plain' | 'unread' | 'several';

/** A request that wants a worker. Plain data: it may cross between processes. */
export interface RouteRequest {
  /** The group that serves its model. */
  readonly group: string;
  /** The prompt's token ids; undefined when they are not known, and load alone decides. */
  readonly tokens: Uint32Array | undefined;
  /** What else the blocks' identity depends on; empty for none. */
  readonly loraName: string;
  readonly cacheSalt: string;
  /** The prompt's images, sounds and videos, in order; default none. */
  readonly media?: readonly MediaItem[] | undefined;
  /** Whether more of the prompt follows its tokens, of which nothing is known; default false. */
  readonly isPrefix?: boolean | undefined;
  /** Default `plain`. */
  readonly cacheUse?: CacheUse | undefined;
  /** 32 bits of the name of its session; of equally good workers its requests go to the same one. Default: chance decides. */
  readonly sessionHash?: number | undefined;
  /** Workers, by target, that must not be chosen: they failed before. */
  readonly excluded: readonly string[];
  /** How many further workers are named, for who sends the request: see `Decision.fallbacks`. Default 0. */
  readonly fallbacks?: number | undefined;
  /** How it may be split between two workers. Absent: it goes to one. */
  readonly pairing?: Pairing | undefined;
}

/** How a request may be split between a prefill and a decode worker. */
export interface Pairing {
  /** In which ways its sender can do that; none where this request cannot be split. */
  readonly protocols: readonly TransferProtocol[];
  /** Whether a prefill worker failed it before, so that one worker is to compute it all where one can. Default false. */
  readonly isUnsplit?: boolean | undefined;
}

/**
 * Why a request of a model with prefill and decode workers goes to one worker alone. A closed list, and the values of a
 * metric's label:
 * - `short`: its prompt has fewer tokens than are worth a transfer;
 * - `cached`: so few of its prompt's tokens are to be computed where it goes;
 * - `aggregated`: a worker that serves whole requests costs less;
 * - `fallback`: a prefill worker failed it before;
 * - `request`: it cannot be split;
 * - `no_pair`: no pair of workers can be used.
 */
export const UNSPLIT_REASONS = ['short', 'cached', 'aggregated', 'fallback', 'request', 'no_pair'] as const;

/** One of `UNSPLIT_REASONS`. */
export type UnsplitReason = (typeof UNSPLIT_REASONS)[number];

/** The other worker of a request that two share, and how they are spoken to. Plain data. */
export interface PairDecision {
  /** The worker that computes the prompt. */
  readonly prefill: Decision;
  readonly protocol: TransferProtocol;
  /** For `bootstrap`: HOST:PORT at which both meet; else empty. */
  readonly bootstrapAddress: string;
  readonly pairClass: PairClass;
  /** What the transfer is expected to take, in milliseconds; undefined where the prompt's length is not known. */
  readonly expectedTransferMs: number | undefined;
  /** Tokens of the prompt that the decode worker is expected to receive; undefined likewise. */
  readonly transferredTokens: number | undefined;
}

/** What became of the blocks between two workers, as the sender of the request saw it. Plain data. */
export interface SeenTransfer {
  /** Prompt tokens whose blocks the decode worker received. */
  readonly transferredTokens: number;
  /** Prompt tokens that it should have received, and computed again. */
  readonly recomputedTokens: number;
  /** From the request to the decode worker to its first token; 0 where that is not known. */
  readonly durationMs: number;
  /** Why it failed, for an operator; absent where it did not. */
  readonly failure?: string | undefined;
}

/** A rank of another worker that holds more of a prompt. */
export interface Neighbour {
  /** The worker's name in discovery. */
  readonly target: string;
  readonly rank: number;
  /** Leading blocks that it holds in any tier. */
  readonly cachedBlocks: number;
}

/** Where a request goes, and what was known when that was decided. Plain data. */
export interface Decision {
  readonly group: string;
  /** The worker's name in discovery. */
  readonly target: string;
  readonly workerId: string;
  readonly instanceId: string;
  /** Its data-parallel rank. */
  readonly rank: number;
  /** How many ranks the worker has. */
  readonly rankCount: number;
  readonly epoch: number;
  readonly tokensPerBlock: number;
  /** Length of the prompt in tokens; undefined when they are not known, or its beginning alone is. */
  readonly promptTokens: number | undefined;
  /** Blocks of what is known of the prompt, a last partial one counted; 0 when no tokens are known. */
  readonly promptBlocks: number;
  /** Leading blocks that the rank holds in any tier. */
  readonly cachedBlocks: number;
  /** Whether the index could know: false for a worker whose cache view is not exact, and without tokens. */
  readonly isExact: boolean;
  readonly routingMode: RoutingMode;
  /** The workers, by target, that are the next best, the best first; each of as many ranks as the chosen one. Absent: nobody asked for them. */
  readonly fallbacks?: readonly string[] | undefined;
  /** Who holds more of the prompt than the chosen worker, the most of all that get requests. Absent: nobody. */
  readonly neighbour?: Neighbour | undefined;
  /** Whether the worker is ejected, and this request its try. Absent: it is not. */
  readonly isTrial?: boolean | undefined;
  /** The worker that computes the prompt, where that is another one: this one goes on from its blocks. Absent: one computes all. */
  readonly pair?: PairDecision | undefined;
  /** Why one computes all, of a model that has workers for either part; absent for other models. */
  readonly unsplit?: UnsplitReason | undefined;
}

/** What an engine says of a request that it has computed. */
export interface Usage {
  readonly promptTokens: number;
  /** Undefined where it does not report it. */
  readonly cachedTokens: number | undefined;
  /** Tokens that it generated; undefined where it does not report it. */
  readonly outputTokens?: number | undefined;
}

/** A request on its way: its blocks count as active on its worker until it is released. */
export interface Route {
  readonly decision: Decision;
  /** The first token has come. */
  prefillDone(): void;
  /** All tokens that were generated so far. */
  progress(outputTokens: number): void;
  /** It is over, however it ended; may be called again. */
  release(usage?: Usage): void;
  /**
   * Its worker has done its part, and counts it no longer; what the engine said of it may still come with `release`. Absent:
   * it counts until then.
   */
  partDone?(): void;
  /** The part of the worker that `decision.pair` names; it ends with this route at the latest. Absent: one worker computes all. */
  readonly prefill?: Route | undefined;
  /** What became of the blocks between the two; for a route with `prefill` alone, and at most once. */
  transferred?(seen: SeenTransfer): void;
  /** Its worker failed the request; also when it was released before, once it is known that the request is not to blame. */
  failed(fault: WorkerFault): void;
}

/** What decides: the router of this process. */
export interface Routing {
  /** Chooses a worker and counts the request there. Rejects with a `RoutingError`. */
  route(request: RouteRequest): Promise<Route>;
}

/**
 * Closed list of why no worker can be chosen:
 * - `unknown_group`: no worker serves the model;
 * - `gate_shut`;
 * - `no_index`: the gate is open, and the index of its epoch could not be made;
 * - `no_worker`: the gate is open, and no worker can be given a request;
 * - `prompt_too_long`: the prompt, its LoRA name or its cache salt is longer than is taken, the caller's own fault.
 */
export const ROUTING_ERROR_CODES = [
  'unknown_group',
  'gate_shut',
  'no_index',
  'no_worker',
  'prompt_too_long',
] as const;

/** One of `ROUTING_ERROR_CODES`. */
export type RoutingErrorCode = (typeof ROUTING_ERROR_CODES)[number];

/** Why no worker can be chosen; the message is for an operator. */
export class RoutingError extends Error {
  override readonly name = 'RoutingError';
  readonly code: RoutingErrorCode;
  /** The gate's reasons, where it is shut. */
  readonly reasons: readonly Reason[];

  constructor(code: RoutingErrorCode, message: string, reasons: readonly Reason[] = []) {
    super(message);
    this.code = code;
    this.reasons = reasons;
  }
}
