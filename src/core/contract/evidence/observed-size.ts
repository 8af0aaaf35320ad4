import { BlockSizeKind, EvidenceSource, HashUnit } from '../../../gen/kvaccord/v1/capabilities.js';
import { type CacheGroup, mainGroupOf } from './cache-groups.js';
import { type Fact, type FactEvidence, fieldFact } from './facts.js';

/** The width of a KV block as an event of one rank showed it. */
export interface ObservedSize {
  /** The event's own `block_size`. */
  readonly tokensPerBlock: number;
  /** What one unit of it is: EAGLE's engines hash pairs of tokens. */
  readonly unit: 'token' | 'bigram';
  /** The engine's hashes cover tokens behind a block (vLLM with EAGLE or MTP); absent where it did not say so. */
  readonly looksAhead?: true;
  readonly rank: number;
  /** Where it was heard: `KV events of tcp://127.0.0.1:5557`. */
  readonly origin: string;
  /** What was heard, in one line. */
  readonly raw: string;
  /** Wall-clock milliseconds since 1970. */
  readonly observedAtMs: number;
  /** All KV cache groups of the rank so far, where it has others than one of full attention; the width is the main one's. */
  readonly groups?: readonly CacheGroup[];
}

/**
 * What the events of an engine prove: V1 compares the width, and only an event
 * shows whether an engine hashes tokens or pairs of them. A vLLM whose hashes
 * cover the tokens that its draft model reads takes no block off a hit
 * (`v1/core/sched/scheduler.py`, `use_eagle_block_drop`, since 0.33).
 */
export function observedFacts(observed: Iterable<ObservedSize>): readonly Fact[] {
  return [...observed].flatMap(({ tokensPerBlock, unit, looksAhead, origin, raw, observedAtMs, groups }) => {
    const evidence: FactEvidence = {
      source: EvidenceSource.OBSERVED_EVENT,
      origin,
      raw,
      observedAtMs,
    };
    const hashUnit = unit === 'bigram' ? HashUnit.BIGRAM : HashUnit.TOKEN;
    const facts: Fact[] = [
      {
        type: 'block_size',
        size: { kind: BlockSizeKind.KV_EVENT, sizeTokens: tokensPerBlock },
        // Full attention may show later, with another width.
        forContract: hasFullAttention(groups) ? true : 'last',
        evidence,
      },
      fieldFact('contract.hash_unit', hashUnit, evidence),
    ];
    if (looksAhead === true) facts.push(fieldFact('contract.drops_last_hit_block', false, evidence));
    if (groups !== undefined) facts.push(...groupFacts(groups, evidence));
    return facts;
  });
}

function hasFullAttention(groups: readonly CacheGroup[] | undefined): boolean {
  return groups === undefined || mainGroupOf(groups)?.kind === 'full_attention';
}

function groupFacts(groups: readonly CacheGroup[], evidence: FactEvidence): Fact[] {
  const sizes = groups.map(
    ({ index, tokensPerBlock, engineKind, windowTokens }): Fact => ({
      type: 'block_size',
      size: {
        kind: BlockSizeKind.PER_GROUP,
        sizeTokens: tokensPerBlock,
        groupIndex: index,
        ...(engineKind === '' ? {} : { attentionKind: engineKind }),
        ...(windowTokens === undefined ? {} : { slidingWindowTokens: windowTokens }),
      },
      forContract: false,
      evidence,
    }),
  );
  return [...sizes, fieldFact('contract.cache_groups', groups, evidence)];
}

/**
 * Sizes of one rank that are kept. Two are a contradiction already, and a
 * stream that shows ever new ones must not fill the report.
 */
const MAX_SIZES_OF_RANK = 4;

/**
 * `known` with one more, or `known` itself when that is nothing new. An
 * instance that shows several sizes on one rank keeps them all: which of them
 * is right, nobody can say.
 */
export function withObserved(
  known: readonly ObservedSize[],
  observed: ObservedSize,
): readonly ObservedSize[] {
  if (observed.groups !== undefined) return withGroups(known, observed);
  const ofRank = known.filter(({ rank }) => rank === observed.rank);
  const isKnown = ofRank.some(
    ({ tokensPerBlock, unit }) => tokensPerBlock === observed.tokensPerBlock && unit === observed.unit,
  );
  return isKnown || ofRank.length >= MAX_SIZES_OF_RANK ? known : [...known, observed];
}

/** Groups are reported with all that the rank has shown before, whose place they take. */
function withGroups(known: readonly ObservedSize[], observed: ObservedSize): readonly ObservedSize[] {
  const before = known.find(({ rank, groups }) => rank === observed.rank && groups !== undefined);
  const isKnown =
    before?.unit === observed.unit && JSON.stringify(before.groups) === JSON.stringify(observed.groups);
  if (isKnown) return known;
  return [...known.filter((each) => each !== before), observed];
}
