import type { Fact } from '../../../core/contract/evidence/facts.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { watchDeadline } from '../../../edge/platform/time/deadline.js';
import { onAbort, shareSignal } from '../../../edge/platform/time/on-abort.js';
import {
  type EngineProbe,
  ProbeError,
  type ProbeErrorCode,
  type ProbeModules,
  type ProbeTarget,
} from '../../../engines/probing/probe.js';
import type { EngineKind, ProbeOutcome } from '../../../gen/kvaccord/v1/capabilities.js';
import { boundRequests, MAX_REQUESTS_IN_FLIGHT } from './bounded-requests.js';

/**
 * Milliseconds that one source has for its answer. A busy engine answers
 * `/metrics` in some hundred milliseconds; what takes longer than five
 * seconds has a problem, and the other sources of the round wait for it.
 * @internal
 */
export const PROBE_TIMEOUT_MS = 5_000;

/** Facts of one source that are kept; a probe bounds its own at the same number. */
const MAX_FACTS_PER_SOURCE = 8_192;
/** Warnings of one source that are kept, and the longest text of one. */
const MAX_WARNINGS_PER_SOURCE = 32;
const MAX_TEXT_CHARS = 512;

/** What one source came to in one round. */
export interface SourceResult {
  /** The probe's name. */
  readonly probe: string;
  /** What was asked; together with `probe` unique in a round. */
  readonly origin: string;
  /** The engine that this source belongs to; undefined where any may have it. */
  readonly engineKind: EngineKind | undefined;
  readonly durationMs: number;
  readonly outcome:
    | { readonly type: 'answered'; readonly facts: readonly Fact[]; readonly warnings: readonly string[] }
    | { readonly type: 'failed'; readonly code: ProbeErrorCode; readonly message: string };
}

/** One pass over all sources, in the order of targets and probes, not of the answers. */
export interface ProbeRound {
  readonly results: readonly SourceResult[];
  /** Requests that the engine saw. */
  readonly requestsSent: number;
}

export interface ProbeRoundOptions {
  readonly probes: readonly EngineProbe[];
  /** Several when data-parallel frontends have an address each. */
  readonly targets: readonly ProbeTarget[];
  /** Default 5,000. */
  readonly timeoutMs?: number;
  /** At one port of the engine; default 4. */
  readonly maxInFlight?: number;
}

/** A source in a round: one probe that has something to ask at one target. */
interface Source {
  readonly probe: EngineProbe;
  readonly target: ProbeTarget;
  readonly origin: string;
}

/** What has something to ask, each only once: two targets may share a gRPC address. */
function sourcesOf({ probes, targets }: ProbeRoundOptions): Source[] {
  const sources = new Map<string, Source>();
  for (const target of targets) {
    for (const probe of probes) {
      const origin = probe.origin(target);
      if (origin === undefined) continue;
      const key = JSON.stringify([probe.name, origin]);
      if (!sources.has(key)) sources.set(key, { probe, target, origin });
    }
  }
  return [...sources.values()];
}

/**
 * Asks every source side by side. One that fails, hangs or throws is reported
 * in its result and the others go on. Never rejects; when `signal` aborts,
 * what has not answered is given up.
 */
export async function runProbeRound(
  options: ProbeRoundOptions,
  modules: ProbeModules,
  signal: AbortSignal,
): Promise<ProbeRound> {
  const timeoutMs = options.timeoutMs ?? PROBE_TIMEOUT_MS;
  const round = new AbortController();
  // Every source listens to it.
  shareSignal(round.signal);
  const leave = onAbort(signal, () => round.abort());
  const bounded = boundRequests(modules, round.signal, options.maxInFlight ?? MAX_REQUESTS_IN_FLIGHT);
  try {
    const results = await Promise.all(
      sourcesOf(options).map((source) => ask(source, bounded.modules, round.signal, timeoutMs)),
    );
    return { results, requestsSent: bounded.requestsSent() };
  } finally {
    leave();
    round.abort();
  }
}

/** One source, with a time-out of its own that does not rely on the probe to obey its signal. */
async function ask(
  source: Source,
  modules: ProbeModules,
  roundSignal: AbortSignal,
  timeoutMs: number,
): Promise<SourceResult> {
  const { probe, target, origin } = source;
  const startMs = modules.clock.monotonicMs();
  const own = new AbortController();
  const finish = (outcome: SourceResult['outcome']): SourceResult => ({
    probe: probe.name,
    origin,
    engineKind: probe.engineKind,
    durationMs: modules.clock.monotonicMs() - startMs,
    outcome,
  });
  let giveUp: (reason: string) => void = () => {};
  const givenUp = new Promise<never>((_resolve, reject) => {
    giveUp = (reason) => {
      reject(new ProbeError('timeout', origin, reason));
      own.abort();
    };
  });
  // Whether a caller waits for it or not, this refusal is never "unhandled".
  givenUp.catch(() => {});
  const stopWatching = watchDeadline({ timeoutMs, signal: roundSignal }, modules, (why) =>
    giveUp(
      why === 'timeout'
        ? `no answer within ${timeoutMs} ms`
        : 'given up: the time of this probe round is over',
    ),
  );
  try {
    const answer = await Promise.race([givenUp, probe.probe(target, modules, own.signal)]);
    return finish({
      type: 'answered',
      facts: answer.facts.slice(0, MAX_FACTS_PER_SOURCE),
      warnings: (answer.warnings ?? []).slice(0, MAX_WARNINGS_PER_SOURCE).map(cut),
    });
  } catch (thrown) {
    return finish(asFailure(thrown, origin));
  } finally {
    stopWatching();
    own.abort();
  }
}

function cut(text: string): string {
  return text.slice(0, MAX_TEXT_CHARS);
}

function asFailure(thrown: unknown, origin: string): SourceResult['outcome'] {
  if (thrown instanceof ProbeError)
    return { type: 'failed', code: thrown.code, message: cut(thrown.message) };
  // Anything else is a fault of the probe: an answer of a shape that it did not foresee.
  return {
    type: 'failed',
    code: 'bad_answer',
    message: cut(`${origin}: could not be understood (${describeError(thrown)})`),
  };
}

/**
 * The wire's form of a round. Sources of other engines that were not there
 * are left out once something answered: they would only bury the others.
 */
export function toProbeOutcomes(results: readonly SourceResult[]): ProbeOutcome[] {
  const kinds = new Set(
    results.flatMap((each) => (each.outcome.type === 'answered' ? [each.engineKind] : [])),
  );
  return results
    .filter(
      ({ outcome, engineKind }) =>
        outcome.type === 'answered' ||
        outcome.code !== 'not_here' ||
        kinds.size === 0 ||
        engineKind === undefined ||
        kinds.has(engineKind),
    )
    .map(({ probe, origin, outcome }) =>
      outcome.type === 'answered'
        ? { probe, origin, answered: true, factCount: outcome.facts.length, error: '' }
        : { probe, origin, answered: false, factCount: 0, error: outcome.message },
    );
}
