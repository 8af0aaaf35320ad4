import type { Fact } from '../../../core/contract/evidence/facts.js';
import type { SourceResult } from './probe-round.js';

/**
 * Rounds for which the last answer of a source that fell silent is kept. A
 * busy engine misses one; three in a row are no blip. Together with the
 * default probe interval that is half a minute.
 */
const KEPT_ROUNDS = 3;

/** What a source said when it last answered. */
interface LastAnswer {
  readonly facts: readonly Fact[];
  readonly warnings: readonly string[];
  /** Rounds since then in which it gave nothing. */
  readonly missedRounds: number;
}

/** The last answers by source. */
export type SourceMemory = ReadonlyMap<string, LastAnswer>;

/** Before the first round. */
export const EMPTY_MEMORY: SourceMemory = new Map();

/** What is known after a round, in the order of its sources. */
export interface Remembered {
  readonly memory: SourceMemory;
  readonly facts: readonly Fact[];
  readonly warnings: readonly string[];
}

/**
 * Brings a round together with what its sources said before. A source that
 * gave nothing this time keeps its last facts for `KEPT_ROUNDS` rounds, with a
 * warning, so that one slow answer does not take a worker out of its fleet. A
 * source that says it does not exist (`not_here`) is believed immediately.
 */
export function rememberRound(memory: SourceMemory, results: readonly SourceResult[]): Remembered {
  const next = new Map<string, LastAnswer>();
  const facts: Fact[] = [];
  const warnings: string[] = [];
  const silent: string[] = [];
  for (const { probe, origin, outcome } of results) {
    const key = JSON.stringify([probe, origin]);
    if (outcome.type === 'answered') {
      next.set(key, { facts: outcome.facts, warnings: outcome.warnings, missedRounds: 0 });
      facts.push(...outcome.facts);
      warnings.push(...outcome.warnings);
      continue;
    }
    const last = memory.get(key);
    if (last === undefined || outcome.code === 'not_here' || last.missedRounds >= KEPT_ROUNDS) continue;
    next.set(key, { ...last, missedRounds: last.missedRounds + 1 });
    facts.push(...last.facts);
    warnings.push(...last.warnings);
    silent.push(`${probe} (${origin})`);
  }
  // No count and no text of an error: the sentence stays the same while the silence lasts.
  if (silent.length > 0) {
    const isWhole = !results.some(({ outcome }) => outcome.type === 'answered');
    const who = isWhole ? 'the engine' : silent.join(', ');
    warnings.push(`${who} did not answer lately; what was last known is kept for now`);
  }
  const unanswered = unansweredGrpc(results);
  if (silent.length === 0 && unanswered !== undefined) warnings.push(unanswered);
  return { memory: next, facts, warnings };
}

const GRPC_ORIGIN = /^gRPC (\S+)\/[^/]+$/;

/** Somebody named an address of the engine's gRPC; where its HTTP says all, nobody would miss what that address does not say. */
function unansweredGrpc(results: readonly SourceResult[]): string | undefined {
  const grpc = results.filter(({ origin }) => GRPC_ORIGIN.test(origin));
  const [first] = grpc;
  if (first === undefined || grpc.some(({ outcome }) => outcome.type === 'answered')) return undefined;
  const address = GRPC_ORIGIN.exec(first.origin)?.[1];
  return `nothing that an engine's gRPC answers came from ${address}; name the engine's own gRPC by --engine-grpc, or leave it out`;
}
