import type { LogLine } from './log-line.js';
import type { SettingName, Side, SizeBasis } from './sighting-words.js';
import type { Signal } from './signals.js';

/** What a rule says of a sign. */
export interface SignalDetails {
  /** Whom it is of: the writer of the line by default, empty where the line speaks of somebody whom it does not name. */
  readonly worker?: string | undefined;
  /** The numbers that it has. */
  readonly value?: string | undefined;
  /** What of the line is to be seen in the origin. */
  readonly about: string;
  readonly count?: number;
}

/** What a line of a known fault has. */
export interface KnownFaultDetails {
  /** Groups of its pattern. */
  readonly values: readonly (string | undefined)[];
  /** What of the line is to be seen in the origin. */
  readonly about: string;
  /** It holds where one of these marks stands a few lines above, or in the line itself. */
  readonly below?: readonly string[] | undefined;
  /** It does not hold where one of these marks stands a few lines above. */
  readonly notBelow?: readonly string[] | undefined;
  /** The line has what another program said, which other rules may know better. */
  readonly passesOn?: boolean | undefined;
}

/** A block size in a line; nothing is kept when `tokensPerBlock` is undefined. */
export interface SizeDetails {
  readonly side: Side;
  readonly who?: string | undefined;
  readonly tokensPerBlock: number | undefined;
  readonly basis: SizeBasis;
  readonly about: string;
}

/** A setting in a line; nothing is kept when its value is undefined or empty. */
export interface SettingDetails {
  readonly side: Side;
  readonly who?: string | undefined;
  readonly value: string | number | undefined;
  /** True when the line says that it was not set. */
  readonly isDefault?: boolean;
  /** Of several numbers the largest counts: an engine makes a small cache to measure, and then its own. */
  readonly keepsLargest?: boolean;
  readonly about: string;
}

/** A part of a KV cache. An engine has one, or one for each kind of its layers. */
export interface PoolDetails {
  readonly tokens: number | undefined;
  readonly bytes: number | undefined;
  readonly about: string;
}

/** The sentence of an error. */
export interface ErrorDetails {
  readonly sentence: string;
  /** What of the line is to be seen in the origin. */
  readonly about: string;
  /** True when the line is a sign of a fault already. */
  readonly isNamed?: boolean;
  /** The line says that a process has ended, at whatever level. */
  readonly isEnd?: boolean;
}

/** What lines beside that of a lack of room say of it: numbers of the same message, and what an engine did before. */
export interface RoomFacts {
  /** Tokens that a batch asks for, and those that are free and that count as evictable, of all layers and of those with a window. */
  readonly needed?: number | undefined;
  readonly free?: number | undefined;
  readonly evictable?: number | undefined;
  readonly windowFree?: number | undefined;
  readonly windowEvictable?: number | undefined;
  readonly isDecode?: boolean | undefined;
  /** TensorRT-LLM: the part that got no memory, with the GiB that were free and those of the GPU. */
  readonly component?: string | undefined;
  readonly freeGib?: string | undefined;
  readonly totalGib?: string | undefined;
  /** vLLM: what is left for the cache where that is less than nothing. */
  readonly missingGib?: string | undefined;
  /** vLLM: the longest sequence that fits. */
  readonly fittingTokens?: string | undefined;
  /** vLLM: what it takes off for CUDA graphs, by its estimate. */
  readonly graphsGib?: string | undefined;
  readonly isOnCpu?: boolean | undefined;
  /** vLLM: what turned its hybrid KV cache manager off: `the KV connector`, `KV events`. */
  readonly hybridOffBy?: string | undefined;
  /** What an engine takes memory for, by the place of a traceback. */
  readonly taking?: 'graphs' | 'cache' | 'weights' | undefined;
}

/** What an engine reports in one line; undefined for what it does not. */
export interface EngineReading {
  readonly promptTokens?: number | undefined;
  readonly cachedTokens?: number | undefined;
  /** Tokens that a lookup of a cache behind the engine found, and of those that were asked for the ones that came. */
  readonly lookedUpTokens?: number | undefined;
  readonly wantedTokens?: number | undefined;
  readonly retrievedTokens?: number | undefined;
  readonly prefixHitRate?: number | undefined;
  readonly kvCacheUsage?: number | undefined;
  readonly runningRequests?: number | undefined;
  readonly waitingRequests?: number | undefined;
  /** Of which data-parallel rank it is, where several report in one log. */
  readonly rank?: number | undefined;
}

/**
 * Which of a program's lines report a decision: `selected` with the cached
 * blocks, `routed` as the request ends, `best` at the debug level, `blind`
 * without mentioning the cache. One decision can have several.
 */
export type DecisionKind = 'selected' | 'routed' | 'best' | 'blind';

