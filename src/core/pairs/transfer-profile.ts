import type { TransferModeName, TransferRoleName } from '../contract/transfer/transfer.js';
import type { EngineKind } from '../contract/wire/enums.js';
import type { WorkerReport } from '../contract/worker-report.js';

/** What a worker says that one of the other role is compared by; absent where it does not say. */
export interface TransferProfile {
  /** Equal profiles have equal keys: whatever is judged of one worker holds for all that have its key. */
  readonly key: string;
  readonly engineKind: EngineKind;
  readonly engineVersion: string | undefined;
  /** Absent where the worker reports no transfer contract, or its engine does not say. */
  readonly connector: string | undefined;
  readonly connectorVersion: string | undefined;
  readonly role: TransferRoleName | undefined;
  readonly compatibilityHash: string | undefined;
  readonly mode: TransferModeName | undefined;
  readonly tokensPerBlock: number | undefined;
  readonly blockLayout: string | undefined;
  /** Absent for `auto`: what an engine makes of it, others cannot know. */
  readonly dtype: string | undefined;
  /** That of the model for `auto`. */
  readonly kvCacheDtype: string | undefined;
  readonly attentionBackend: string | undefined;
  readonly layerCount: number | undefined;
  readonly kvHeadCount: number | undefined;
  readonly headSize: number | undefined;
  readonly tensorParallelSize: number | undefined;
  readonly decodeContextParallelSize: number | undefined;
  readonly modelRevision: string | undefined;
}

const AUTO = 'auto';

/** What pairs are judged by, of a checked report. */
export function transferProfileOf({
  engineKind,
  engineVersion,
  values,
  transfer,
}: WorkerReport): TransferProfile {
  const said = transfer?.values ?? {};
  const dtype = said.dtype === AUTO ? undefined : said.dtype;
  const compared = {
    engineKind,
    engineVersion: engineVersion || undefined,
    connector: said.connector,
    connectorVersion: said.connector_version,
    role: said.role,
    compatibilityHash: said.compatibility_hash,
    mode: said.mode,
    tokensPerBlock: said.tokens_per_block,
    blockLayout: said.block_layout,
    dtype,
    kvCacheDtype: said.kv_cache_dtype === AUTO ? dtype : said.kv_cache_dtype,
    attentionBackend: said.attention_backend,
    layerCount: said.layer_count,
    kvHeadCount: said.kv_head_count,
    headSize: said.head_size,
    tensorParallelSize: numberOf(values.tensor_parallel_size),
    decodeContextParallelSize: numberOf(values.decode_context_parallel_size),
    modelRevision: values.model_revision === undefined ? undefined : String(values.model_revision),
  };
  return { ...compared, key: JSON.stringify(Object.values(compared).map((value) => value ?? null)) };
}

function numberOf(value: string | number | undefined): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}
