import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';

/** What an engine's key means: a block size, or a setting, whose name may say the opposite. */
export interface KeyMeaning {
  readonly name: SettingName | 'block_size';
  /** `disable_radix_cache: true` is `prefix_caching: false`. */
  readonly isOpposite?: true;
}

/**
 * Keys of vLLM, SGLang and TensorRT-LLM as their configuration files have them
 * and, with `--` in front and dashes, their command lines. What stands inside
 * of TensorRT-LLM's `kv_cache_config` has that in front of it.
 */
export const ENGINE_KEYS: ReadonlyMap<string, KeyMeaning> = new Map<string, KeyMeaning>([
  // vLLM
  ['block_size', { name: 'block_size' }],
  ['gpu_memory_utilization', { name: 'gpu_memory_utilization' }],
  ['max_num_seqs', { name: 'max_num_seqs' }],
  ['max_model_len', { name: 'max_model_len' }],
  ['enable_prefix_caching', { name: 'prefix_caching' }],
  ['no_enable_prefix_caching', { name: 'prefix_caching', isOpposite: true }],
  ['prefix_caching_hash_algo', { name: 'hash_algorithm' }],
  ['num_gpu_blocks', { name: 'total_kv_blocks' }],
  ['num_gpu_blocks_override', { name: 'total_kv_blocks' }],
  ['kv_cache_memory_bytes', { name: 'kv_cache_bytes' }],
  ['tensor_parallel_size', { name: 'tensor_parallel_size' }],
  ['pipeline_parallel_size', { name: 'pipeline_parallel_size' }],
  ['data_parallel_size', { name: 'data_parallel_size' }],
  ['decode_context_parallel_size', { name: 'context_parallel_size' }],
  ['kv_cache_dtype', { name: 'kv_cache_dtype' }],
  ['cache_dtype', { name: 'kv_cache_dtype' }],
  ['lora_modules', { name: 'lora_adapters' }],
  ['enable_lora', { name: 'lora_adapters' }],
  // SGLang
  ['lora_paths', { name: 'lora_adapters' }],
  ['page_size', { name: 'block_size' }],
  ['mem_fraction_static', { name: 'gpu_memory_utilization' }],
  ['max_running_requests', { name: 'max_num_seqs' }],
  ['context_length', { name: 'max_model_len' }],
  ['disable_radix_cache', { name: 'prefix_caching', isOpposite: true }],
  ['max_total_tokens', { name: 'kv_cache_tokens' }],
  ['max_total_num_tokens', { name: 'kv_cache_tokens' }],
  ['tp_size', { name: 'tensor_parallel_size' }],
  ['tp', { name: 'tensor_parallel_size' }],
  ['pp_size', { name: 'pipeline_parallel_size' }],
  ['dp_size', { name: 'data_parallel_size' }],
  ['dcp_size', { name: 'context_parallel_size' }],
  // TensorRT-LLM
  ['tokens_per_block', { name: 'block_size' }],
  ['max_batch_size', { name: 'max_batch_size' }],
  ['max_seq_len', { name: 'max_model_len' }],
  ['free_gpu_memory_fraction', { name: 'free_gpu_memory_fraction' }],
  ['kv_cache_free_gpu_memory_fraction', { name: 'free_gpu_memory_fraction' }],
  ['kv_cache_free_gpu_mem_fraction', { name: 'free_gpu_memory_fraction' }],
  ['kv_cache_config.tokens_per_block', { name: 'block_size' }],
  ['kv_cache_config.enable_block_reuse', { name: 'prefix_caching' }],
  ['kv_cache_config.free_gpu_memory_fraction', { name: 'free_gpu_memory_fraction' }],
  ['kv_cache_config.max_tokens', { name: 'kv_cache_tokens' }],
  ['kv_cache_config.max_gpu_total_bytes', { name: 'kv_cache_bytes' }],
  ['kv_cache_config.host_cache_size', { name: 'host_cache_bytes' }],
  ['radix_eviction_policy', { name: 'eviction_policy' }],
  ['kv_cache_config.dtype', { name: 'kv_cache_dtype' }],
]);

/** Sections of a configuration whose keys are looked at as if they stood outside; `kv_cache_config` keeps its name. */
const SECTIONS: ReadonlySet<string> = new Set([
  'cache_config',
  'parallel_config',
  'scheduler_config',
  'model_config',
  'vllm_config',
  'server_args',
  'llm_args',
  'engine_args',
  'config',
]);

/** A key that means something, as it was found. */
export interface FoundKey {
  /** As it is written: `kv_cache_config.tokens_per_block`. */
  readonly path: string;
  readonly meaning: KeyMeaning;
  readonly value: string;
}

const MAX_DEPTH = 4;
/** Keys of one object; SGLang's `/server_info` has about 800. */
const MAX_KEYS = 5_000;
const MAX_VALUE_CHARS = 128;

/** The keys in an engine's configuration that are known here. Values are scalars; all others are passed over. */
export function findEngineKeys(config: unknown, at: readonly string[] = []): readonly FoundKey[] {
  if (typeof config !== 'object' || config === null || Array.isArray(config) || at.length > MAX_DEPTH)
    return [];
  return Object.entries(config)
    .slice(0, MAX_KEYS)
    .flatMap(([written, value]) => {
      const key = written.replace(/-/g, '_');
      const path = [...at, written];
      if (typeof value === 'object' && value !== null) {
        return key === 'kv_cache_config' || SECTIONS.has(key) ? findEngineKeys(value, path) : [];
      }
      const inCache = at.at(-1)?.replace(/-/g, '_') === 'kv_cache_config';
      const meaning = ENGINE_KEYS.get(inCache ? `kv_cache_config.${key}` : key);
      if (meaning === undefined || value === null || value === undefined || value === '') return [];
      return [{ path: path.join('.'), meaning, value: String(value).slice(0, MAX_VALUE_CHARS) }];
    });
}

/** The value that a setting has by this key. */
export function settingValueOf({ isOpposite }: KeyMeaning, value: string): string {
  if (isOpposite !== true) return value;
  return /^(?:true|1|yes|on)$/i.test(value) ? 'false' : 'true';
}

/** A block size that an engine could use. */
export function blockSizeOf(value: string): number | undefined {
  const tokens = Number(value);
  return /^\d{1,7}$/.test(value) && tokens > 0 && tokens <= MAX_TOKENS_PER_BLOCK ? tokens : undefined;
}

/** As of the contract. */
const MAX_TOKENS_PER_BLOCK = 1_048_576;
