import {
  type BlockSize,
  type Conflict,
  type Evidence,
  EvidenceSource,
  type KvEventSource,
  type ServingAddress,
  type SideChannel,
} from '../../../gen/kvaccord/v1/capabilities.js';
import { blockSizeKindName, evidenceSourceName } from '../wire/names.js';
import type { CacheGroup } from './cache-groups.js';
import { checkEventSources, type EventSourceProblem } from './event-source-check.js';
import type { BlockSizeFact, Fact, FactEvidence, FactField, FactFields, FieldFact } from './facts.js';
import { describeSize, evidenceRank, isTokensPerBlock, judgeTokensPerBlock } from './tokens-per-block.js';

/** Longest raw text that is kept as evidence. */
export const MAX_RAW_CHARS = 512;
/** Block sizes in one report; real engines give fewer than ten. */
const MAX_BLOCK_SIZES = 64;

/** Everything that the sources come to, each value with its evidence. */
export interface ResolvedFacts {
  readonly fields: Partial<FactFields>;
  /** Absent when no source can say, or when `problems` says why none is believed. */
  readonly tokensPerBlock?: number;
  readonly blockSizes: readonly BlockSize[];
  readonly evidence: readonly Evidence[];
  readonly conflicts: readonly Conflict[];
  /** Why the report is incomplete, in words for an operator. */
  readonly problems: readonly string[];
  /** Values that were left out and that nothing depends on. */
  readonly warnings: readonly string[];
}

/** The wire's form of one piece of evidence. */
function toEvidence(field: string, evidence: FactEvidence): Evidence {
  return {
    field,
    source: evidence.source,
    origin: evidence.origin.slice(0, MAX_RAW_CHARS),
    raw: evidence.raw.slice(0, MAX_RAW_CHARS),
    observedAt: new Date(evidence.observedAtMs),
  };
}

function toConflict(
  field: string,
  kept: { value: unknown; evidence: FactEvidence },
  other: { value: unknown; evidence: FactEvidence },
): Conflict {
  return {
    field,
    keptValue: String(kept.value).slice(0, MAX_RAW_CHARS),
    keptSource: kept.evidence.source,
    otherValue: String(other.value).slice(0, MAX_RAW_CHARS),
    otherSource: other.evidence.source,
    otherOrigin: other.evidence.origin.slice(0, MAX_RAW_CHARS),
  };
}

/** Lists and addresses are descriptions, not claims that can contradict each other. */
function isScalar(value: unknown): boolean {
  return typeof value !== 'object';
}

/**
 * The nearer to the running engine, the higher. By which address others reach
 * it an engine cannot know: anyone who declares one knows it better than all.
 */
function rankOf({ field, evidence }: FieldFact): number {
  const isAdvertised = field === 'engine.serving_addresses' && evidence.source === EvidenceSource.DECLARED;
  return isAdvertised ? Number.POSITIVE_INFINITY : evidenceRank(evidence.source);
}

/**
 * Whether `fact` takes the place of `held`. Of equal sources the one that
 * comes first by name wins, so that the order in which sources answer, or in
 * which an operator lists addresses, never decides.
 */
function outranks(fact: FieldFact, held: FieldFact): boolean {
  const [a, b] = [fact.evidence, held.evidence];
  const byRank = rankOf(fact) - rankOf(held) || a.source - b.source;
  if (byRank !== 0) return byRank > 0;
  if (a.origin !== b.origin) return a.origin < b.origin;
  return JSON.stringify(fact.value) < JSON.stringify(held.value);
}

/** Each source knows its own address of the engine, so they add up; the best source's come first. */
function allAddresses(facts: readonly Fact[]): ServingAddress[] {
  const found = facts.flatMap((fact) =>
    fact.type === 'field' && fact.field === 'engine.serving_addresses' ? [fact] : [],
  );
  found.sort((a, b) => (outranks(a, b) ? -1 : outranks(b, a) ? 1 : 0));
  const all = new Map<string, ServingAddress>();
  for (const each of found.flatMap(({ value }) => value)) {
    const key = JSON.stringify([each.protocol, each.address]);
    if (!all.has(key)) all.set(key, each);
  }
  return [...all.values()];
}

