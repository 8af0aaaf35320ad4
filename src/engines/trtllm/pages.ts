import { type EnginePages, withPrefix } from '../descriptor/engine-pages.js';
import { addGauge, positiveNumberOf } from '../diagnosis/page-findings.js';

const NAMES: readonly string[] = [
  'kv_cache_tokens_per_block',
  'kv_cache_max_blocks',
  'kv_cache_utilization',
  'kv_cache_hit_rate',
  'kv_cache_reused_blocks_total',
  'kv_cache_missed_blocks_total',
  'num_requests_waiting',
  'num_requests_running',
  'request_success_total',
  'time_to_first_token_seconds_sum',
  'time_to_first_token_seconds_count',
  // Of dynamo.trtllm from 1.6 on, beside the engine's own.
  'kv_event_buffer_capacity',
  'kv_event_drain_batch_size_sum',
  'kv_event_drain_batch_size_count',
  'kv_event_id_gap_events_total',
];

/** Which of the two it is depends on the release. */
const PREFIXES = ['trtllm_', 'trtllm:'] as const;

/** `/prometheus/metrics` of TensorRT-LLM, and its families on the pages of others. */
export const TRTLLM_PAGES: EnginePages = {
  programs: [{ prefix: 'trtllm', program: 'trtllm' }],
  wanted: PREFIXES.flatMap((prefix) => withPrefix(prefix, NAMES)),
  read(found) {
    for (const prefix of PREFIXES) {
      for (const sample of found.of(`${prefix}kv_cache_tokens_per_block`))
        found.addSize(sample, positiveNumberOf(sample.valueText));
      addGauge(found, `${prefix}kv_cache_max_blocks`, 'total_kv_blocks');
      addGauge(found, `${prefix}kv_event_buffer_capacity`, 'kv_event_buffer_events');
    }
  },
  hitGauges: withPrefixes('kv_cache_hit_rate'),
  cacheUsage: withPrefixes('kv_cache_utilization'),
  droppedEvents: withPrefixes('kv_event_id_gap_events_total'),
  running: withPrefixes('num_requests_running'),
  waiting: withPrefixes('num_requests_waiting'),
};

function withPrefixes(name: string): readonly string[] {
  return PREFIXES.map((prefix) => `${prefix}${name}`);
}
