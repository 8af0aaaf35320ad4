import type { EngineWord } from '../../../core/contract/wire/engine-kinds.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import type { KnownFault } from '../known-faults/known-fault.js';
import type { Origin, SettingSighting, SizeSighting } from '../sightings.js';
import type { Failure } from './failures.js';
import type { ProgramWord } from './known-programs.js';
import type { UnevenRanks } from './rank-loads.js';

/** Who wrote a line. */
export type LogProgram = EngineWord | 'kv-accord' | ProgramWord | 'unknown';

/** How often something was there, over time. */
export interface RateSeries {
  /** Wall-clock milliseconds of the first bucket's begin; undefined when lines have no time. */
  readonly startMs: number | undefined;
  /** Width of a bucket; grows by powers of two as the log gets longer, so that there are at most 240. */
  readonly bucketMs: number;
  readonly counts: readonly number[];
  /** True when times of it have no zone: they may be hours away from others. */
  readonly isUnzoned?: boolean;
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
  /** The error that stood right before one of them and that no rule knows, of the same process: often the reason. */
  readonly before?: Origin;
  /** The numbers that it had, each with how often: `16 -> 32` of a block that was not published. At most 16. */
  readonly values: ReadonlyMap<string, number>;
}

/** Decisions for one model, and its prompts where lines report their tokens. */
export interface ModelTally {
  readonly decisions: number;
  /** Those for which a block was found. */
  readonly found: number;
  readonly promptTokens: number;
  /** Those of them that engines had cached. */
  readonly cachedTokens: number;
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
  /** What routers took for the load of chosen workers, in their own blocks: what is to be computed and what is held. */
  readonly loadBlocks: Gauge | undefined;
  readonly byWorker: ReadonlyMap<string, number>;
  /** Decisions for which a block was found, by the worker that was chosen. */
  readonly foundByWorker: ReadonlyMap<string, number>;
  /** By the model that was asked for, at most 16; absent where lines do not have it. */
  readonly byModel?: ReadonlyMap<string, ModelTally>;
  readonly rate: RateSeries;
  /** Cached blocks in the same buckets. */
  readonly cachedRate: RateSeries;
  /** Decisions for which a block was found, in buckets of their own. */
  readonly foundRate: RateSeries;
  readonly first: Origin;
  readonly last: Origin;
  /** Prompts whose lines report their tokens and those that the engine had cached; both summed, and over time. */
  readonly prompts: number;
  readonly promptTokens: number;
  readonly engineCachedTokens: number;
  readonly promptRate: RateSeries;
  /** In the same buckets. */
  readonly engineCachedRate: RateSeries;
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
  /** The same of the lines alone in which a request waited. */
  readonly usageWhileWaiting: Gauge | undefined;
  /** Lines in which prompts found nothing although half of the KV cache and more was free. */
  readonly missesWithRoom: number;
  /** Of the longest prompt that LMCache looked up; 0 where it looked up none. */
  readonly longestLookupTokens: number;
  readonly runningRequests: Gauge | undefined;
  readonly waitingRequests: Gauge | undefined;
  /** Absent where the data-parallel ranks of the engine share their requests, or where there is one alone. */
  readonly unevenRanks?: UnevenRanks<Origin>;
  readonly first: Origin;
  readonly last: Origin;
}

/** Lines at error level of which no rule made anything. */
export interface UnexplainedErrors {
  readonly count: number;
  /** True when there may be more: counting ended. */
  readonly isMore: boolean;
  readonly first: Origin;
  /** The most frequent kind of them, by one of its lines. */
  readonly most: { readonly count: number; readonly origin: Origin };
}

/** A sentence that names a fault by itself. */
export interface KnownFaultSighting {
  readonly fault: KnownFault;
  readonly count: number;
  readonly first: Origin;
  readonly firstLine: number;
  /** What the first line has in the places of its pattern. */
  readonly values: readonly string[];
  /** What of a line is the same in all of them. */
  readonly about: string;
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
  /** Who wrote lines, and how many of those that were looked at: the first 1,000, then a sample. */
  readonly programs: ReadonlyMap<LogProgram, number>;
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  readonly signals: ReadonlyMap<Signal, SignalTally>;
  /** Programs that ended, or had an error that ends one. Absent where there are none. */
  readonly failures?: readonly Failure[];
  /** Absent where there are none. */
  readonly knownFaults?: readonly KnownFaultSighting[];
  /** Absent where there are none. */
  readonly unexplainedErrors?: UnexplainedErrors;
  readonly decisions: DecisionTally | undefined;
  readonly costs: CostTally | undefined;
  readonly engine: EngineTally | undefined;
  /** Numbers that programs report as they start, and in warnings. At most 256 each. */
  readonly sizes: readonly SizeSighting[];
  readonly settings: readonly SettingSighting[];
}
