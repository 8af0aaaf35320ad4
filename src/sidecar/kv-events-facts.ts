import { type Fact, type FactEvidence, fieldFact } from '../contract/facts.js';
import { BlockSizeKind, EvidenceSource, HashUnit } from '../gen/kvaccord/v1/capabilities.js';
import type { ObservedSize } from './kv-events-feed.js';

/**
 * What the events of an engine prove: V1 compares the width, and only an event
 * shows whether an engine cuts tokens or pairs of them.
 */
export function observedFacts(observed: Iterable<ObservedSize>): readonly Fact[] {
  return [...observed].flatMap(({ tokensPerBlock, unit, origin, raw, observedAtMs }) => {
    const evidence: FactEvidence = {
      source: EvidenceSource.EVIDENCE_SOURCE_OBSERVED_EVENT,
      origin,
      raw,
      observedAtMs,
    };
    const hashUnit = unit === 'bigram' ? HashUnit.HASH_UNIT_BIGRAM : HashUnit.HASH_UNIT_TOKEN;
    const facts: Fact[] = [
      {
        type: 'block_size',
        size: { kind: BlockSizeKind.BLOCK_SIZE_KIND_KV_EVENT, sizeTokens: tokensPerBlock },
        forContract: true,
        evidence,
      },
      fieldFact('contract.hash_unit', hashUnit, evidence),
    ];
    return facts;
  });
}
