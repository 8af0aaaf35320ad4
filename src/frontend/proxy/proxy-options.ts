import { isOnSidecarsHost, type MayHaveKeys } from '../engine-access/key-hosts.js';

/** Bounds and manners of a proxy. Every one has a default in `DEFAULT_PROXY_OPTIONS`. */
export interface ProxyOptions {
  /** Longest time until a worker accepts a connection, TLS included. */
  readonly connectTimeoutMs: number;
  /** Longest wait for the first byte of an answer: an engine may queue a prompt for minutes before it says anything. */
  readonly headersTimeoutMs: number;
  /**
   * Longest silence of a worker, as a whole, before its answer begins, when another worker can serve the request: half of it
   * is waited, and half is given to it to say that it is there.
   */
  readonly firstByteTimeoutMs: number;
  /**
   * Longest time in which a worker's engine shows no work for any request, although its HTTP server answers, before another
   * worker serves a request whose answer has not begun; 0: for ever.
   */
  readonly stallTimeoutMs: number;
  /** Whether one worker computes all of a request whose prefill worker failed, or whose blocks did not come over. */
  readonly fallsBack: boolean;
  /** Longest time of a prefill worker, after which it counts as failed for the request; 0: as long as it shows work. */
  readonly prefillTimeoutMs: number;
  /** Longest silence within an answer, the wait for its first token included. */
  readonly idleTimeoutMs: number;
  /** Longest life of a request, retries and all: a stream that never ends is cut here. */
  readonly totalTimeoutMs: number;
  /** How long a client may leave unread what is there for it. */
  readonly slowClientTimeoutMs: number;
  /** How many further workers are tried after a failure before the first byte; one alone where they close the connection. */
  readonly maxRetries: number;
  /** Requests, and so connections, at a time to one worker; beyond it another one is asked for. */
  readonly maxRequestsPerWorker: number;
  /** An answer's headers together, in bytes; beyond it the answer counts as broken. */
  readonly maxAnswerHeaderBytes: number;
  /** How long a connection to a worker waits for its next request. */
  readonly keepAliveTimeoutMs: number;
  /** Whether the caller's `Authorization` goes to the worker; never where there is an `engineApiKey`. */
  readonly passesAuthorization: boolean;
  /** The key that workers ask for; absent: none. */
  readonly engineApiKey?: string;
  /** Who gets either of the two: a sidecar may report any URL as its engine's. Default: what is on the sidecar's own host. */
  readonly mayHaveKeys: MayHaveKeys;
  /** PEM certificates of the authorities of workers, asked for at each connection; absent: Node's own list. */
  readonly engineCa?: () => string | undefined;
  /** Whether answers carry `x-kv-accord-worker`, `x-kv-accord-worker-address`, `x-kv-accord-cached-blocks` and `x-kv-accord-routing-mode`. */
  readonly decisionHeaders: boolean;
}

/**
 * What a proxy does by default:
 * - 5 s to connect: a worker is in the same building, and another one may be free;
 * - 10 minutes for the first byte and between two: a full engine queues that long;
 * - 15 s for a worker that answers no request: a busy server lists its models within a second;
 * - 60 s for an engine that shows no work: longer than any step that was seen of one, compiling included;
 * - 1 hour for all of it: far beyond the longest generation;
 * - 60 s for a client that stands still: a phone that lost its network comes back earlier or not at all;
 * - 1,024 requests to one worker: engines run 256 at a time (vLLM's `max_num_seqs`) and queue the rest;
 * - 32 KiB of headers: ten times what engines and the proxies before them send;
 * - 4 s between requests: uvicorn, which serves vLLM and SGLang, closes after 5 s without notice.
 */
export const DEFAULT_PROXY_OPTIONS: ProxyOptions = {
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 600_000,
  firstByteTimeoutMs: 15_000,
  stallTimeoutMs: 60_000,
  fallsBack: true,
  prefillTimeoutMs: 0,
  idleTimeoutMs: 600_000,
  totalTimeoutMs: 3_600_000,
  slowClientTimeoutMs: 60_000,
  maxRetries: 3,
  maxRequestsPerWorker: 1_024,
  maxAnswerHeaderBytes: 32 * 1024,
  keepAliveTimeoutMs: 4_000,
  passesAuthorization: true,
  mayHaveKeys: isOnSidecarsHost,
  decisionHeaders: false,
};
