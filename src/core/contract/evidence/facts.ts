import type {
  BlockSize,
  EngineKind,
  EngineRole,
  EngineState,
  EvidenceSource,
  HashUnit,
  KvEventSource,
  ServingAddress,
  SideChannel,
  TokenProbe,
  TransferMode,
  TransferRole,
} from '../../../gen/kvaccord/v1/capabilities.js';
import type { CacheGroup } from './cache-groups.js';

/**
 * Where a value came from. A value without evidence does not exist: nothing
 * is ever filled in from a default.
 */
export interface FactEvidence {
  /** Decides who wins when sources differ; see `resolve.ts`. */
  readonly source: EvidenceSource;
  /** What was asked: `GET http://127.0.0.1:8000/metrics`. */
  readonly origin: string;
  /** What came back, as it was: `effective_attention_block_size="32"`. Cut to 512 characters on the way out. */
  readonly raw: string;
  /** Wall-clock milliseconds since 1970. */
  readonly observedAtMs: number;
}

/**
 * The fields of a report that a source can state, by their path in
 * `kvaccord.v1.CapabilityReport`. All numbers are integers from 0 to 2^53-1.
 */
export interface FactFields {
  'engine.kind': EngineKind;
  'engine.version': string;
  'engine.state': EngineState;
  'engine.serving_addresses': readonly ServingAddress[];
  'engine.role': EngineRole;
  /** API paths that it has. */
  'engine.apis': readonly string[];
  /**
   * Something that is new at every engine start and the same until then: the
   * process start time, or the engine's own instance id. Not on the wire
   * itself; `instance_id` is derived from it.
   */
  'engine.start_marker': string;
  'model.served_names': readonly string[];
  'model.root': string;
  'model.revision': string;
  'model.max_model_len': number;
  'model.tokenizer_fingerprint': string;
  'model.lora_adapters': readonly string[];
  /** What the engine makes of the fixed prompts of `token-probes.ts`. */
  'model.token_probes': readonly TokenProbe[];
  'contract.hash_unit': HashUnit;
  'contract.hash_algorithm': string;
  'contract.hash_seed': string;
  'contract.event_schema': string;
  'contract.cache_groups': readonly CacheGroup[];
  'contract.drops_last_hit_block': boolean;
  'contract.speculative_decoding': boolean;
  'parallelism.tensor_parallel_size': number;
  'parallelism.pipeline_parallel_size': number;
  'parallelism.data_parallel_size': number;
  'parallelism.data_parallel_rank': number;
  'parallelism.data_parallel_size_local': number;
  'parallelism.decode_context_parallel_size': number;
  'parallelism.expert_parallel_size': number;
  'parallelism.world_size': number;
  'capacity.total_kv_blocks': number;
  'capacity.max_running_requests': number;
  'capacity.max_batched_tokens': number;
  'capacity.kv_cache_size_tokens': number;
  'capacity.kv_tiers': readonly string[];
  /** Whether it finds anything of a prompt again; stated where it does not. */
  'capacity.prefix_caching': boolean;
  kv_event_sources: readonly KvEventSource[];
  'transfer.connector': string;
  'transfer.role': TransferRole;
  'transfer.engine_id': string;
  'transfer.compatibility_hash': string;
  'transfer.mode': TransferMode;
  'transfer.tokens_per_block': number;
  'transfer.block_layout': string;
  'transfer.dtype': string;
  'transfer.kv_cache_dtype': string;
  'transfer.attention_backend': string;
  'transfer.lease_seconds': number;
  /** Where other engines ask; the states of those that were asked come with the address that was asked. */
  'transfer.side_channels': readonly SideChannel[];
}

/** The fields of a report that a fact can state, `tokens_per_block` apart: that has a kind of its own. */
export type FactField = keyof FactFields;

/** One source states one field. */
export type FieldFact = {
  [F in FactField]: {
    readonly type: 'field';
    readonly field: F;
    readonly value: FactFields[F];
    readonly evidence: FactEvidence;
  };
}[FactField];

/**
 * One source states one block size. Sizes of different kinds are never a
 * conflict with each other (R3): they differ in real engines.
 */
export interface BlockSizeFact {
  readonly type: 'block_size';
  /** `sizeTokens` as the source gave it; what is no integer from 1 to 1,048,576 is judged later (R1). */
  readonly size: BlockSize;
  /**
   * Whether this size may serve as `contract.tokens_per_block`, the width of a
   * KV-event block of the main attention group. Among live sources the kind
   * decides: KV_EVENT, then EFFECTIVE_ATTENTION, then SCHEDULER. `last`: only
   * while the running engine says no other, as of a window group that an event
   * has shown before any full attention.
   */
  readonly forContract: boolean | 'last';
  readonly evidence: FactEvidence;
}

/** What one source says, with its evidence. */
export type Fact = FieldFact | BlockSizeFact;

/** Makes a field fact; the type of `value` follows from `field`. */
export function fieldFact<F extends FactField>(
  field: F,
  value: FactFields[F],
  evidence: FactEvidence,
): FieldFact {
  return { type: 'field', field, value, evidence } as FieldFact;
}
