/**
 * The view: what a process that follows a fleet shows to people who leave a page or a terminal open. It is JSON, sent
 * whole (`GET /api/v1/view`) and then in changes (`GET /api/v1/view/events`, `kvaccord.v1.View/Watch`). All texts are
 * plain text from anywhere: control characters are escaped by JSON, and nothing in them is markup. Tokens, blocks and
 * requests are counts; times of day are milliseconds since 1970 (`…AtMs`), durations milliseconds (`…Ms`).
 */

/** How good something is; each is also said in words. */
export type ViewTone = 'good' | 'warn' | 'bad' | 'plain';

/** Everything that is shown, at one moment. */
export interface ViewDocument {
  /** Grows when a field changes its meaning; new fields leave it as it is. */
  readonly version: 1;
  /** Of this start of the process: after another one, what was kept of it counts no more. */
  readonly processId: string;
  /** Grows by one with each delta. */
  readonly sequence: number;
  readonly atMs: number;
  readonly process: ViewProcess;
  readonly headline: { readonly text: string; readonly tone: ViewTone };
  /** By name, at most 200. */
  readonly models: readonly ViewModel[];
  /** In no order; at most 10,000, the worst kept. */
  readonly workers: readonly ViewWorker[];
  /** How many there are, those that are left out as well. */
  readonly workerCount: number;
  /** Numbers of workers, of those that have any. */
  readonly loads: readonly ViewLoadRow[];
  /** What caches hold, of those that hold anything. */
  readonly holdings: readonly ViewHoldingRow[];
  /** One for each model that was routed. */
  readonly routing: readonly ViewRouting[];
  /** The last 50, oldest first. */
  readonly decisions: readonly ViewDecision[];
  /** The last 1,000, oldest first. */
  readonly timeline: readonly ViewEntry[];
}

/** What the process is, and what it sees. */
export interface ViewProcess {
  /** `kv-accord aggregator`, `kv-accord frontend`. */
  readonly title: string;
  readonly productVersion: string;
  readonly startedAtMs: number;
  /** Whether requests are routed here: without, `routing` and `decisions` stay empty. */
  readonly routes: boolean;
  /** What is not in this view and why, for an operator: `requests that other routers decide`. */
  readonly notes: readonly string[];
}

/** One served model. */
export interface ViewModel {
  readonly group: string;
  readonly state: 'collecting' | 'agreed' | 'conflict';
  readonly epoch: number;
  readonly isGateOpen: boolean;
  readonly isReady: boolean;
  readonly tone: ViewTone;
  /** Undefined while nothing is agreed. */
  readonly tokensPerBlock?: number;
  /** An operator set the block size. */
  readonly isOverride: boolean;
  /** `closed`, `exact`, `mixed`, `approximate`, `load_only`, and why. */
  readonly routingMode: string;
  readonly routingReason: string;
  /** Why the gate is shut, and what to do; empty while it is open. */
  readonly reasons: readonly { readonly code: string; readonly text: string }[];
  /** Who was missing when the gate opened; empty when nobody is. */
  readonly partialReason: string;
  /** Members by `ViewWorker.shown`; those with none are left out. */
  readonly counts: Readonly<Record<string, number>>;
  readonly memberCount: number;
  /** Workers that get no requests although all should. */
  readonly keptOutCount: number;
}

