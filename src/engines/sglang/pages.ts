import { type EnginePages, withPrefix } from '../descriptor/engine-pages.js';
import { addGauge, positiveNumberOf } from '../diagnosis/page-findings.js';

/** What it computed and what it took from its cache are counted under one name. */
const TOKENS = 'sglang:realtime_tokens_total';

/** `/metrics` of SGLang, and its families on the pages of others. */
export const SGLANG_PAGES: EnginePages = {
  programs: [{ prefix: 'sglang:', program: 'sglang' }],
  wanted: withPrefix('sglang:', [
    'cache_config_info',
    'cache_hit_rate',
    'context_len',
    'generation_tokens_histogram_count',
    'generation_tokens_histogram_sum',
    'kv_available_tokens',
    'kv_cache_memory_usage_gb',
    'kv_evictable_tokens',
    'kv_used_tokens',
    'max_total_num_tokens',
    'num_bootstrap_failed_reqs_total',
    'num_pages',
    'num_queue_reqs',
    'num_requests_total',
    'num_retracted_reqs',
    'num_running_reqs',
    'num_transfer_failed_reqs_total',
    'page_size',
    'prompt_tokens_histogram_count',
    'prompt_tokens_histogram_sum',
    'prompt_tokens_total',
    'realtime_tokens_total',
    'time_to_first_token_seconds_sum',
    'time_to_first_token_seconds_count',
    'token_usage',
    'weight_memory_usage_gb',
  ]),
  read(found) {
    for (const sample of found.of('sglang:page_size'))
      found.addSize(sample, positiveNumberOf(sample.valueText));
    for (const sample of found.of('sglang:cache_config_info'))
      found.addSize(sample, positiveNumberOf(sample.labels.get('page_size')), {
        labels: ['page_size', 'num_pages'],
      });
    addGauge(found, 'sglang:num_pages', 'total_kv_blocks');
    addGauge(found, 'sglang:max_total_num_tokens', 'kv_cache_tokens');
    addGauge(found, 'sglang:context_len', 'max_model_len');
  },
  promptTokens: [
    {
      cached: { metric: TOKENS, labels: { mode: 'prefill_cache' } },
      computed: { metric: TOKENS, labels: { mode: 'prefill_compute' } },
    },
  ],
  hitGauges: ['sglang:cache_hit_rate'],
  preemptions: ['sglang:num_retracted_reqs'],
  cacheUsage: ['sglang:token_usage'],
  running: ['sglang:num_running_reqs'],
  waiting: ['sglang:num_queue_reqs'],
  sequenceTokens: {
    prompt: 'sglang:prompt_tokens_histogram',
    answer: 'sglang:generation_tokens_histogram',
  },
  transfers: {
    failed: ['sglang:num_transfer_failed_reqs_total', 'sglang:num_bootstrap_failed_reqs_total'],
    expired: [],
  },
};
