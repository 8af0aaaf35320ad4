import {
  BlockSizeKind,
  EngineRole,
  EngineState,
  EvidenceSource,
  HashUnit,
} from '../../../gen/kvaccord/v1/capabilities.js';

export { engineKindName } from './engine-kinds.js';

/**
 * The words that people read for a number of the wire. A number of a newer
 * peer, which this version has no word for, is `unknown (<number>)`.
 */
function wordsFor<Value extends number>(words: Readonly<Record<number, string>>): (value: Value) => string {
  return (value) => words[value] ?? `unknown (${value})`;
}

/** `engine_metrics`, `observed_event`, … as `agreement.md` writes them. */
export const evidenceSourceName: (source: EvidenceSource) => string = wordsFor({
  [EvidenceSource.UNSPECIFIED]: 'unknown',
  [EvidenceSource.DECLARED]: 'declared',
  [EvidenceSource.ENGINE_CONFIG]: 'engine_config',
  [EvidenceSource.ENGINE_METRICS]: 'engine_metrics',
  [EvidenceSource.ENGINE_HTTP]: 'engine_http',
  [EvidenceSource.ENGINE_RPC]: 'engine_rpc',
  [EvidenceSource.OBSERVED_EVENT]: 'observed_event',
});

/** `ready`, `starting`, … */
export const engineStateName: (state: EngineState) => string = wordsFor({
  [EngineState.UNSPECIFIED]: 'unknown',
  [EngineState.UNREACHABLE]: 'unreachable',
  [EngineState.STARTING]: 'starting',
  [EngineState.READY]: 'ready',
  [EngineState.DRAINING]: 'draining',
});

/** `aggregated`, `prefill` or `decode`. */
export const engineRoleName: (role: EngineRole) => string = wordsFor({
  [EngineRole.UNSPECIFIED]: 'unknown',
  [EngineRole.AGGREGATED]: 'aggregated',
  [EngineRole.PREFILL]: 'prefill',
  [EngineRole.DECODE]: 'decode',
});

/** `token` or `bigram`. */
export const hashUnitName: (unit: HashUnit) => string = wordsFor({
  [HashUnit.UNSPECIFIED]: 'unknown',
  [HashUnit.TOKEN]: 'token',
  [HashUnit.BIGRAM]: 'bigram',
});

/** The unit as block hashing takes it; undefined while it is not known. */
export function knownHashUnit(unit: HashUnit | undefined): 'token' | 'bigram' | undefined {
  if (unit === HashUnit.BIGRAM) return 'bigram';
  return unit === HashUnit.TOKEN ? 'token' : undefined;
}

/** `kv_event`, `effective_attention`, … */
export const blockSizeKindName: (kind: BlockSizeKind) => string = wordsFor({
  [BlockSizeKind.UNSPECIFIED]: 'unknown',
  [BlockSizeKind.REQUESTED]: 'requested',
  [BlockSizeKind.SCHEDULER]: 'scheduler',
  [BlockSizeKind.EFFECTIVE_ATTENTION]: 'effective_attention',
  [BlockSizeKind.HASH]: 'hash',
  [BlockSizeKind.PREFIX_MATCH_UNIT]: 'prefix_match_unit',
  [BlockSizeKind.KV_EVENT]: 'kv_event',
  [BlockSizeKind.PER_GROUP]: 'per_group',
  [BlockSizeKind.STORAGE_CHUNK]: 'storage_chunk',
});