/** V4: an engine whose block size is not what a declaration says is a fault of its own, reported where it is fixed. */
function contradictedByEvents(winner: BlockSizeFact, overruled: readonly BlockSizeFact[]): Set<string> {
  if (winner.evidence.source !== EvidenceSource.OBSERVED_EVENT) return new Set();
  const { size, evidence: shown } = winner;
  return new Set(
    overruled.map((fact) => {
      const who = `${fact.evidence.origin} (${evidenceSourceName(fact.evidence.source)})`;
      return (
        `the engine uses a block size of ${size.sizeTokens} tokens (${shown.origin}: ${shown.raw}), but ${who} says ` +
        `${fact.size.sizeTokens}; correct it there: a router that uses this value computes other blocks than the engine`
      );
    }),
  );
}

/**
 * Each frontend of an engine knows the ranks behind it, so the sources that
 * are reported by equally good sources add up; of several for one rank the first
 * counts, as for any field.
 */
function allEventSources(facts: readonly Fact[], best: FieldFact): KvEventSource[] {
  const rank = evidenceRank(best.evidence.source);
  const found = facts.flatMap((fact) =>
    fact.type === 'field' && fact.field === 'kv_event_sources' && evidenceRank(fact.evidence.source) === rank
      ? [fact]
      : [],
  );
  found.sort((a, b) => (outranks(a, b) ? -1 : outranks(b, a) ? 1 : 0));
  const byRank = new Map<number, KvEventSource>();
  for (const source of found.flatMap(({ value }) => value)) {
    if (!byRank.has(source.dataParallelRank)) byRank.set(source.dataParallelRank, source);
  }
  return [...byRank.values()].sort((a, b) => a.dataParallelRank - b.dataParallelRank);
}

/**
 * Each rank shows the groups that its prompts have reached, so they add up; of two that have one number the better
 * source's counts.
 */
function allCacheGroups(facts: readonly Fact[]): CacheGroup[] {
  const found = facts.flatMap((fact) =>
    fact.type === 'field' && fact.field === 'contract.cache_groups' ? [fact] : [],
  );
  found.sort((a, b) => (outranks(a, b) ? -1 : outranks(b, a) ? 1 : 0));
  const byIndex = new Map<number, CacheGroup>();
  for (const group of found.flatMap(({ value }) => value)) {
    if (!byIndex.has(group.index)) byIndex.set(group.index, group);
  }
  return [...byIndex.values()].sort((a, b) => a.index - b.index);
}

