/** What routers inside Dynamo's frontend, and Dynamo's stand-alone indexer, count under a prefix of their own. */
const DYNAMO_INDEX = ['kv_cache_events_applied', 'kv_cache_event_warnings'];

/** `dynamo_component_router_…` of a frontend. */
const DYNAMO_ROUTER = [
  'kv_hit_rate_sum',
  'kv_hit_rate_count',
  'kv_selected_cached_prefix_tokens_total',
  'kv_best_eligible_cached_prefix_tokens_total',
  'kv_worker_reused_tokens_total',
  'kv_event_source_mismatch_workers',
  'kv_zmq_ingress_batches_total',
  'kv_zmq_ingress_lifecycle_total',
  'kv_zmq_ingress_sources',
  'active_sequence_zmq_ingress_sequence_gaps_total',
  'active_sequence_zmq_ingress_dropped_events_total',
  'input_sequence_tokens_sum',
  'input_sequence_tokens_count',
  'output_sequence_tokens_sum',
  'output_sequence_tokens_count',
  'overlap_blocks_lost_sum',
  'overlap_blocks_lost_count',
  'requests_started_total',
  'requests_total',
  'time_to_first_token_seconds_sum',
  'time_to_first_token_seconds_count',
  'worker_registered',
];

/** `dynamo_frontend_…`. */
const DYNAMO_FRONTEND = [
  'cached_tokens_sum',
  'cached_tokens_count',
  'input_sequence_tokens_sum',
  'input_sequence_tokens_count',
  'output_sequence_tokens_sum',
  'output_sequence_tokens_count',
  'inflight_requests',
  'active_requests',
  'queued_requests',
  'model_context_length',
  'model_kv_cache_block_size',
  'model_max_num_batched_tokens',
  'model_max_num_seqs',
  'model_total_kv_blocks',
  'requests_started_total',
  'requests_total',
  'time_to_first_token_seconds_sum',
  'time_to_first_token_seconds_count',
];

/** `dynamo_component_…` of a worker. */
const DYNAMO_WORKER = [
  'kv_publisher_engines_dropped_events_total',
  'kv_publisher_zmq_events_total',
  'kv_publisher_zmq_suspicious_events_total',
  'uptime_seconds',
];

/** `dynamo_kvindexer_…`. */
const DYNAMO_INDEXER = ['listeners', 'models', 'workers', 'requests_total'];

/** `vllm:…`. */
const VLLM = [
  'cache_config_info',
  'external_prefix_cache_hits_total',
  'external_prefix_cache_queries_total',
  'gpu_cache_usage_perc',
  'kv_cache_usage_perc',
  'lora_requests_info',
  'num_preemptions_total',
  'num_requests_running',
  'num_requests_waiting',
  'prefix_cache_hits_total',
  'prefix_cache_queries_total',
  'prompt_tokens_cached_total',
  'prompt_tokens_total',
  'request_prompt_tokens_sum',
  'request_prompt_tokens_count',
  'request_generation_tokens_sum',
  'request_generation_tokens_count',
  'time_to_first_token_seconds_sum',
  'time_to_first_token_seconds_count',
];

/** `sglang:…`. */
const SGLANG = [
  'cache_config_info',
  'cache_hit_rate',
  'context_len',
  'kv_available_tokens',
  'kv_cache_memory_usage_gb',
  'kv_evictable_tokens',
  'kv_used_tokens',
  'max_total_num_tokens',
  'num_pages',
  'num_queue_reqs',
  'num_requests_total',
  'num_retracted_reqs',
  'num_running_reqs',
  'page_size',
  'prompt_tokens_total',
  'realtime_tokens_total',
  'time_to_first_token_seconds_sum',
  'time_to_first_token_seconds_count',
  'token_usage',
  'weight_memory_usage_gb',
];

/** `trtllm_…`, some with another name in other releases. */
const TRTLLM = [
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
];

/** `kv_accord_…`. */
const KV_ACCORD = [
  'agreed_tokens_per_block',
  'agreement_state',
  'build_info',
  'engine_up',
  'gate_open',
  'index_blocks',
  'kv_events_total',
  'kv_gaps_total',
  'kv_subscriptions',
  'router_actual_cached_tokens_total',
  'router_cached_block_ratio_sum',
  'router_cached_block_ratio_count',
  'router_decisions_total',
  'router_predicted_cached_tokens_total',
  'router_untracked_blocks_total',
  'router_worker_doubted',
  'router_worker_over_predicted_tokens_total',
  'router_worker_predicted_cached_tokens_total',
  'router_worker_reported_cached_tokens_total',
  'router_worker_under_predicted_tokens_total',
  'tokens_per_block',
];

/** `DCGM_FI_DEV_…` of NVIDIA's exporter, in MiB. */
const DCGM = ['FB_FREE', 'FB_USED', 'FB_RESERVED', 'FB_TOTAL'];

const withPrefix = (prefix: string, names: readonly string[]): readonly string[] =>
  names.map((name) => `${prefix}${name}`);

/** The metrics that are kept of a page, by exact name. All others are passed over as they come. */
export const WANTED_METRICS: ReadonlySet<string> = new Set([
  ...withPrefix('dynamo_component_', [...DYNAMO_INDEX, ...DYNAMO_WORKER]),
  ...withPrefix('dynamo_kvrouter_', DYNAMO_INDEX),
  ...withPrefix('dynamo_component_router_', DYNAMO_ROUTER),
  ...withPrefix('dynamo_frontend_', DYNAMO_FRONTEND),
  ...withPrefix('dynamo_kvindexer_', DYNAMO_INDEXER),
  ...withPrefix('vllm:', VLLM),
  ...withPrefix('sglang:', SGLANG),
  ...withPrefix('trtllm_', TRTLLM),
  ...withPrefix('trtllm:', TRTLLM),
  ...withPrefix('kv_accord_', KV_ACCORD),
  'kv_router_block_size_mismatch_total',
  ...withPrefix('DCGM_FI_DEV_', DCGM),
]);
