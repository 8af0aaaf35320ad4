import type { Registry } from 'prom-client';
import { ScrapedMetrics } from '../../../edge/platform/metrics/scraped-metrics.js';
import type { RouterTally } from '../router-tally.js';
import { UNSPLIT_REASONS } from '../routing.js';
import type { PairTally } from './pair-tally.js';

/** Counters of one number of a group. */
const COUNTERS: readonly (readonly [string, string, (tally: PairTally) => number])[] = [
  [
    'kv_accord_pd_transferred_tokens_total',
    'Prompt tokens whose KV blocks a decode worker received from a prefill worker.',
    ({ transferredTokens }) => transferredTokens,
  ],
  [
    'kv_accord_pd_recomputed_tokens_total',
    'Prompt tokens that a decode worker should have received and computed again.',
    ({ recomputedTokens }) => recomputedTokens,
  ],
  [
    'kv_accord_pd_transfers_total',
    'Requests whose decode worker went on from what a prefill worker had computed.',
    ({ transfers }) => transfers,
  ],
  [
    'kv_accord_pd_failed_transfers_total',
    'Requests whose decode worker could not go on from what a prefill worker had computed.',
    ({ failedTransfers }) => failedTransfers,
  ],
  [
    'kv_accord_pd_transfer_seconds_total',
    'Time from requests to decode workers to their first tokens: transfers, and the wait before them.',
    ({ transferMs }) => transferMs / 1_000,
  ],
];

/** What is split between prefill and decode workers; series for groups alone that split, or might have. */
export function registerPairMetrics(
  registry: Registry,
  groups: ReadonlyMap<string, { readonly tally: RouterTally }>,
): void {
  const metrics = new ScrapedMetrics(registry);
  metrics.counter(
    'kv_accord_pd_requests_total',
    'Requests of models with prefill and decode workers: split between two, or why one computes all.',
    ['group', 'how'],
    (add) => {
      for (const [group, { tally }] of groups) {
        if (tally.pairs.isIdle) continue;
        add({ group, how: 'split' }, tally.pairs.split);
        for (const how of UNSPLIT_REASONS) add({ group, how }, tally.pairs.unsplitFor(how));
      }
    },
  );
  for (const [name, help, read] of COUNTERS)
    metrics.counter(name, help, ['group'], (add) => {
      for (const [group, { tally }] of groups) if (!tally.pairs.isIdle) add({ group }, read(tally.pairs));
    });
}
