import type { Fact, FactFields } from '../../../core/contract/evidence/facts.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { EngineKind, ProbeOutcome } from '../../../gen/kvaccord/v1/capabilities.js';

/** Milliseconds between two attempts at an engine that did not answer. */
const RETRY_MS = 30_000;
/** Attempts for one engine start; after that what was not learned stays unknown until it restarts. */
const MAX_ATTEMPTS = 5;

/** The engine start that is asked. */
export interface ProbedEngine {
  readonly instanceId: string;
  readonly kind: EngineKind;
  /** The name of the base model. */
  readonly model: string;
  readonly httpBaseUrl: string;
  /** What its sources, and the operator, say of it so far. */
  readonly known: Partial<FactFields>;
}

/** What is learned of one engine start beyond what every probe round reads. */
export interface LearnedFacts {
  readonly facts: readonly Fact[];
  readonly probes: readonly ProbeOutcome[];
}

/** What is known of an engine start; asks a ready engine where nothing is yet. Never rejects. */
export type LearnFacts = (engine: ProbedEngine, signal: AbortSignal) => Promise<LearnedFacts>;

/** What one attempt found. */
export interface LearnAttempt extends LearnedFacts {
  /** It stays so until the engine restarts. */
  readonly isFinal: boolean;
}

const NOTHING: LearnedFacts = { facts: [], probes: [] };

export interface LearnOnceModules {
  readonly clock: Clock;
  /** Asks the engine; undefined where nothing can be asked of it, which counts as no attempt. Must not reject. */
  readonly attempt: (engine: ProbedEngine, signal: AbortSignal) => Promise<LearnAttempt | undefined>;
}

/** Asks once for each start of an engine, and a few times more while it does not answer. */
export function learnOnce({ clock, attempt }: LearnOnceModules): LearnFacts {
  let instanceId = '';
  let attempts = 0;
  let retryAtMs = 0;
  let learned = NOTHING;
  let isFinal = false;
  return async (engine, signal) => {
    if (engine.instanceId !== instanceId) {
      ({ instanceId } = engine);
      attempts = 0;
      retryAtMs = 0;
      learned = NOTHING;
      isFinal = false;
    }
    if (isFinal || attempts >= MAX_ATTEMPTS || clock.monotonicMs() < retryAtMs) return learned;
    const found = await attempt(engine, signal);
    if (found === undefined) return learned;
    ({ isFinal, ...learned } = found);
    attempts += 1;
    retryAtMs = clock.monotonicMs() + RETRY_MS;
    return learned;
  };
}

/** What several parts learned, in their order. */
export function learnAll(parts: readonly LearnFacts[]): LearnFacts {
  return async (engine, signal) => {
    const facts: Fact[] = [];
    const probes: ProbeOutcome[] = [];
    for (const learn of parts) {
      const learned = await learn(engine, signal);
      facts.push(...learned.facts);
      probes.push(...learned.probes);
    }
    return { facts, probes };
  };
}
