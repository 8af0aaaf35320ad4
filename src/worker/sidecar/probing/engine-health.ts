import type { Fact, FieldFact } from '../../../core/contract/evidence/facts.js';
import type { ProbeErrorCode } from '../../../engines/probing/probe.js';
import { EngineState, EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';
import type { SourceResult } from './probe-round.js';

/**
 * Rounds without any answer after which a ready engine counts as down. One
 * that computes a long prompt may miss a round or two; the rounds follow each
 * other fast once one was missed.
 */
const MAX_SILENT_ROUNDS = 3;
/**
 * Refused rounds after which a ready engine counts as down. No process listens any
 * more, which a busy engine never shows; the second round rules out a restart
 * of only the network in between.
 */
const MAX_REFUSED_ROUNDS = 2;

/** How an engine stands after a round. */
export interface EngineHealth {
  readonly state: EngineState;
  /** Why it is not ready, in words that name the address; empty when it is. */
  readonly problems: readonly string[];
  /** Rounds in a row in which nothing answered. */
  readonly silentRounds: number;
  /** The same, of which every source was refused. */
  readonly refusedRounds: number;
}

/** Before anything was asked. */
export const NOT_YET_ASKED: EngineHealth = {
  state: EngineState.STARTING,
  problems: ['the engine has not been asked yet'],
  silentRounds: 0,
  refusedRounds: 0,
};

const LIVE_SOURCES: ReadonlySet<EvidenceSource> = new Set([
  EvidenceSource.OBSERVED_EVENT,
  EvidenceSource.ENGINE_RPC,
  EvidenceSource.ENGINE_HTTP,
  EvidenceSource.ENGINE_METRICS,
]);

/** Nothing came back. */
const SILENT: ReadonlySet<ProbeErrorCode> = new Set(['unreachable', 'no_connection', 'timeout']);

/** Whether the running engine itself said so, and not a file or the operator. */
function isLive(fact: Fact): boolean {
  return LIVE_SOURCES.has(fact.evidence.source);
}

/** What the engine said about its own state, the most reluctant first; undefined when it did not. */
function statedProblem(facts: readonly Fact[]): FieldFact | undefined {
  return facts.find(
    (fact): fact is FieldFact =>
      fact.type === 'field' &&
      fact.field === 'engine.state' &&
      isLive(fact) &&
      fact.value !== EngineState.READY &&
      fact.value !== EngineState.UNSPECIFIED,
  );
}

/** At most three messages: a person needs the first, and the probes' outcomes hold them all. */
function sampleOf(messages: readonly string[]): string {
  return [...new Set(messages)].slice(0, 3).join('; ');
}

/**
 * Judges a round. The engine is
 * - ready when it gave facts and said nothing to the contrary, or when files
 *   alone were to be asked and gave facts; a single round
 *   in which nothing answered does not change that (see the two limits above);
 * - starting while something answers at its address that gives no facts yet,
 *   or that says itself that it is not ready;
 * - unreachable when nothing answers.
 *
 * `address` is where it was asked, for people.
 */
export function judgeRound(
  previous: EngineHealth,
  results: readonly SourceResult[],
  address: string,
): EngineHealth {
  const answered = results.flatMap(({ outcome }) => (outcome.type === 'answered' ? outcome.facts : []));
  const failures = results.flatMap(({ outcome }) => (outcome.type === 'failed' ? [outcome] : []));
  const stated = statedProblem(answered);
  if (stated !== undefined) return answers(EngineState.STARTING, [notReady(stated, address)]);
  if (answered.some(isLive)) return answers(EngineState.READY, []);
  // Only files were named, and all of them answered: no other source could say more, or no.
  if (answered.length > 0 && failures.length === 0) return answers(EngineState.READY, []);

  const notReadyYet = failures.filter(({ code }) => code === 'not_ready');
  if (notReadyYet.length > 0) {
    const said = sampleOf(notReadyYet.map(({ message }) => message));
    return answers(EngineState.STARTING, [`the engine at ${address} is not ready yet: ${said}`]);
  }
  const silent = failures.filter(({ code }) => SILENT.has(code));
  if (silent.length === 0) {
    const said = failures.length === 0 ? 'there is nothing to ask' : sampleOf(failures.map((f) => f.message));
    return answers(EngineState.STARTING, [
      `nothing at ${address} answers like an engine that kv-accord knows: ${said}`,
    ]);
  }

  const silentRounds = previous.silentRounds + 1;
  const refused = silent.every(({ code }) => code === 'unreachable');
  const refusedRounds = refused ? previous.refusedRounds + 1 : 0;
  const blip =
    previous.state === EngineState.READY &&
    silentRounds < MAX_SILENT_ROUNDS &&
    refusedRounds < MAX_REFUSED_ROUNDS;
  if (blip) return { state: previous.state, problems: [], silentRounds, refusedRounds };
  const said = sampleOf(silent.map(({ message }) => message));
  return {
    state: EngineState.UNREACHABLE,
    problems: [`cannot reach the engine at ${address}: ${said}`],
    silentRounds,
    refusedRounds,
  };
}

function answers(state: EngineState, problems: readonly string[]): EngineHealth {
  return { state, problems, silentRounds: 0, refusedRounds: 0 };
}

function notReady(stated: FieldFact, address: string): string {
  const { origin, raw } = stated.evidence;
  return `the engine at ${address} says that it is not ready (${origin}: ${raw})`;
}
