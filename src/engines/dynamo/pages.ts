import { type AppliedEvents, type EnginePages, withPrefix } from '../descriptor/engine-pages.js';
import { type PageFindings, positiveNumberOf } from '../diagnosis/page-findings.js';
import type { SettingName } from '../diagnosis/sighting-words.js';

/** What routers inside a frontend, and the stand-alone indexer, count under a prefix of their own. */
const INDEX = ['kv_cache_events_applied', 'kv_cache_event_warnings'];

/** `dynamo_component_router_…` of a frontend. */
const ROUTER = [
  'kv_hit_rate_sum',
  'kv_hit_rate_count',
  'kv_selected_cached_prefix_tokens_total',
  'kv_best_eligible_cached_prefix_tokens_total',
  'kv_worker_reused_tokens_total',
  'kv_event_source_mismatch_workers',
  'kv_zmq_ingress_batches_total',
  'kv_zmq_ingress_lifecycle_total',
  'kv_zmq_ingress_sources',
  'active_sequence_ingress_queue_depth',
  'active_sequence_zmq_ingress_sequence_gaps_total',
  'active_sequence_zmq_ingress_dropped_events_total',
  'approximate_cache_effective_policy',
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
const FRONTEND = [
  'cached_tokens_sum',
  'cached_tokens_count',
  'input_sequence_tokens_sum',
  'input_sequence_tokens_count',
  'output_sequence_tokens_sum',
  'output_sequence_tokens_count',
  'inflight_requests',
  'active_requests',
  'queued_requests',
  'router_queue_pending_requests',
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
const WORKER = [
  'kv_publisher_engines_dropped_events',
  'kv_publisher_engines_dropped_events_total',
  'kv_publisher_zmq_events_total',
  'kv_publisher_zmq_suspicious_events_total',
  'uptime_seconds',
];

/** `dynamo_kvindexer_…`. */
const INDEXER = ['listeners', 'models', 'workers', 'requests_total'];

/** Gauges of what the card of a model's workers has, by the setting's name. */
const CARD: readonly (readonly [string, SettingName])[] = [
  ['total_kv_blocks', 'total_kv_blocks'],
  ['max_num_seqs', 'max_num_seqs'],
  ['context_length', 'max_model_len'],
];

/** Pages of Dynamo's frontends, standalone indexers and workers. A worker's page has its engine's families too. */
export const DYNAMO_PAGES: EnginePages = {
  programs: [
    { prefix: 'dynamo_frontend_', program: 'dynamo-frontend' },
    { prefix: 'dynamo_kvindexer_', program: 'dynamo-indexer' },
    { prefix: 'dynamo_component_', program: 'dynamo-worker' },
  ],
  wanted: [
    ...withPrefix('dynamo_component_', [...INDEX, ...WORKER]),
    ...withPrefix('dynamo_kvrouter_', INDEX),
    ...withPrefix('dynamo_component_router_', ROUTER),
    ...withPrefix('dynamo_frontend_', FRONTEND),
    ...withPrefix('dynamo_kvindexer_', INDEXER),
    'kv_router_block_size_mismatch_total',
  ],
  read: readCards,
  promptTokens: [
    {
      cached: { metric: 'dynamo_frontend_cached_tokens_sum' },
      all: { metric: 'dynamo_frontend_input_sequence_tokens_sum' },
      isOfFleet: true,
    },
  ],
  running: ['dynamo_frontend_inflight_requests'],
  waiting: ['dynamo_frontend_queued_requests'],
  routerHitRates: ['dynamo_component_router_kv_hit_rate'],
  appliedEvents: ['dynamo_component_', 'dynamo_kvrouter_'].map((prefix) => appliedOf(prefix)),
  publishedEvents: {
    received: { metric: 'dynamo_component_kv_publisher_zmq_events_total', labels: { stage: 'received' } },
    emptied: {
      metric: 'dynamo_component_kv_publisher_zmq_suspicious_events_total',
      labels: { reason: 'empty_store_blocks' },
    },
  },
  droppedEvents: [
    'dynamo_component_kv_publisher_engines_dropped_events_total',
    'dynamo_component_kv_publisher_engines_dropped_events',
  ],
  traffic: {
    inputTokens: 'dynamo_frontend_input_sequence_tokens',
    outputTokens: 'dynamo_frontend_output_sequence_tokens',
    cachedTokens: 'dynamo_frontend_cached_tokens',
    uptimeSeconds: 'dynamo_component_uptime_seconds',
    workers: 'dynamo_component_router_worker_registered',
  },
};

function appliedOf(prefix: string): AppliedEvents {
  return {
    metric: `${prefix}kv_cache_events_applied`,
    applied: { event_type: 'stored', status: 'ok' },
    parentMissing: { event_type: 'stored', status: 'parent_block_not_found' },
    removed: { event_type: 'removed', status: 'ok' },
    removeMissing: { event_type: 'removed', status: 'block_not_found' },
  };
}

/** What a frontend took from the cards of a model's workers, and uses. A gauge is 0 where the card has nothing. */
function readCards(found: PageFindings): void {
  for (const sample of found.of('dynamo_frontend_model_kv_cache_block_size'))
    found.addSize(sample, positiveNumberOf(sample.valueText), {
      side: 'frontend',
      who: sample.labels.get('model') ?? '',
    });
  for (const [gauge, name] of CARD) {
    for (const sample of found.of(`dynamo_frontend_model_${gauge}`)) {
      const value = positiveNumberOf(sample.valueText);
      if (value !== undefined)
        found.addSetting(sample, name, String(value), {
          side: 'frontend',
          who: sample.labels.get('model') ?? '',
        });
    }
  }
}
