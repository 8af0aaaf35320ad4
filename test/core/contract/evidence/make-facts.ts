import fc from 'fast-check';
import type {
  BlockSizeFact,
  Fact,
  FactEvidence,
  FactField,
  FactFields,
} from '../../../../src/core/contract/evidence/facts.js';
import { fieldFact } from '../../../../src/core/contract/evidence/facts.js';
import {
  BlockSizeKind,
  EngineKind,
  EngineRole,
  EngineState,
  EvidenceSource,
  HashUnit,
  ServingAddress_Protocol,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';

export const OBSERVED: EvidenceSource = EvidenceSource.OBSERVED_EVENT;
export const RPC: EvidenceSource = EvidenceSource.ENGINE_RPC;
export const HTTP: EvidenceSource = EvidenceSource.ENGINE_HTTP;
export const METRICS: EvidenceSource = EvidenceSource.ENGINE_METRICS;
export const CONFIG: EvidenceSource = EvidenceSource.ENGINE_CONFIG;
export const DECLARED: EvidenceSource = EvidenceSource.DECLARED;

export const KV_EVENT: BlockSizeKind = BlockSizeKind.KV_EVENT;
export const EFFECTIVE: BlockSizeKind = BlockSizeKind.EFFECTIVE_ATTENTION;
export const SCHEDULER: BlockSizeKind = BlockSizeKind.SCHEDULER;
export const REQUESTED: BlockSizeKind = BlockSizeKind.REQUESTED;
export const HASH: BlockSizeKind = BlockSizeKind.HASH;

/** 2026-01-01. */
export const OBSERVED_AT_MS: number = Date.UTC(2026, 0, 1);

function evidence(source: EvidenceSource, raw = 'raw', origin = `source ${source}`): FactEvidence {
  return { source, origin, raw, observedAtMs: OBSERVED_AT_MS };
}

/** A block size that may serve as `tokens_per_block`. */
export function size(
  sizeTokens: number,
  source: EvidenceSource,
  kind: BlockSizeKind = EFFECTIVE,
  origin?: string,
): BlockSizeFact {
  const from = evidence(source, `block_size="${sizeTokens}"`, origin);
  return { type: 'block_size', size: { kind, sizeTokens }, forContract: true, evidence: from };
}

/** A block size that is only reported, never the contract's. */
export function otherSize(sizeTokens: number, source: EvidenceSource, kind: BlockSizeKind): BlockSizeFact {
  return { ...size(sizeTokens, source, kind), forContract: false };
}

export function field<F extends FactField>(
  name: F,
  value: FactFields[F],
  source: EvidenceSource,
  origin?: string,
): Fact {
  return fieldFact(name, value, evidence(source, String(value), origin));
}

/** The least that makes a report complete. */
export const COMPLETE_FACTS: readonly Fact[] = [
  field('model.served_names', ['tiny'], HTTP),
  size(32, METRICS),
];

const sources: fc.Arbitrary<EvidenceSource> = fc.constantFrom(OBSERVED, RPC, HTTP, METRICS, CONFIG, DECLARED);
const texts: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('a', 'b'),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
const wholeNumbers: fc.Arbitrary<number> = fc.oneof(fc.constantFrom(0, 1, 2, 16, 32, 64), fc.maxSafeNat());
const proofs: fc.Arbitrary<FactEvidence> = fc.record({
  source: sources,
  origin: fc.oneof(fc.constantFrom('GET http://127.0.0.1:8000/metrics', 'gRPC 127.0.0.1:50051'), texts),
  raw: fc.oneof(texts, fc.string({ minLength: 500, maxLength: 600 })),
  observedAtMs: fc.constant(OBSERVED_AT_MS),
});

const TEXT_FIELDS = [
  'engine.version',
  'engine.start_marker',
  'model.root',
  'model.revision',
  'model.tokenizer_fingerprint',
  'contract.hash_algorithm',
  'contract.hash_seed',
  'contract.event_schema',
] as const;
const NUMBER_FIELDS = [
  'model.max_model_len',
  'parallelism.tensor_parallel_size',
  'parallelism.data_parallel_rank',
  'parallelism.world_size',
  'capacity.total_kv_blocks',
  'capacity.max_running_requests',
  'capacity.kv_cache_size_tokens',
] as const;
const LIST_FIELDS = ['model.served_names', 'model.lora_adapters', 'capacity.kv_tiers'] as const;

/** Whatever a source may say, sense and nonsense alike. */
export const anyFact: fc.Arbitrary<Fact> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...TEXT_FIELDS), texts, proofs)
    .map(([name, value, from]) => fieldFact(name, value, from)),
  fc
    .tuple(fc.constantFrom(...NUMBER_FIELDS), wholeNumbers, proofs)
    .map(([name, value, from]) => fieldFact(name, value, from)),
  fc
    .tuple(fc.constantFrom(...LIST_FIELDS), fc.array(texts, { maxLength: 100 }), proofs)
    .map(([name, value, from]) => fieldFact(name, value, from)),
  fc
    .tuple(fc.constantFrom(...Object.values(EngineKind)), proofs)
    .map(([value, from]) => fieldFact('engine.kind', value, from)),
  fc
    .tuple(fc.constantFrom(...Object.values(EngineState)), proofs)
    .map(([value, from]) => fieldFact('engine.state', value, from)),
  fc
    .tuple(fc.constantFrom(...Object.values(EngineRole)), proofs)
    .map(([value, from]) => fieldFact('engine.role', value, from)),
  fc
    .tuple(fc.constantFrom(...Object.values(HashUnit)), proofs)
    .map(([value, from]) => fieldFact('contract.hash_unit', value, from)),
  fc
    .tuple(texts, proofs)
    .map(([address, from]) =>
      fieldFact(
        'engine.serving_addresses',
        [{ protocol: ServingAddress_Protocol.OPENAI_HTTP, address }],
        from,
      ),
    ),
  fc.tuple(fc.array(fc.tuple(wholeNumbers, texts), { maxLength: 3 }), proofs).map(([entries, from]) =>
    fieldFact(
      'kv_event_sources',
      entries.map(([dataParallelRank, endpoint]) => ({
        dataParallelRank,
        transport: 'zmq',
        endpoint,
        topic: '',
      })),
      from,
    ),
  ),
  fc
    .record({
      kind: fc.constantFrom(...Object.values(BlockSizeKind)),
      sizeTokens: fc.oneof(wholeNumbers, fc.constantFrom(-1, 0.5, Number.NaN)),
      groupIndex: fc.option(wholeNumbers, { nil: undefined }),
      forContract: fc.boolean(),
      from: proofs,
    })
    .map(
      ({ kind, sizeTokens, groupIndex, forContract, from }): Fact => ({
        type: 'block_size',
        size: { kind, sizeTokens, groupIndex },
        forContract,
        evidence: from,
      }),
    ),
);