/** What an operator configured to be read, beside what the engine says of the same ranks. */
function eventSourceProblem(
  facts: readonly Fact[],
  best: FieldFact | undefined,
): EventSourceProblem | undefined {
  if (best?.field !== 'kv_event_sources') return undefined;
  for (const fact of facts) {
    if (fact.type !== 'field' || fact.field !== 'kv_event_sources') continue;
    if (fact.evidence.source !== EvidenceSource.DECLARED) continue;
    const said = { value: allEventSources(facts, best), evidence: best.evidence };
    const problem = checkEventSources(fact, said);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function sortedChannels(channels: readonly SideChannel[]): SideChannel[] {
  return [...channels].sort((a, b) => a.dataParallelRank - b.dataParallelRank);
}

/** The value of a field of which `best` is the best source: lists that several sources know parts of add up. */
function wholeValue(best: FieldFact, facts: readonly Fact[]): unknown {
  if (best.field === 'transfer.side_channels') return sortedChannels(best.value);
  if (best.field === 'engine.serving_addresses') return allAddresses(facts);
  if (best.field === 'kv_event_sources') return allEventSources(facts, best);
  if (best.field === 'contract.cache_groups') return allCacheGroups(facts);
  return best.value;
}

/**
 * R2–R4: brings what all sources said about an engine to one value for each
 * field, keeping every source that differs as a conflict beside it. Absent
 * stays absent; nothing is filled in.
 */
export function resolveFacts(facts: readonly Fact[]): ResolvedFacts {
  const winners = winnersOf(facts);
  const conflicts = fieldConflicts(facts, winners);
  const warnings: string[] = [];
  const evidence: Evidence[] = [];

  const sourceProblem = eventSourceProblem(facts, winners.get('kv_event_sources'));
  if (sourceProblem !== undefined) {
    conflicts.unshift(sourceProblem.conflict);
    warnings.push(sourceProblem.warning);
  }
  const fields: Partial<Record<FactField, unknown>> = {};
  for (const [field, fact] of winners) {
    fields[field] = wholeValue(fact, facts);
    evidence.push(toEvidence(field, fact.evidence));
  }

  const sizeFacts = facts.filter((fact) => fact.type === 'block_size');
  const { problem, winner, overruled } = judgeTokensPerBlock(sizeFacts);
  if (winner !== undefined) {
    const { size, evidence: from } = winner;
    evidence.push(toEvidence('contract.tokens_per_block', from));
    const kept = { value: size.sizeTokens, evidence: from };
    // The block size first: what depends on it must not be cut off by a bound.
    conflicts.unshift(
      ...overruled.map((fact) =>
        toConflict('contract.tokens_per_block', kept, {
          value: fact.size.sizeTokens,
          evidence: fact.evidence,
        }),
      ),
    );
    warnings.push(...contradictedByEvents(winner, overruled));
  }

  const sizes = blockSizesOf(sizeFacts);
  return {
    fields: fields as Partial<FactFields>,
    ...(winner === undefined ? {} : { tokensPerBlock: winner.size.sizeTokens }),
    blockSizes: sizes.blockSizes,
    evidence: [...evidence, ...sizes.evidence],
    conflicts,
    problems: problem === undefined ? [] : [problem],
    warnings: [...warnings, ...sizes.warnings],
  };
}

/** The best fact of each field. */
function winnersOf(facts: readonly Fact[]): ReadonlyMap<FactField, FieldFact> {
  const winners = new Map<FactField, FieldFact>();
  for (const fact of facts) {
    if (fact.type !== 'field') continue;
    const held = winners.get(fact.field);
    if (held === undefined || outranks(fact, held)) winners.set(fact.field, fact);
  }
  return winners;
}

/** Facts that say something else than the best one of their field. */
function fieldConflicts(facts: readonly Fact[], winners: ReadonlyMap<FactField, FieldFact>): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const fact of facts) {
    if (fact.type !== 'field') continue;
    const kept = winners.get(fact.field);
    if (kept === undefined || kept === fact || !isScalar(fact.value) || kept.value === fact.value) continue;
    // Start markers of different sources are different by nature.
    if (fact.field === 'engine.start_marker') continue;
    conflicts.push(toConflict(fact.field, kept, fact));
  }
  return conflicts;
}

/** The sizes of every kind that was found, each once, with where it is from. */
function blockSizesOf(
  facts: readonly BlockSizeFact[],
): Pick<ResolvedFacts, 'blockSizes' | 'evidence' | 'warnings'> {
  const blockSizes: BlockSize[] = [];
  const evidence: Evidence[] = [];
  const warnings: string[] = [];
  const seen = new Set<string>();
  for (const fact of facts) {
    const kind = blockSizeKindName(fact.size.kind);
    if (!isTokensPerBlock(fact.size.sizeTokens)) {
      warnings.push(
        `left out the ${kind} block size ${describeSize(fact)}: not an integer from 1 to 1,048,576`,
      );
      continue;
    }
    const key = JSON.stringify([fact.size.kind, fact.size.sizeTokens, fact.size.groupIndex ?? -1]);
    if (seen.has(key) || blockSizes.length >= MAX_BLOCK_SIZES) continue;
    seen.add(key);
    blockSizes.push(fact.size);
    evidence.push(toEvidence(`block_sizes.${kind}`, fact.evidence));
  }
  return { blockSizes, evidence, warnings };
}
