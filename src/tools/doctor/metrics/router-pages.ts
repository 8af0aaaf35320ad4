import {
  type EnginePages,
  type RouterLookups,
  withPrefix,
} from '../../../engines/descriptor/engine-pages.js';

/** Reads no block size and no setting: pages of routers have none. */
function readNothing(): void {}

/** A label that no sample has: what a program does not count. */
const NEVER: Readonly<Record<string, string>> = { no_such_label: '' };

/** Names under two prefixes, as llm-d's picker has them since it was renamed. */
function underBoth(names: readonly string[]): readonly string[] {
  return [...withPrefix('inference_extension_', names), ...withPrefix('llm_d_epp_', names)];
}

/** Endpoint pickers of llm-d and of the Gateway API Inference Extension (pkg/epp/metrics, pkg/kvcache/metrics). */
const PICKER_PAGES: EnginePages = {
  programs: [
    'llm_d_epp_',
    'llm_d_inference_scheduler_',
    'inference_extension_',
    'inference_objective_',
    'inference_model_',
    'inference_pool_',
    'kvcache_index_',
  ].map((prefix) => ({ prefix, program: 'llm-d' })),
  wanted: [
    ...underBoth([
      'info',
      'prefix_indexer_size',
      'prefix_indexer_hit_ratio_sum',
      'prefix_indexer_hit_ratio_count',
      'scheduler_attempts_total',
    ]),
    ...withPrefix('kvcache_index_', [
      'admissions_total',
      'evictions_total',
      'lookup_requests_total',
      'lookup_hits_total',
    ]),
    ...withPrefix('llm_d_epp_kv_cache_', [
      'events_active_subscribers',
      'events_messages_received_total',
      'events_zmq_errors_total',
      'events_subscriber_reconnections_total',
      'events_stores_skipped_total',
      'index_admissions_total',
      'index_lookup_requests_total',
      'index_lookup_hits_total',
    ]),
    ...withPrefix('llm_d_epp_', [
      'ready_endpoints',
      'request_total',
      'request_cached_tokens_sum',
      'request_input_tokens_sum',
    ]),
    ...withPrefix('inference_objective_', ['request_total', 'prompt_cached_tokens_sum', 'input_tokens_sum']),
    ...withPrefix('inference_pool_', ['ready_pods', 'average_kv_cache_utilization']),
    'inference_model_request_total',
  ],
  read: readNothing,
  promptTokens: [
    {
      cached: { metric: 'llm_d_epp_request_cached_tokens_sum' },
      all: { metric: 'llm_d_epp_request_input_tokens_sum' },
      isOfFleet: true,
    },
    {
      cached: { metric: 'inference_objective_prompt_cached_tokens_sum' },
      all: { metric: 'inference_objective_input_tokens_sum' },
      isOfFleet: true,
    },
  ],
  // A sum of shares over their count.
  guessedLookups: underBoth(['prefix_indexer_hit_ratio']).map((name) => ({
    found: { metric: `${name}_sum` },
    all: { metric: `${name}_count` },
  })),
  routerLookups: [
    {
      all: { metric: 'llm_d_epp_kv_cache_index_lookup_requests_total' },
      foundBlocks: { metric: 'llm_d_epp_kv_cache_index_lookup_hits_total' },
    },
    {
      all: { metric: 'kvcache_index_lookup_requests_total' },
      foundBlocks: { metric: 'kvcache_index_lookup_hits_total' },
    },
  ],
  appliedEvents: [
    {
      metric: 'llm_d_epp_kv_cache_events_messages_received_total',
      // A counter with labels is not on the page before it has counted.
      countedWith: 'llm_d_epp_kv_cache_events_active_subscribers',
      applied: {},
      parentMissing: NEVER,
      removed: NEVER,
      removeMissing: NEVER,
    },
  ],
  notes: [
    { metric: 'inference_pool_ready_pods', says: 'ready pods' },
    { metric: 'llm_d_epp_ready_endpoints', says: 'ready endpoints' },
    { metric: 'kvcache_index_admissions_total', says: 'blocks admitted to the index' },
    { metric: 'llm_d_epp_kv_cache_index_admissions_total', says: 'blocks admitted to the index' },
    { metric: 'kvcache_index_lookup_requests_total', says: 'lookups' },
    { metric: 'llm_d_epp_kv_cache_index_lookup_requests_total', says: 'lookups' },
    { metric: 'kvcache_index_lookup_hits_total', says: 'blocks found' },
    { metric: 'llm_d_epp_kv_cache_index_lookup_hits_total', says: 'blocks found' },
    { metric: 'llm_d_epp_kv_cache_events_active_subscribers', says: 'subscribers of KV events' },
    { metric: 'llm_d_epp_kv_cache_events_messages_received_total', says: 'messages of KV events' },
    { metric: 'llm_d_epp_kv_cache_events_zmq_errors_total', says: 'errors of subscribers' },
    { metric: 'llm_d_epp_kv_cache_events_stores_skipped_total', says: 'stores skipped' },
    { metric: 'inference_extension_prefix_indexer_size', says: 'blocks in the index that guesses' },
    { metric: 'llm_d_epp_prefix_indexer_size', says: 'blocks in the index that guesses' },
  ],
};

/** Its decisions with the index of KV events, or with the one that guesses. */
function aibrixDecisions(using_kv_sync: 'true' | 'false'): RouterLookups {
  const metric = 'aibrix_prefix_cache_routing_decisions_total';
  return {
    all: { metric, labels: { using_kv_sync } },
    missed: { metric, labels: { using_kv_sync, match_percent_bucket: '0' } },
  };
}