/** One worker; what changes with every request is in `loads`. */
export interface ViewWorker {
  /** Its number in this view, as long as it is listed; `loads`, `holdings` and the paths of the API name it by this. */
  readonly id: number;
  /** Its model; empty where no report has named one. */
  readonly group: string;
  /** Its address in discovery. */
  readonly target: string;
  /** Its own name; empty where none is known. */
  readonly workerId: string;
  readonly instanceId: string;
  /** `ejected`, or the member's state: `discovered`, `incomplete`, `reported`, `conforming`, `verified`, `dissenting`, `draining`, `lost`. */
  readonly shown: string;
  readonly tone: ViewTone;
  /** Smaller is worse; sorts a table so that what a person has to act on comes first. */
  readonly rank: number;
  /** Whether it gets requests; `none here`: the agreement offers it, and the router of this process sends it none. */
  readonly requests: 'yes' | 'load only' | 'tries' | 'none here' | 'no';
  /** What is wrong, and what to do; empty when nothing is. At most 1,000 characters. */
  readonly why: string;
  readonly tokensPerBlock?: number;
  readonly rehashedTokensPerBlock?: number;
  readonly declaredTokensPerBlock?: number;
  /** Where the block size was read, such as `engine_metrics`; and its raw text, at most 200 characters. */
  readonly source?: string;
  readonly evidence?: string;
  /** `exact`, `partial`, `approximate`, `doubted`, `stale`, `none`; undefined where no index follows it. */
  readonly cacheView?: string;
  readonly cacheViewReason?: string;
  /** `vLLM`, `SGLang`, …; undefined before its report. */
  readonly engine?: string;
  readonly engineVersion?: string;
  /** `aggregated`, `prefill`, `decode`; undefined where it has none. */
  readonly role?: string;
  readonly node?: string;
  readonly rack?: string;
  readonly zone?: string;
  /** `8 x NVIDIA H100`. */
  readonly gpus?: string;
  readonly gpuCount?: number;
  /** The NVLink fabric, `cluster.clique`. */
  readonly fabric?: string;
  /** State of the canary, and why: `passed`, `failed`, …. */
  readonly canary?: string;
  readonly canaryReason?: string;
}

/**
 * Numbers of one worker since it joined its model, by the names of `LOAD_COLUMNS`; the first one is `ViewWorker.id`.
 * A row without a request is left out; of a worker whose row is missing, all numbers are 0.
 */
export type ViewLoadRow = readonly number[];

/** What the places of a `ViewLoadRow` say. New ones come at the end. */
export const LOAD_COLUMNS = [
  'id',
  'activeRequests',
  'activeBlocks',
  'prefillingTokens',
  /** Requests that it was chosen for. */
  'decisions',
  'firstTokens',
  /** Summed over those. */
  'firstTokenMs',
  'promptTokens',
  'outputTokens',
  'failedRequests',
  'ejections',
  /** Results: requests whose engine reported its count, and tokens. */
  'results',
  'predictedTokens',
  'reportedTokens',
  'overTokens',
  'underTokens',
  'contradictions',
] as const;

/** What the cache of one worker holds, all ranks together, by the names of `HOLDING_COLUMNS`. */
export type ViewHoldingRow = readonly number[];

/** What the places of a `ViewHoldingRow` say. `stored` and `removed` count blocks since the epoch began: growth and churn. */
export const HOLDING_COLUMNS = [
  'id',
  'deviceBlocks',
  'hostBlocks',
  'diskBlocks',
  'externalBlocks',
  'stored',
  'removed',
] as const;

/** The last minutes of one model, in buckets. */
export interface ViewRouting {
  readonly group: string;
  /** Width of a bucket: 10,000. */
  readonly bucketMs: number;
  /** At most 90 that have anything, oldest first; the last one is still filled. */
  readonly buckets: readonly ViewBucket[];
}

/** What happened within one bucket's time. */
export interface ViewBucket {
  /** When it began; a multiple of `bucketMs` after the first. */
  readonly atMs: number;
  readonly decisions: number;
  /** Requests that ended with a first token or a usage. */
  readonly finished: number;
  /** Prompt tokens of those whose length is known. */
  readonly promptTokens: number;
  /** Cached prompt tokens: what the best worker held, what the chosen one held, what engines reported. */
  readonly bestTokens: number;
  readonly chosenTokens: number;
  readonly engineTokens: number;
  readonly outputTokens: number;
  /** By reason: requests and tokens. */
  readonly lost: Readonly<Record<string, readonly [requests: number, tokens: number]>>;
  /** From the decision to the first token; absent where there was none. */
  readonly firstTurn?: ViewDurations;
  readonly followUp?: ViewDurations;
  /** Failed requests by what was seen. */
  readonly failures: Readonly<Record<string, number>>;
  readonly ejections: number;
  /** The index at the end of the bucket: different blocks; and blocks stored and removed within it. */
  readonly indexBlocks: number;
  readonly storedBlocks: number;
  readonly removedBlocks: number;
  /** Requests that no worker could be chosen for. */
  readonly refused: number;
}

/** Durations of many requests: how many, their mean, and quantiles with an error of at most 10 %. */
export interface ViewDurations {
  readonly count: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
}

