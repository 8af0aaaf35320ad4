import { BlockSizeKind, EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';
import { blockSizeKindName, evidenceSourceName } from '../wire/names.js';
import type { BlockSizeFact } from './facts.js';

/** Largest `tokens_per_block` that is believed (R1). */
export const MAX_TOKENS_PER_BLOCK = 1_048_576;

/** R1: an integer from 1 to 1,048,576. */
export function isTokensPerBlock(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MAX_TOKENS_PER_BLOCK;
}

/** What the candidates for `contract.tokens_per_block` come to. */
export interface TokensPerBlockVerdict {
  /** The source that won; absent when there is no candidate, or none can be believed. */
  readonly winner?: BlockSizeFact;
  /** Candidates that differ from the winner and could have taken its place (R3). */
  readonly overruled: readonly BlockSizeFact[];
  /** Why there is no value, in words for an operator; absent with a winner, and when no source said anything. */
  readonly problem?: string;
}

/** The tier of what a running engine answers when it is asked. */
const LIVE_TIER = 2;

/**
 * How far the sources are from the running engine. Inside a tier the kind of
 * size decides first, because a scheduler unit reported over RPC is not nearer to
 * the event width than an effective size reported by a metric.
 */
function tierOf(source: EvidenceSource): number {
  switch (source) {
    case EvidenceSource.OBSERVED_EVENT:
      return 3;
    case EvidenceSource.ENGINE_RPC:
    case EvidenceSource.ENGINE_HTTP:
    case EvidenceSource.ENGINE_METRICS:
      return LIVE_TIER;
    case EvidenceSource.ENGINE_CONFIG:
      return 1;
    default:
      return 0;
  }
}

/** RPC and HTTP ask the running engine itself and rank alike; metrics come after them (R3). */
export function evidenceRank(source: EvidenceSource): number {
  if (source === EvidenceSource.ENGINE_HTTP) return EvidenceSource.ENGINE_RPC;
  return source;
}

/** Which kind of size is nearest to the width of a KV event, nearest first. */
const KIND_ORDER: readonly BlockSizeKind[] = [
  BlockSizeKind.KV_EVENT,
  BlockSizeKind.EFFECTIVE_ATTENTION,
  BlockSizeKind.SCHEDULER,
];

function kindRank(kind: BlockSizeKind): number {
  const place = KIND_ORDER.indexOf(kind);
  return place === -1 ? KIND_ORDER.length : place;
}

/** `32 (engine_metrics, GET http://…: block_size="32")`. */
export function describeSize(fact: BlockSizeFact): string {
  const { source, origin, raw } = fact.evidence;
  return `${fact.size.sizeTokens} (${evidenceSourceName(source)}, ${origin}: ${raw})`;
}

/**
 * R1 and R3: chooses `tokens_per_block` among everything that could be it.
 * The order of `facts` does not matter, except for which of several equal
 * sources is named.
 */
export function judgeTokensPerBlock(facts: readonly BlockSizeFact[]): TokensPerBlockVerdict {
  const candidates = candidatesAmong(facts);
  if (candidates.length === 0) return { overruled: [] };

  const topTier = Math.max(...candidates.map((fact) => tierOf(fact.evidence.source)));
  const inTier = candidates.filter((fact) => tierOf(fact.evidence.source) === topTier);
  const bestKind = Math.min(...inTier.map((fact) => kindRank(fact.size.kind)));
  const ofKind = inTier.filter((fact) => kindRank(fact.size.kind) === bestKind);
  const topRank = Math.max(...ofKind.map((fact) => evidenceRank(fact.evidence.source)));
  const equals = ofKind.filter((fact) => evidenceRank(fact.evidence.source) === topRank);

  const [winner, ...rest] = equals;
  if (winner === undefined) return { overruled: [] };
  const differing = rest.find((fact) => fact.size.sizeTokens !== winner.size.sizeTokens);
  if (differing !== undefined) {
    return {
      overruled: [],
      problem:
        `two sources of the same rank differ for the ${blockSizeKindName(winner.size.kind)} block size: ` +
        `${describeSize(winner)} and ${describeSize(differing)}`,
    };
  }
  if (!isTokensPerBlock(winner.size.sizeTokens)) {
    return {
      overruled: [],
      problem: `tokens_per_block is ${describeSize(winner)}, but must be an integer from 1 to 1,048,576`,
    };
  }
  const isContradicted = (fact: BlockSizeFact): boolean => fact.size.sizeTokens !== winner.size.sizeTokens;
  const confirmingKind = kindThatConfirms(candidates, winner);
  const overruled = candidates.filter((fact) => {
    if (!isContradicted(fact)) return false;
    const tier = tierOf(fact.evidence.source);
    // In the same tier another kind of size is another quantity, never a conflict.
    if (tier === topTier) return fact.size.kind === winner.size.kind;
    return tier !== LIVE_TIER || confirmingKind === undefined || fact.size.kind === confirmingKind;
  });
  return { winner, overruled };
}

/** Everything that could be the contract's: what may come last only where nothing that runs says another. */
function candidatesAmong(facts: readonly BlockSizeFact[]): readonly BlockSizeFact[] {
  const sure = facts.filter(({ forContract }) => forContract === true);
  const isKnown = sure.some(({ evidence }) => tierOf(evidence.source) >= LIVE_TIER);
  return isKnown ? sure : facts.filter(({ forContract }) => forContract !== false);
}

/**
 * The kind by which the running engine's own answers come to what an event
 * showed. Where there is one, its sizes of other kinds are other quantities
 * here, as they were before the event.
 */
function kindThatConfirms(
  candidates: readonly BlockSizeFact[],
  winner: BlockSizeFact,
): BlockSizeKind | undefined {
  const live = candidates.filter(({ evidence }) => tierOf(evidence.source) === LIVE_TIER);
  const bestKind = Math.min(...live.map(({ size }) => kindRank(size.kind)));
  const confirming = live.find(
    ({ size }) => kindRank(size.kind) === bestKind && size.sizeTokens === winner.size.sizeTokens,
  );
  return confirming?.size.kind;
}