/** One routing decision. */
export interface Decision {
  readonly worker: string;
  readonly cachedBlocks: number | undefined;
  readonly treeSize: number | undefined;
  /**
   * What the router took for the load of the chosen worker with the request on it, in its own blocks: Dynamo's
   * `logit`, a weight times what is to be computed plus all that running sequences hold
   * (`lib/kv-router/src/scheduling/selector.rs`), and so no less than what they hold.
   */
  readonly loadBlocks?: number | undefined;
  /** The model that was asked for, where the line has it. */
  readonly model?: string | undefined;
}

/** A part of an engine that an argument switches off or replaces; `name` is of the one among several that was chosen. */
export interface EnginePart {
  readonly engine: 'vllm' | 'sglang';
  readonly part: 'speculation' | 'attention' | 'lora' | 'grammar' | 'eplb' | 'all_reduce';
  readonly name?: string;
}

/** Where rules put what they find in one log. All of it is bounded, whatever the log has. */
export interface LogFindings {
  /** The worker that a process says itself to be; empty before it does. */
  ownWorker: string;
  /** The mode of the last decision; empty before the first. */
  routerMode: string;
  addSignal(signal: Signal, line: LogLine, details: SignalDetails): void;
  /** A sentence that names a fault by itself, by the id of its row. Signs of the same line are not counted then. */
  addKnownFault(id: string, line: LogLine, details: KnownFaultDetails): void;
  /** A line that known faults of lines below it depend on: the head of a traceback, a place that it goes through. */
  addMark(mark: string, line: LogLine): void;
  /** A line whose words a line a few below lacks. */
  addWords(mark: string, line: LogLine): void;
  /** The words of the last of these lines, a few lines above at most, and a space; empty without one. */
  wordsAbove(marks: readonly string[] | undefined, line: LogLine): string;
  /** Whether a known fault has this line. */
  isKnown(line: LogLine): boolean;
  /** A line of a traceback, of a file that moves or keeps KV blocks or (`isOfCache` false) calls what does: what follows is read to its last line. */
  addFrame(line: LogLine, isOfCache?: boolean): void;
  /** The line has facts of a lack of room that a line nearby reports. */
  addRoomFacts(line: LogLine, facts: RoomFacts): void;
  /** What an engine takes memory for, by a traceback that ends in this line. */
  takenFor(line: LogLine): RoomFacts['taking'];
  /** The line has the place of a panic of Rust; its message stands in the next one. */
  addPanic(line: LogLine): void;
  /** The line says that a traceback begins whose exception stands below it. */
  addTraceback(): void;
  /** The exception of a traceback through such files that ended a few lines above; empty where there is none. */
  exceptionBefore(line: LogLine): string;
  /** What an error says of itself in the line above such a traceback. */
  addReason(line: LogLine, sentence: string): void;
  /** The line says that what a sign was of a worker has passed. */
  takeBack(signal: Signal, line: LogLine, worker: string | undefined): void;
  /** The line is of a standalone indexer. */
  addIndexer(line: LogLine): void;
  /** Whether a standalone indexer writes such lines: sizes in its warnings are its own. */
  isOfIndexer(line: LogLine): boolean;
  addDecision(kind: DecisionKind, line: LogLine, decision: Decision): void;
  /** How many blocks were cached for a request, by any of its ids. */
  addOverlap(ids: readonly string[], cachedBlocks: number): void;
  /** How long a request waited for its first token, by any of its ids. */
  addFirstToken(ids: readonly string[], firstTokenMs: number): void;
  /** Tokens of a prompt, and those that the engine had cached. */
  addPrompt(line: LogLine, promptTokens: number, cachedTokens: number, model?: string): void;
  /** What one candidate would have cost, and the weight of its overlap as it is written. */
  addCost(line: LogLine, cachedBlocks: number, overlapWeight: string | undefined): void;
  addSize(line: LogLine, details: SizeDetails): void;
  addSetting(line: LogLine, name: SettingName, details: SettingDetails): void;
  /** A worker starts: what one that served before said in this log is of no consequence any more. */
  addStart(line: LogLine): void;
  /** The cache has a pool for layers with a window, and one for the others. */
  addWindowPools(line: LogLine): void;
  /** A pool of a cache; ranks repeat it. */
  addPool(line: LogLine, details: PoolDetails): void;
  addEngineReading(line: LogLine, reading: EngineReading): void;
  /** An error that may be what ends a program. */
  addError(line: LogLine, details: ErrorDetails): void;
  /** The line says that a program does not start or has ended. */
  addEnd(line: LogLine, about: string): void;
  /** A frame of a traceback that goes up to where a program starts: it ends by the exception below. False where it only asks another one. */
  addEntry(line: LogLine, isServing?: boolean): void;
  /** A frame of a traceback within a part of an engine that an argument switches off or replaces. */
  addPart(line: LogLine, part: EnginePart): void;
  /** The line says that somebody stops the program. */
  addStop(line: LogLine): void;
}
