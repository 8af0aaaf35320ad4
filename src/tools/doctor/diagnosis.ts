import type { CauseId, Disturbance } from './cause-ids.js';
import type { Origin } from './evidence.js';
import type { MemoryArithmetic } from './memory/memory-arithmetic.js';

export { CAUSES, type CauseId } from './cause-ids.js';

/** `certain`: the numbers themselves were seen and contradict each other. `likely`: its signature was seen. `possible`: one sign of it. */
export type Confidence = 'certain' | 'likely' | 'possible';

/** Something that speaks for or against a cause. */
export interface Clue {
  /** One sentence with the real numbers. */
  readonly says: string;
  readonly origin: Origin | undefined;
}

/** A change that would fix it. The doctor never applies anything. */
export interface ProposedFix {
  /** One line: `Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend`. */
  readonly says: string;
  /** Why this and not another, with what it costs. */
  readonly why: string;
  /** What has to be restarted for it, from the least. */
  readonly disturbs: Disturbance;
  /** Files as they would be, for diffs and `--write-plan`. */
  readonly files: readonly { readonly file: string; readonly before: string; readonly after: string }[];
  /** Commands that a person would run, each one line. */
  readonly commands: readonly string[];
  /** How to check that it is fixed: commands and what they should show. */
  readonly verify: readonly string[];
}

/** One cause, rated. */
export interface Assessment {
  readonly cause: CauseId;
  readonly confidence: Confidence;
  /** One line with the real names and numbers: the verdict, when this is the first. */
  readonly headline: string;
  /** What happens at run time, and why nothing reports it. */
  readonly explanation: string;
  readonly cluesFor: readonly Clue[];
  readonly cluesAgainst: readonly Clue[];
  /** The best first: by evidence, and by how little it disturbs. */
  readonly fixes: readonly ProposedFix[];
  /** True where it may well be what somebody wants: as long as it is `possible`, it is reported, and is no finding. */
  readonly mayBeMeant?: boolean;
}

/** One question of an investigation, with its answer or with what is missing for one. */
export interface CheckResult {
  /** In snake_case: `event_transport`. */
  readonly id: string;
  readonly asks: string;
  /** With its numbers; undefined when it could not be answered. */
  readonly answer: string | undefined;
  readonly origin: Origin | undefined;
  /** Why not: which input is missing, and how to give it. */
  readonly missing: string | undefined;
}

/** How routing went, where any source reports it. */
export interface RoutingSummary {
  readonly decisions: number;
  readonly decisionsByWorker: ReadonlyMap<string, number>;
  /** Mean of what the router expected to be cached, 0 to 1. */
  readonly routerHitRate: number | undefined;
  /** Share of prompt tokens that engines really had, 0 to 1. */
  readonly engineHitRate: number | undefined;
  /** Seconds to the first token, first turns and follow-ups, where logs report both. */
  readonly firstTokenSeconds: { readonly cold: number | undefined; readonly warm: number | undefined };
}

/** The answer. */
export interface Diagnosis {
  /** `healthy`: enough was seen to say so. `unknown`: not enough was seen, and `unknowns` says what is missing. */
  readonly verdict: 'healthy' | 'findings' | 'unknown';
  /** One line. */
  readonly headline: string;
  /** The one thing to do, one line. */
  readonly advice: string;
  /** Ranked; the first is the verdict's. */
  readonly assessments: readonly Assessment[];
  /** Ways to leave more of the cache to prefixes, the one that brings most first, beside a finding of another kind. */
  readonly options: readonly ProposedFix[];
  /** What could not be determined, and which source would show it. */
  readonly unknowns: readonly string[];
  /** The questions of an investigation, whatever the cause: each answered, or with what is missing. */
  readonly checks: readonly CheckResult[];
  readonly routing: RoutingSummary | undefined;
  readonly memory: readonly MemoryArithmetic[];
}