/** One decision. It is sent again, with the same `id`, when its outcome is known. */
export interface ViewDecision {
  readonly id: number;
  readonly atMs: number;
  readonly group: string;
  readonly epoch: number;
  readonly worker: string;
  /** `ViewWorker.id`; undefined where it left. */
  readonly workerNumber?: number;
  /** Data-parallel rank; absent where the worker has one. */
  readonly dataParallelRank?: number;
  readonly promptTokens?: number;
  readonly promptBlocks: number;
  /** Leading blocks that the chosen worker holds, and that the best one held. */
  readonly cachedBlocks: number;
  readonly bestBlocks: number;
  /** `exact`, `mixed`, `approximate`, `load_only`. */
  readonly routingMode: string;
  readonly turn: 'first' | 'follow_up';
  /** Why it was chosen, in words. */
  readonly why: string;
  /** See `LOST_REASONS`; absent where nothing was lost. */
  readonly lostReason?: string;
  /** The cheapest 8 of all, and the chosen one and the best holder where they are not among those. */
  readonly candidates: readonly ViewCandidate[];
  readonly candidateCount: number;
  /** What came of it. */
  readonly firstTokenMs?: number;
  readonly engineTokens?: number;
  readonly outputTokens?: number;
  /** Such as `unreachable`; absent while it did not fail. */
  readonly failure?: string;
  readonly isOver: boolean;
}

/** A rank that could have been chosen. */
export interface ViewCandidate {
  readonly worker: string;
  readonly dataParallelRank?: number;
  /** Leading blocks of the prompt that it holds, in any tier. */
  readonly cachedBlocks: number;
  /** Blocks of its requests with this one. */
  readonly activeBlocks: number;
  readonly prefillBlocks: number;
  /** Lower is better. */
  readonly cost: number;
  readonly isChosen: boolean;
}

/** What kinds of entries the timeline has. */
export const ENTRY_KINDS = [
  'process_started',
  'epoch',
  'gate_open',
  'gate_shut',
  'conflict',
  'conflict_over',
  'routing_mode',
  'partial',
  'joined',
  'left',
  'restarted',
  'lost',
  'back',
  'draining',
  'dissent',
  'conforms',
  'report_refused',
  'ejected',
  'returned',
  'doubted',
  'trusted',
  'canary_failed',
  'model_gone',
  'notice',
] as const;

/** One of `ENTRY_KINDS`. */
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** One thing that happened. */
export interface ViewEntry {
  /** Grows by one. */
  readonly id: number;
  readonly atMs: number;
  readonly kind: EntryKind;
  readonly tone: ViewTone;
  /** Its model; empty where it is about none. */
  readonly group: string;
  /** Name of the worker that it is about, or of the first ones of several; empty where it is about none. */
  readonly worker: string;
  /** `ViewWorker.id`; absent where it left or it is about several. */
  readonly workerNumber?: number;
  /** How many workers it is about, where it is more than one. */
  readonly workerCount?: number;
  /** What happened. At most 2,000 characters. */
  readonly text: string;
  /** What to do; empty where there is nothing to do. */
  readonly todo: string;
}

/** What changed since the document or delta before. A field that is absent is unchanged. */
export interface ViewDelta {
  readonly processId: string;
  /** One more than that of the document or delta that it changes. */
  readonly sequence: number;
  readonly atMs: number;
  readonly headline?: ViewDocument['headline'];
  readonly process?: ViewProcess;
  readonly models?: readonly ViewModel[];
  /** New ones, and those that changed, whole. */
  readonly workers?: readonly ViewWorker[];
  /** Ids of workers that are gone, and their rows with them. */
  readonly gone?: readonly number[];
  readonly workerCount?: number;
  readonly loads?: readonly ViewLoadRow[];
  readonly holdings?: readonly ViewHoldingRow[];
  /** Buckets that are new or changed, by model; a model that is gone has `buckets` empty. */
  readonly routing?: readonly ViewRouting[];
  /** New ones, and those whose outcome is known now. */
  readonly decisions?: readonly ViewDecision[];
  readonly timeline?: readonly ViewEntry[];
}

/** The most that a document holds. */
export const VIEW_LIMITS = {
  /** More models than any fleet has; each is a line. */
  models: 200,
  /** A page of 10,000 rows is 6 MB; the worst come first. */
  workers: 10_000,
  timeline: 1_000,
  decisions: 50,
  candidates: 8,
  /** 15 minutes of 10 s. */
  buckets: 90,
  bucketMs: 10_000,
  whyChars: 1_000,
  entryChars: 2_000,
  nameChars: 256,
} as const;