/** AIBrix's gateway plugin (pkg/plugins/gateway/algorithms/prefix_cache.go, pkg/cache/kvcache/metrics.go, 0.4 to 0.7). */
const AIBRIX_PAGES: EnginePages = {
  programs: [
    { prefix: 'aibrix_', program: 'aibrix' },
    { prefix: 'gateway_request_model_', program: 'aibrix' },
  ],
  wanted: [
    ...withPrefix('aibrix_', [
      'prefix_cache_routing_decisions_total',
      'prefix_cache_routing_errors_total',
      'prefix_cache_indexer_status',
      'kvcache_zmq_connection_status',
      'kvcache_zmq_errors_total',
      'kvcache_zmq_events_received_total',
      'kvcache_zmq_events_processed_total',
      'kvcache_zmq_missed_events_total',
      'kvcache_zmq_replay_failures_total',
    ]),
    'gateway_request_model_success_total',
    'gateway_request_model_fail_total',
  ],
  read: readNothing,
  routerLookups: [aibrixDecisions('true')],
  guessedLookups: [aibrixDecisions('false')],
  appliedEvents: [
    {
      metric: 'aibrix_kvcache_zmq_events_processed_total',
      countedWith: 'aibrix_kvcache_zmq_connection_status',
      applied: { event_type: 'BlockStored' },
      parentMissing: NEVER,
      removed: { event_type: 'BlockRemoved' },
      removeMissing: NEVER,
    },
  ],
  droppedEvents: ['aibrix_kvcache_zmq_missed_events_total'],
  notes: [
    { metric: 'aibrix_kvcache_zmq_connection_status', says: 'pods whose KV events are subscribed to' },
    { metric: 'aibrix_kvcache_zmq_events_received_total', says: 'KV events received' },
    { metric: 'aibrix_kvcache_zmq_missed_events_total', says: 'KV events missed' },
    { metric: 'aibrix_kvcache_zmq_errors_total', says: 'errors of subscriptions' },
    { metric: 'aibrix_prefix_cache_routing_errors_total', says: 'routing errors' },
  ],
};

/** The gateway of SGLang: sgl-router to 0.3 and Shepherd Model Gateway (model_gateway/src/observability/metrics.rs). */
const GATEWAY_PAGES: EnginePages = {
  programs: [
    { prefix: 'smg_', program: 'smg' },
    { prefix: 'sgl_router_', program: 'smg' },
  ],
  wanted: [
    ...withPrefix('smg_', [
      'worker_health',
      'worker_pool_size',
      'worker_selection_total',
      'engine_cache_hit_rate',
      'kv_event_subscription_failures_total',
      'router_requests_total',
    ]),
    ...withPrefix('sgl_router_', [
      'active_workers',
      'cache_hits_total',
      'cache_misses_total',
      'policy_decisions_total',
      'requests_total',
      'tree_size',
      'worker_health',
    ]),
  ],
  read: readNothing,
  hitGauges: ['smg_engine_cache_hit_rate'],
  guessedLookups: [
    {
      found: { metric: 'sgl_router_cache_hits_total' },
      missed: { metric: 'sgl_router_cache_misses_total' },
    },
  ],
  notes: [
    { metric: 'smg_worker_health', says: 'healthy workers' },
    { metric: 'sgl_router_active_workers', says: 'active workers' },
    { metric: 'smg_kv_event_subscription_failures_total', says: 'failed subscriptions to KV events' },
  ],
};

/** vllm-router, which began as sgl-router (src/metrics.rs). */
const VLLM_ROUTER_PAGES: EnginePages = {
  programs: [{ prefix: 'vllm_router_', program: 'vllm-router' }],
  wanted: withPrefix('vllm_router_', [
    'active_workers',
    'cache_hits_total',
    'cache_misses_total',
    'policy_decisions_total',
    'requests_total',
    'tree_size',
    'worker_health',
  ]),
  read: readNothing,
  guessedLookups: [
    {
      found: { metric: 'vllm_router_cache_hits_total' },
      missed: { metric: 'vllm_router_cache_misses_total' },
    },
  ],
  notes: [{ metric: 'vllm_router_active_workers', says: 'active workers' }],
};

/** The router of vLLM's production stack, whose page has the names of vLLM's families, by server (src/vllm_router/services/metrics_service). */
const PRODUCTION_STACK_PAGES: EnginePages = {
  programs: ['vllm:healthy_pods_total', 'vllm:current_qps', 'vllm:num_incoming_requests'].map((prefix) => ({
    prefix,
    program: 'production-stack',
  })),
  wanted: withPrefix('vllm:', [
    'current_qps',
    'gpu_prefix_cache_hit_rate',
    'healthy_pods_total',
    'num_incoming_requests_total',
  ]),
  read: readNothing,
  hitGauges: ['vllm:gpu_prefix_cache_hit_rate'],
  notes: [{ metric: 'vllm:healthy_pods_total', says: 'healthy pods' }],
};

/** Pages of routers that are no engine's: the most specific first, as some have families of an engine too. */
export const ROUTER_PAGES: readonly EnginePages[] = [
  PRODUCTION_STACK_PAGES,
  VLLM_ROUTER_PAGES,
  GATEWAY_PAGES,
  AIBRIX_PAGES,
  PICKER_PAGES,
];

/** Routers whose pages are known, for messages. */
export const ROUTER_PAGE_OWNERS =
  "llm-d's picker, AIBrix's gateway, sgl-router and smg, vllm-router, vLLM's production stack";
