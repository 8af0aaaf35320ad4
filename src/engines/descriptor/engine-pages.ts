import type { PageFindings } from '../diagnosis/page-findings.js';

/** A program by the families on its page of metrics. */
export interface PageProgram {
  /** `dynamo_frontend_`. */
  readonly prefix: string;
  /** As the report names the page: `dynamo-frontend`. */
  readonly program: string;
}

/** A metric, and the labels that its samples must have. */
export interface WantedSamples {
  readonly metric: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Counters of prompt tokens: those from the cache, and either all of them or those that were computed. */
export interface PromptTokenCounters {
  readonly cached: WantedSamples;
  readonly all?: WantedSamples;
  readonly computed?: WantedSamples;
  /** True where the page covers all workers of a fleet; it then comes before those of single workers. */
  readonly isOfFleet?: true;
}

/** What a router counts of the KV events that it gets: one metric, with the outcome in its labels. */
export interface AppliedEvents {
  readonly metric: string;
  /** A metric that is there from the start, where the other one is absent until it counts. */
  readonly countedWith?: string;
  readonly applied: Readonly<Record<string, string>>;
  readonly parentMissing: Readonly<Record<string, string>>;
  readonly removed: Readonly<Record<string, string>>;
  readonly removeMissing: Readonly<Record<string, string>>;
}

/**
 * What a router counts of prefixes that it looked up, by two of these: all of them, those that were found and those
 * that were not. Where only the found blocks are counted, it is known whether there was any.
 */
export interface RouterLookups {
  readonly all?: WantedSamples;
  readonly found?: WantedSamples;
  readonly missed?: WantedSamples;
  readonly foundBlocks?: WantedSamples;
}

/** A number of a page that is worth a word where the page is listed. */
export interface PageNote {
  readonly metric: string;
  /** What it counts: `ready pods`. */
  readonly says: string;
}

/** What a worker's publisher of KV events counts. */
export interface PublishedEvents {
  readonly received: WantedSamples;
  /** Stores that came with blocks and left with none. */
  readonly emptied: WantedSamples;
}

/** What an engine counts of KV blocks that another engine computed for it, or that it keeps for another. */
export interface TransferMetrics {
  /** Prompt tokens whose blocks came from another engine. */
  readonly arrived?: WantedSamples;
  /** Prompt tokens that the engine computed itself. */
  readonly computed?: WantedSamples;
  /** Counters of transfers and handshakes that failed. */
  readonly failed: readonly string[];
  /** Counters of requests whose blocks nobody fetched in time. */
  readonly expired: readonly string[];
  /** Histograms, without `_sum` and `_count`, of bytes and of seconds of each transfer. */
  readonly bytes?: string;
  readonly seconds?: string;
}

/** What goes through a frontend. */
export interface TrafficMetrics {
  /** Summaries, without `_sum` and `_count`. */
  readonly inputTokens: string;
  readonly outputTokens: string;
  readonly cachedTokens: string;
  readonly uptimeSeconds: string;
  /** A gauge above 0 for each worker between which it is divided. */
  readonly workers: string;
}

/** How the doctor reads an engine's pages of metrics: their families, by exact names. */
export interface EnginePages {
  /** How a page is recognised, the most specific first. */
  readonly programs: readonly PageProgram[];
  /** The metrics that are kept, by exact name. All others are passed over as they come. */
  readonly wanted: readonly string[];
  /** Reads block sizes and settings. */
  read(found: PageFindings): void;
  readonly promptTokens?: readonly PromptTokenCounters[];
  /** Gauges of the share of prompts that the cache had, 0 to 1. */
  readonly hitGauges?: readonly string[];
  /** Counters of requests that lost their blocks to others. */
  readonly preemptions?: readonly string[];
  /** Gauges of the share of KV memory in use, 0 to 1. */
  readonly cacheUsage?: readonly string[];
  /** Gauges of requests that run at a time on one worker, or in a whole frontend. */
  readonly running?: readonly string[];
  readonly waiting?: readonly string[];
  /** Summaries of prompt and answer tokens of a request, without `_sum` and `_count`. */
  readonly sequenceTokens?: { readonly prompt: string; readonly answer: string };
  /** Summaries, without `_sum` and `_count`, of the share of each prompt that a router expected to be cached, 0 to 1. */
  readonly routerHitRates?: readonly string[];
  readonly routerLookups?: readonly RouterLookups[];
  /** The same of a router that guesses by what it sent where: no proof that an engine still has it. */
  readonly guessedLookups?: readonly RouterLookups[];
  readonly notes?: readonly PageNote[];
  /** The first that is on the page counts. */
  readonly appliedEvents?: readonly AppliedEvents[];
  readonly publishedEvents?: PublishedEvents;
  /** Counters of KV events that were dropped. */
  readonly droppedEvents?: readonly string[];
  readonly traffic?: TrafficMetrics;
  readonly transfers?: TransferMetrics;
}

/** Names with what stands in front of each of them. */
export function withPrefix(prefix: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${prefix}${name}`);
}
