import { type EnginePages, withPrefix } from '../../../engines/descriptor/engine-pages.js';
import { positiveNumberOf } from '../../../engines/diagnosis/page-findings.js';

/** Pages of this product's own processes, read as those of an engine are. */
export const KV_ACCORD_PAGES: EnginePages = {
  programs: [{ prefix: 'kv_accord_', program: 'kv-accord' }],
  wanted: withPrefix('kv_accord_', [
    'agreed_tokens_per_block',
    'agreement_state',
    'build_info',
    'engine_up',
    'gate_open',
    'index_blocks',
    'kv_event_lag_seconds_sum',
    'kv_event_lag_seconds_count',
    'kv_events_total',
    'kv_gaps_total',
    'kv_subscriptions',
    'pd_recomputed_tokens_total',
    'pd_transferred_tokens_total',
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
  ]),
  /** What an aggregator has agreed for each group, and what a sidecar reports of its engine. */
  read(found) {
    for (const sample of found.of('kv_accord_agreed_tokens_per_block'))
      found.addSize(sample, positiveNumberOf(sample.valueText), {
        side: 'router',
        who: sample.labels.get('group') ?? '',
      });
    for (const sample of found.of('kv_accord_tokens_per_block'))
      found.addSize(sample, positiveNumberOf(sample.valueText));
  },
  routerHitRates: ['kv_accord_router_cached_block_ratio'],
};
