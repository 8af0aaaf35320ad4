import {
  BlockSizeKind,
  EngineKind,
  EngineRole,
  EngineState,
  EvidenceSource,
  HashUnit,
} from '../gen/kvaccord/v1/capabilities.js';

/**
 * The words that people read for a number of the wire. A number of a newer
 * peer, which this version has no word for, is `unknown (<number>)`.
 */
function wordsFor<Value extends number>(words: Readonly<Record<number, string>>): (value: Value) => string {
  return (value) => words[value] ?? `unknown (${value})`;
}

/** `engine_metrics`, `observed_event`, … as `agreement.md` writes them. */
export const evidenceSourceName: (source: EvidenceSource) => string = wordsFor({
  [EvidenceSource.EVIDENCE_SOURCE_UNSPECIFIED]: 'unknown',
  [EvidenceSource.EVIDENCE_SOURCE_DECLARED]: 'declared',
  [EvidenceSource.EVIDENCE_SOURCE_ENGINE_CONFIG]: 'engine_config',
  [EvidenceSource.EVIDENCE_SOURCE_ENGINE_METRICS]: 'engine_metrics',
  [EvidenceSource.EVIDENCE_SOURCE_ENGINE_HTTP]: 'engine_http',
  [EvidenceSource.EVIDENCE_SOURCE_ENGINE_RPC]: 'engine_rpc',
  [EvidenceSource.EVIDENCE_SOURCE_OBSERVED_EVENT]: 'observed_event',
});

/** `vLLM`, `SGLang`, … as their makers write them. */
export const engineKindName: (kind: EngineKind) => string = wordsFor({
  [EngineKind.ENGINE_KIND_UNSPECIFIED]: 'unknown engine',
  [EngineKind.ENGINE_KIND_VLLM]: 'vLLM',
  [EngineKind.ENGINE_KIND_SGLANG]: 'SGLang',
  [EngineKind.ENGINE_KIND_TENSORRT_LLM]: 'TensorRT-LLM',
  [EngineKind.ENGINE_KIND_DYNAMO]: 'Dynamo',
  [EngineKind.ENGINE_KIND_OTHER]: 'other engine',
});

/** `ready`, `starting`, … */
export const engineStateName: (state: EngineState) => string = wordsFor({
  [EngineState.ENGINE_STATE_UNSPECIFIED]: 'unknown',
  [EngineState.ENGINE_STATE_UNREACHABLE]: 'unreachable',
  [EngineState.ENGINE_STATE_STARTING]: 'starting',
  [EngineState.ENGINE_STATE_READY]: 'ready',
  [EngineState.ENGINE_STATE_DRAINING]: 'draining',
});

/** `aggregated`, `prefill` or `decode`. */
export const engineRoleName: (role: EngineRole) => string = wordsFor({
  [EngineRole.ENGINE_ROLE_UNSPECIFIED]: 'unknown',
  [EngineRole.ENGINE_ROLE_AGGREGATED]: 'aggregated',
  [EngineRole.ENGINE_ROLE_PREFILL]: 'prefill',
  [EngineRole.ENGINE_ROLE_DECODE]: 'decode',
});

/** `token` or `bigram`. */
export const hashUnitName: (unit: HashUnit) => string = wordsFor({
  [HashUnit.HASH_UNIT_UNSPECIFIED]: 'unknown',
  [HashUnit.HASH_UNIT_TOKEN]: 'token',
  [HashUnit.HASH_UNIT_BIGRAM]: 'bigram',
});

/** `kv_event`, `effective_attention`, … */
export const blockSizeKindName: (kind: BlockSizeKind) => string = wordsFor({
  [BlockSizeKind.BLOCK_SIZE_KIND_UNSPECIFIED]: 'unknown',
  [BlockSizeKind.BLOCK_SIZE_KIND_REQUESTED]: 'requested',
  [BlockSizeKind.BLOCK_SIZE_KIND_SCHEDULER]: 'scheduler',
  [BlockSizeKind.BLOCK_SIZE_KIND_EFFECTIVE_ATTENTION]: 'effective_attention',
  [BlockSizeKind.BLOCK_SIZE_KIND_HASH]: 'hash',
  [BlockSizeKind.BLOCK_SIZE_KIND_PREFIX_MATCH_UNIT]: 'prefix_match_unit',
  [BlockSizeKind.BLOCK_SIZE_KIND_KV_EVENT]: 'kv_event',
  [BlockSizeKind.BLOCK_SIZE_KIND_PER_GROUP]: 'per_group',
  [BlockSizeKind.BLOCK_SIZE_KIND_STORAGE_CHUNK]: 'storage_chunk',
});
