import type { EngineLaunch } from '../descriptor/engine-launch.js';
import { TRTLLM_CARD } from './default-sizes.js';

/** How TensorRT-LLM is started. Its block size is set in its YAML (`kv_cache_config.tokens_per_block`) alone. */
export const TRTLLM_LAUNCH: EngineLaunch = {
  modules: {},
  commands: {
    'trtllm-serve': {
      program: 'trtllm-serve',
      subcommand: { name: 'serve', isOptional: true },
      others: ['disaggregated', 'disaggregated_mpi_worker', 'mm_embedding_serve'],
    },
  },
  images: {},
  dynamo: {
    module: 'dynamo.trtllm',
    card: TRTLLM_CARD,
    publishing: {
      on: ['--publish-kv-events', '--publish-events-and-metrics'],
      off: ['--no-publish-kv-events', '--no-publish-events-and-metrics'],
      variables: ['DYN_TRTLLM_PUBLISH_KV_EVENTS', 'DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS'],
    },
  },
  sizeFlags: [],
  contextParallelFlags: [],
  sizeSettingName: 'TRT-LLM tokens_per_block (default: 32)',
  prefixCaching: { on: [], off: [] },
  configKeys: {
    tokens_per_block: { name: 'block_size' },
    max_batch_size: { name: 'max_batch_size' },
    max_seq_len: { name: 'max_model_len' },
    free_gpu_memory_fraction: { name: 'free_gpu_memory_fraction' },
    kv_cache_free_gpu_memory_fraction: { name: 'free_gpu_memory_fraction' },
    kv_cache_free_gpu_mem_fraction: { name: 'free_gpu_memory_fraction' },
    'kv_cache_config.tokens_per_block': { name: 'block_size' },
    'kv_cache_config.enable_block_reuse': { name: 'prefix_caching' },
    'kv_cache_config.free_gpu_memory_fraction': { name: 'free_gpu_memory_fraction' },
    'kv_cache_config.max_tokens': { name: 'kv_cache_tokens' },
    'kv_cache_config.max_gpu_total_bytes': { name: 'kv_cache_bytes' },
    'kv_cache_config.host_cache_size': { name: 'host_cache_bytes' },
    'kv_cache_config.event_buffer_max_size': { name: 'kv_event_buffer_events' },
    'kv_cache_config.secondary_offload_min_priority': { name: 'offload_min_priority' },
    radix_eviction_policy: { name: 'eviction_policy' },
    'kv_cache_config.dtype': { name: 'kv_cache_dtype' },
    enable_attention_dp: { name: 'attention_data_parallel' },
  },
  defaultSettings: { prefix_caching: 'true', free_gpu_memory_fraction: '0.9', tensor_parallel_size: '1' },
  attentionGroups: 'tensor_parallel_size',
  poolsApart: {
    windows:
      'TensorRT-LLM keeps of layers with a window what max_attention_window says, in pools of their own: the lines "primary blocks=" and "for max tokens in paged KV cache" of its log have blocks and tokens',
    states:
      'TensorRT-LLM keeps the states of sequences beside its KV cache (max_batch_size): the line "for max tokens in paged KV cache" of its log has the tokens',
  },
  takesFourBits: true,
  tuning: {
    maxSequencesFlag: '--max-batch-size',
    memory: {
      setting: 'free_gpu_memory_fraction',
      words: 'free_gpu_memory_fraction in kv_cache_config',
      partOf: 'free_after_weights',
      more: {
        where: 'yaml',
        line: 'kv_cache_config: { free_gpu_memory_fraction: 0.95 }',
        note: 'a share of what is free after the weights',
      },
      most: 0.95,
    },
    retention: {
      where: 'yaml',
      line: 'kv_cache_config: { host_cache_size: 34359738368 }',
      note: '32 GiB of host memory for blocks that leave the GPU',
    },
    hostCache: {
      setting: 'host_cache_bytes',
      sizes: [
        {
          setting: 'host_cache_bytes',
          begin: 32 * 2 ** 30,
          line: (size) => `kv_cache_config: { host_cache_size: ${size} }`,
        },
      ],
      where: 'yaml',
      note: 'bytes of host memory for blocks that leave the GPU',
    },
    prefixCaching: { where: 'yaml', line: 'kv_cache_config: { enable_block_reuse: true }', note: '' },
    eventRoom: { where: 'yaml', line: 'kv_cache_config: { event_buffer_max_size: 65536 }', note: '' },
    eviction:
      'TensorRT-LLM drops blocks of low priority first, and among equals those that were not used for the longest time; a request sets priorities and how long they hold (kv_cache_retention_config), and secondary_offload_min_priority says what the host cache takes',
  },
};
