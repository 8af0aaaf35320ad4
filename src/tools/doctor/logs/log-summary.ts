import type { Origin, SettingSighting, SizeSighting } from '../evidence.js';

/** Who wrote a line. */
export type LogProgram = 'dynamo' | 'vllm' | 'sglang' | 'trtllm' | 'kv-accord' | 'unknown';

/** What a line can be a sign of: the closed list. */
export const SIGNALS = [
  /** Dynamo: "Failed to find parent block; skipping store operation". */
  'parent_block_not_found',
  /** Dynamo: "Failed to find block to remove; skipping remove operation". */
  'block_to_remove_not_found',
  /** Dynamo: "Block not published. Block size must be 16 tokens to be published. Block size is: 32", three times per listener. */
  'block_not_published',
  /** Dynamo: workers whose card differs are rejected, by checksum. */
  'workers_rejected',
  /** A gap in the numbers of KV events, events lost, or a queue that is full. */
  'events_lost',
  /** A socket of KV events that cannot be reached or ends. */
  'events_unreachable',
  /** KV events, or prefix caching, are switched off. */
  'events_disabled',
  /** A worker came. */
  'worker_added',
  /** A worker went. */
  'worker_removed',
  /** An engine took a request off its GPU for want of KV blocks. */
  'preemption',
  /** An engine dropped its whole cache. */
  'cache_reset',
  /** An engine realigned or raised its block size (hybrid models). */
  'block_size_changed_by_engine',
  /** kv-accord: V3, the frontend's size does not match a worker's. */
  'accord_mismatch',
  /** kv-accord: A13, workers or the frontend make other tokens of the same prompts. */
  'accord_tokens',
  /** kv-accord: V6, KV events are read elsewhere than the engine says. */
  'accord_misread',
  /** kv-accord: A4, workers disagree. */
  'accord_conflict',
  /** A program began. */
  'started',
] as const;

export type Signal = (typeof SIGNALS)[number];

/** How often something was there, over time. */
export interface RateSeries {
  /** Wall-clock milliseconds of the first bucket's begin; undefined when lines have no time. */
  readonly startMs: number | undefined;
  /** Width of a bucket; grows by powers of two as the log gets longer, so that there are at most 240. */
  readonly bucketMs: number;
  readonly counts: readonly number[];
}

/** One kind of sign in a log. */
export interface SignalTally {
  readonly signal: Signal;
  readonly count: number;
  readonly rate: RateSeries;
  /** By worker id as the log has it, at most 64; the rest under "". */
  readonly byWorker: ReadonlyMap<string, number>;
  /** The first of them. */
  readonly first: Origin;
  /** The numbers that it had, each with how often: `16 -> 32` of a block that was not published. At most 16. */
  readonly values: ReadonlyMap<string, number>;
}

/** Routing decisions in a log ("Selected worker: …", "route request completed … overlap_blocks=…"). */
export interface DecisionTally {
  readonly count: number;
  /**
   * Those whose line reports how many blocks were cached. Dynamo 1.1 and later
   * often do not ("Selected worker … logit=…"): of 0, nothing follows.
   */
  readonly reporting: number;
  /** Those of `reporting` for which no block was found. */
  readonly withoutCache: number;
  readonly cachedBlocks: number;
  /** The largest "tree size" that was reported; undefined when it never was. */
  readonly largestTreeSize: number | undefined;
  readonly byWorker: ReadonlyMap<string, number>;
  readonly rate: RateSeries;
  /** Cached blocks in the same buckets. */
  readonly cachedRate: RateSeries;
  readonly first: Origin;
  readonly last: Origin;
  /** Tokens of prompts and those that the engine had cached, where lines report both. */
  readonly promptTokens: number;
  readonly engineCachedTokens: number;
  /** Milliseconds to the first token, where lines report it: of prompts without and with cached blocks. */
  readonly firstTokenMs: { readonly cold: Spread | undefined; readonly warm: Spread | undefined };
}

/** Some numbers by their count and middle. */
export interface Spread {
  readonly count: number;
  readonly median: number;
  readonly p95: number;
}

/** What routers say that candidates would have cost ("Formula for worker_id=… with 3 cached blocks: …"). */
export interface CostTally {
  /** Candidates, not decisions. */
  readonly count: number;
  /** Those of which no block was known. */
  readonly withoutCache: number;
  readonly largestCachedBlocks: number;
  /** Weights of the overlap as they are written, each with how often. At most 16. */
  readonly overlapWeights: ReadonlyMap<string, number>;
  readonly first: Origin;
}

/** A number that is reported again and again. */
export interface Gauge {
  readonly count: number;
  readonly mean: number;
  readonly max: number;
  readonly last: number;
}

/** What an engine reports of its cache from time to time. */
export interface EngineTally {
  /** Tokens of prompts and those of them that were cached (SGLang's "Prefill batch"); 0 when no line reports it. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** The engine's own hit rate over its last requests, 0 to 1 (vLLM's "Prefix cache hit rate"). */
  readonly prefixHitRate: Gauge | undefined;
  /** Share of the KV cache that running requests hold, 0 to 1. */
  readonly kvCacheUsage: Gauge | undefined;
  readonly runningRequests: Gauge | undefined;
  readonly waitingRequests: Gauge | undefined;
  readonly first: Origin;
  readonly last: Origin;
}

/** What one log says. Lines themselves are not kept, but for one of each kind. */
export interface LogSummary {
  /** The file, `-`, or the pod. */
  readonly name: string;
  /** Those that were read, after decompression. */
  readonly bytes: number;
  readonly lines: number;
  /** False when reading ended before the log did: stopped, damaged gzip, an error of the source; a note says which. */
  readonly isWhole: boolean;
  /** Lines that are no text (binary, cut in the middle of a character). */
  readonly unreadableLines: number;
  /** Lines longer than what is read of one; their ends were not looked at. */
  readonly cutLines: number;
  /** What a reader has to know of how it was read: no zone in its times, damaged gzip, another encoding. */
  readonly notes: readonly string[];
  /** Who wrote lines, and how many of those that were looked at: the first 1,000, then one in 64. */
  readonly programs: ReadonlyMap<LogProgram, number>;
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  readonly signals: ReadonlyMap<Signal, SignalTally>;
  readonly decisions: DecisionTally | undefined;
  readonly costs: CostTally | undefined;
  readonly engine: EngineTally | undefined;
  /** Numbers that programs report as they start, and in warnings. At most 256 each. */
  readonly sizes: readonly SizeSighting[];
  readonly settings: readonly SettingSighting[];
}
