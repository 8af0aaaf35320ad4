import type { RoutingMode } from '../../core/agreement/cache-knowledge-counts.js';
import type { Reason } from '../../core/agreement/snapshot.js';
import type { MediaItem } from '../../core/blocks/media-identity.js';
import type { WorkerFault } from '../../core/health/worker-fault.js';

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
