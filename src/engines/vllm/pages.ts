import { type EnginePages, withPrefix } from '../descriptor/engine-pages.js';
import { type PageFindings, positiveNumberOf } from '../diagnosis/page-findings.js';
import type { SettingName } from '../diagnosis/sighting-words.js';
import type { MetricSample } from '../facts/prometheus-text.js';

/** Whose value is vLLM's whole `CacheConfig`, in labels. */
const CACHE_CONFIG = 'vllm:cache_config_info';
const ADAPTERS = 'vllm:lora_requests_info';

/** Labels of the cache configuration that are settings, by the setting's name. */
const SETTINGS: readonly (readonly [SettingName, label: string])[] = [
  ['prefix_caching', 'enable_prefix_caching'],
  ['gpu_memory_utilization', 'gpu_memory_utilization'],
  ['total_kv_blocks', 'num_gpu_blocks'],
  ['kv_cache_tokens', 'kv_cache_size_tokens'],
  ['kv_cache_bytes', 'kv_cache_memory_bytes'],
  ['hash_algorithm', 'prefix_caching_hash_algo'],
  ['mamba_cache_mode', 'mamba_cache_mode'],
  ['kv_blocks_override', 'num_gpu_blocks_override'],
];

/** `/metrics` of vLLM's Python frontend, and its families on the pages of others. */
export const VLLM_PAGES: EnginePages = {
  programs: [{ prefix: 'vllm:', program: 'vllm' }],
  wanted: withPrefix('vllm:', [
    'cache_config_info',
    'external_prefix_cache_hits_total',
    'external_prefix_cache_queries_total',
    'gpu_cache_usage_perc',
    'gpu_prefix_cache_hits_total',
    'gpu_prefix_cache_queries_total',
    'kv_cache_usage_perc',
    'lora_requests_info',
    'mooncake_num_failed_recvs_total',
    'mooncake_num_failed_transfers_total',
    'mooncake_num_kv_expired_reqs_total',
    'nixl_bytes_transferred_count',
    'nixl_bytes_transferred_sum',
    'nixl_num_failed_transfers_total',
    'nixl_num_kv_expired_reqs_total',
    'nixl_num_notifications_after_expiry_total',
    'nixl_xfer_time_seconds_sum',
    'num_preemptions_total',
    'num_requests_running',
    'num_requests_waiting',
    'prefix_cache_hits_total',
    'prefix_cache_queries_total',
    'prompt_tokens_by_source_total',
    'prompt_tokens_cached_total',
    'prompt_tokens_total',
    'request_prompt_tokens_sum',
    'request_prompt_tokens_count',
    'request_generation_tokens_sum',
    'request_generation_tokens_count',
    'time_to_first_token_seconds_sum',
    'time_to_first_token_seconds_count',
  ]),
  read(found) {
    for (const sample of found.of(ADAPTERS)) readAdapters(found, sample);
    for (const sample of found.of(CACHE_CONFIG)) readCacheConfig(found, sample);
  },
  promptTokens: [
    {
      cached: { metric: 'vllm:prefix_cache_hits_total' },
      all: { metric: 'vllm:prefix_cache_queries_total' },
    },
    {
      cached: { metric: 'vllm:gpu_prefix_cache_hits_total' },
      all: { metric: 'vllm:gpu_prefix_cache_queries_total' },
    },
  ],
  preemptions: ['vllm:num_preemptions_total'],
  cacheUsage: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
  running: ['vllm:num_requests_running'],
  waiting: ['vllm:num_requests_waiting'],
  sequenceTokens: { prompt: 'vllm:request_prompt_tokens', answer: 'vllm:request_generation_tokens' },
  transfers: {
    arrived: { metric: 'vllm:prompt_tokens_by_source_total', labels: { source: 'external_kv_transfer' } },
    computed: { metric: 'vllm:prompt_tokens_by_source_total', labels: { source: 'local_compute' } },
    failed: [
      'vllm:nixl_num_failed_transfers_total',
      'vllm:mooncake_num_failed_transfers_total',
      'vllm:mooncake_num_failed_recvs_total',
    ],
    expired: [
      'vllm:nixl_num_kv_expired_reqs_total',
      'vllm:nixl_num_notifications_after_expiry_total',
      'vllm:mooncake_num_kv_expired_reqs_total',
    ],
    bytes: 'vllm:nixl_bytes_transferred',
    seconds: 'vllm:nixl_xfer_time_seconds',
  },
};

/** The gauge is there only where adapters may be loaded; those that run at the moment are in its labels. */
function readAdapters(found: PageFindings, sample: MetricSample): void {
  const running = sample.labels.get('running_lora_adapters') ?? '';
  const value = running === '' ? `at most ${sample.labels.get('max_lora') ?? 'some'}` : running;
  found.addSetting(sample, 'lora_adapters', value, { labels: ['max_lora', 'running_lora_adapters'] });
}

function readCacheConfig(found: PageFindings, sample: MetricSample): void {
  // `block_size` is the scheduler's unit, and the width of an event only where nothing more exact is reported.
  const size = positiveNumberOf(sample.labels.get('effective_attention_block_size')) ?? plainSize(sample);
  const labels = ['effective_attention_block_size', 'block_size', 'num_gpu_blocks', 'kv_cache_size_tokens'];
  found.addSize(sample, size, { labels });
  for (const [name, label] of SETTINGS) {
    const value = sample.labels.get(label);
    if (value !== 'None' && value !== 'none') found.addSetting(sample, name, value, { labels: [label] });
  }
  const dtype = sample.labels.get('cache_dtype');
  if (dtype !== 'auto' && dtype !== 'None')
    found.addSetting(sample, 'kv_cache_dtype', dtype, { labels: ['cache_dtype'] });
}

function plainSize({ labels }: MetricSample): number | undefined {
  const mamba = labels.get('mamba_block_size');
  if (mamba !== undefined && mamba !== 'None') return undefined;
  const [size, blocks, tokens] = ['block_size', 'num_gpu_blocks', 'kv_cache_size_tokens'].map((label) =>
    positiveNumberOf(labels.get(label)),
  );
  const differs =
    size !== undefined && blocks !== undefined && tokens !== undefined && tokens !== size * blocks;
  return differs ? undefined : size;
}
