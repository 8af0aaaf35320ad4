import type { CauseId } from '../../../../src/tools/doctor/diagnosis.js';
import type { Evidence, EvidencePart } from '../../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../../src/tools/doctor/gather/metrics.js';
import type { MemoryArithmetic } from '../../../../src/tools/doctor/memory/memory-arithmetic.js';
import type { MetricsPage } from '../../../../src/tools/doctor/metrics/metrics-page.js';
import { readMetricsPage } from '../../../../src/tools/doctor/metrics/read-metrics-page.js';
import {
  findingOf,
  frontendPage,
  joined,
  logOf,
  memoryOf,
  misreadBy,
  settingOf,
  sizeOf,
  tallyOf,
  tokensOf,
  workerPage,
} from './evidence.js';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 1, 16, 14, 0);
/** Ten minutes of a log. */
const SPAN = { firstMs: START_MS, lastMs: START_MS + 10 * MINUTE_MS };
const rateOf = (counts: readonly number[]) => ({ startMs: START_MS, bucketMs: MINUTE_MS, counts });

/** One fleet, and the cause that is named first for it. */
export interface Case {
  readonly name: string;
  readonly evidence: Evidence;
  readonly memory?: readonly MemoryArithmetic[];
  /** The first that has to be named. */
  readonly first: `${CauseId} ${'certain' | 'likely' | 'possible'}`;
}

/** The page of a kv-accord frontend that finds half of its blocks, with the results of one worker. */
export function resultsPage(
  of: Readonly<Record<'doubted' | 'predicted' | 'reported' | 'over', number>>,
): MetricsPage {
  const worker = '{group="tiny",worker="w-1"}';
  const name = 'kv_accord_router_worker_';
  const text = [
    `${name}doubted${worker} ${of.doubted}`,
    `${name}predicted_cached_tokens_total${worker} ${of.predicted}`,
    `${name}reported_cached_tokens_total${worker} ${of.reported}`,
    `${name}over_predicted_tokens_total${worker} ${of.over}`,
    'kv_accord_router_cached_block_ratio_sum{group="tiny"} 50',
    'kv_accord_router_cached_block_ratio_count{group="tiny"} 100',
  ].join('\n');
  return readMetricsPage('http://frontend:9463/metrics', `${text}\n`).page;
}

/** The page of a vLLM with NIXL after 40 requests, of which a prefill engine answers each with one token. */
function splitPage(
  name: string,
  of: {
    readonly answered: number;
    readonly computed: number;
    readonly arrived: number;
    readonly expired?: number;
  },
): EvidencePart {
  const lines = [
    'vllm:nixl_num_failed_transfers_total 0',
    'vllm:nixl_num_kv_expired_reqs_total 0',
    `vllm:prompt_tokens_by_source_total{source="local_compute"} ${of.computed}`,
    `vllm:prompt_tokens_by_source_total{source="external_kv_transfer"} ${of.arrived}`,
    'vllm:request_generation_tokens_count 40',
    `vllm:request_generation_tokens_sum ${of.answered}`,
  ];
  return metricsPart(name, `${lines.join('\n')}\n`);
}

/** One fleet for each cause, with what an operator would have of it. */
export const CASES: readonly Case[] = [
  {
    name: 'a decode engine that refuses the blocks of a prefill engine',
    evidence: joined({
      settings: [
        settingOf('worker', 'dtype', 'torch.bfloat16', { who: 'prefill-0' }),
        settingOf('worker', 'dtype', 'torch.float16', { who: 'decode-0' }),
      ],
      logs: [logOf([tallyOf('transfer_refused', 2, { values: new Map([['compatibility hash', 2]]) })])],
    }),
    first: 'pair_incompatible certain',
  },
  {
    name: 'a side channel that decode engines cannot reach',
    evidence: joined({ logs: [logOf([tallyOf('transfer_unreachable', 4), tallyOf('transfer_failed', 4)])] }),
    first: 'side_channel_unreachable likely',
  },
  {
    name: 'a side channel whose thread has ended, and those that wait for it',
    evidence: joined({
      logs: [
        logOf([tallyOf('transfer_listener_ended', 1)], { name: 'prefill.log' }),
        logOf([tallyOf('transfer_unreachable', 4), tallyOf('transfer_failed', 4)], { name: 'decode.log' }),
      ],
    }),
    first: 'side_channel_dead certain',
  },
  {
    name: 'a router whose prefill engines are gone',
    evidence: joined({
      logs: [logOf([tallyOf('role_missing', 9, { values: new Map([['prefill', 9]]) })])],
    }),
    first: 'role_missing likely',
  },
  {
    name: 'decode engines that compute every prompt beside prefill engines that do the same',
    evidence: joined(
      splitPage('http://prefill:8000/metrics', { answered: 40, computed: 28_000, arrived: 0 }),
      splitPage('http://decode:8000/metrics', { answered: 4_000, computed: 28_000, arrived: 0 }),
    ),
    first: 'decode_recomputes likely',
  },
  {
    name: 'prefill engines whose blocks expire',
    evidence: joined({
      logs: [logOf([tallyOf('transfer_expired', 12, { values: new Map([['fetched by nobody', 12]]) })])],
    }),
    first: 'leases_expire likely',
  },
  {
    name: 'a pair whose transfers fail, for no reason that was seen',
    evidence: joined({ logs: [logOf([tallyOf('transfer_failed', 3)])] }),
    first: 'transfers_fail likely',
  },
  {
    name: 'a pair with NVLink whose blocks go over TCP',
    evidence: joined({
      logs: [logOf([tallyOf('transfer_over_tcp', 1, { values: new Map([['tcp/eth0', 1]]) })])],
    }),
    first: 'transfer_slow likely',
  },
  {
    name: 'a canary whose blocks did not arrive',
    evidence: joined({
      settings: [
        {
          ...settingOf('worker', 'canary', 'failed', { who: 'w-1' }),
          origin: {
            place: 'http://aggregator:9400, worker w-1',
            text: "canary failed: /v1/completions: KV events of tcp://127.0.0.1:5557 is not this engine's",
          },
        },
      ],
    }),
    first: 'canary_failed certain',
  },
  {
    name: 'a worker whose results contradict its cache view, beside a good hit rate',
    evidence: joined({
      metrics: [resultsPage({ doubted: 1, predicted: 6_400, reported: 3_200, over: 3_200 })],
    }),
    first: 'results_contradict certain',
  },
  {
    name: 'results that differ for no known reason, of a worker that is not doubted yet',
    evidence: joined({
      metrics: [resultsPage({ doubted: 0, predicted: 6_400, reported: 5_600, over: 800 })],
    }),
    first: 'results_contradict likely',
  },
  {
    name: 'a frontend that uses 16 before an engine whose events have 32',
    evidence: joined(
      frontendPage({ size: 16, hitRate: 0, cachedTokens: 132_000, stored: 15, parentMissing: 33 }),
      { sizes: [sizeOf('worker', 32, 'observed')] },
    ),
    first: 'block_size_mismatch certain',
  },
  {
    name: 'stores without parents, no hit, and engines that reuse',
    evidence: joined(frontendPage({ hitRate: 0, cachedTokens: 132_000, stored: 15, parentMissing: 33 }), {
      logs: [logOf([tallyOf('parent_block_not_found', 4_000)])],
    }),
    first: 'block_size_mismatch likely',
  },
  {
    name: 'dynamo.router with its default of 128',
    evidence: joined({
      sizes: [sizeOf('router', 128, 'default'), sizeOf('worker', 32, 'in_use')],
      findings: [findingOf('router-block-size-default')],
    }),
    first: 'block_size_mismatch likely',
  },
  {
    name: "a worker whose card says 16 and whose engine's events have 32",
    evidence: joined(frontendPage({ size: 16, hitRate: 0, cachedTokens: 128_000, stored: 48 }), {
      sizes: [sizeOf('worker', 16, 'declared'), sizeOf('worker', 32, 'observed')],
    }),
    first: 'wrong_model_card certain',
  },
  {
    name: 'stores that are all applied, no hit, and engines that reuse',
    evidence: joined(frontendPage({ size: 16, hitRate: 0, cachedTokens: 128_000, stored: 48 })),
    first: 'wrong_model_card likely',
  },
  {
    name: 'an ERROR line about checksums',
    evidence: joined(frontendPage({ size: 32, hitRate: 0.82, cachedTokens: 160_000, stored: 48 }), {
      logs: [
        logOf([
          tallyOf('workers_rejected', 1, {
            byWorker: new Map([['c7d4e3ff8175700', 1]]),
            values: new Map([['b081f2a4 -> ebe25500', 1]]),
          }),
        ]),
      ],
      sizes: [sizeOf('worker', 32, 'in_use', 'a'), sizeOf('worker', 16, 'in_use', 'b')],
    }),
    first: 'workers_rejected certain',
  },
  {
    name: 'workers with two seeds, and a router that finds nothing',
    evidence: joined(frontendPage({ hitRate: 0 }), {
      settings: [
        settingOf('worker', 'hash_seed', '0', { who: 'a' }),
        settingOf('worker', 'hash_seed', '1', { who: 'b' }),
      ],
    }),
    first: 'hash_mismatch possible',
  },
  {
    name: 'workers of one model with two chat templates, behind a router that finds blocks',
    evidence: joined(frontendPage({ hitRate: 0.8 }), {
      tokens: [tokensOf('a', [1, 2, 3]), tokensOf('b', [1, 5, 3])],
    }),
    first: 'token_mismatch certain',
  },
  {
    name: 'workers whose events are swapped, behind a router that finds blocks',
    evidence: joined(frontendPage({ hitRate: 0.8 }), {
      eventSources: [misreadBy('a', 5567, 5557), misreadBy('b', 5557, 5567)],
    }),
    first: 'misread_events certain',
  },
  {
    name: 'workers that are configured to publish nothing, and a router without a store',
    evidence: joined(frontendPage({ size: 32, hitRate: 0, cachedTokens: 128_000, stored: 0 }), {
      settings: [settingOf('worker', 'publishes_kv_events', 'false', { who: 'a' })],
    }),
    first: 'events_off certain',
  },
  {
    name: 'engines without prefix caching',
    evidence: joined(frontendPage({ hitRate: 0, cachedTokens: 0, stored: 0 }), {
      settings: [settingOf('worker', 'prefix_caching', 'False', { who: 'a' })],
    }),
    first: 'events_off certain',
  },
  {
    name: 'workers that publish, and a router without a store',
    evidence: joined(
      frontendPage({ size: 32, hitRate: 0, cachedTokens: 128_000, stored: 0 }),
      workerPage(500, 0),
    ),
    first: 'events_unreachable certain',
  },
  {
    name: 'gaps in the numbers of events, and stores that lack their parents now and then',
    evidence: joined(
      frontendPage({ size: 32, hitRate: 0.2, cachedTokens: 160_000, stored: 900, parentMissing: 100 }),
      { logs: [logOf([tallyOf('events_lost', 12, { values: new Map([['gap of 7', 12]]) })])] },
    ),
    first: 'events_lost certain',
  },
  {
    name: 'warnings of missing parents in the first two of ten minutes',
    evidence: joined(
      frontendPage({ size: 32, hitRate: 0.5, cachedTokens: 120_000, stored: 950, parentMissing: 50 }),
      {
        logs: [
          logOf(
            [tallyOf('parent_block_not_found', 50, { rate: rateOf([40, 10, 0, 0, 0, 0, 0, 0, 0, 0]) })],
            SPAN,
          ),
        ],
      },
    ),
    first: 'frontend_late likely',
  },
  {
    name: 'as many removals as stores, preemptions, a full cache, and hardly a hit',
    evidence: joined(
      frontendPage({ size: 32, hitRate: 0.02, cachedTokens: 4_000, stored: 5_000, removed: 4_800 }),
      { logs: [logOf([tallyOf('preemption', 340)])] },
    ),
    first: 'cache_churn likely',
  },
  {
    name: 'sequences that need more than the cache holds, and preemptions',
    evidence: joined(frontendPage({ size: 32, hitRate: 0.02, cachedTokens: 4_000 }), {
      logs: [logOf([tallyOf('preemption', 340)])],
    }),
    memory: [memoryOf({ capacityTokens: 300_000, demandTokens: 2_000_000 })],
    first: 'cache_churn certain',
  },
  {
    name: 'LoRA adapters, stores that are applied, no hit, and engines that reuse',
    evidence: joined(frontendPage({ size: 32, hitRate: 0, cachedTokens: 128_000, stored: 48 }), {
      settings: [settingOf('worker', 'lora_adapters', 'sql,chat')],
    }),
    first: 'other_namespace likely',
  },
  {
    name: 'an engine that raised its block size, and a frontend with the old one',
    evidence: joined(frontendPage({ size: 16, hitRate: 0, cachedTokens: 128_000 }), {
      logs: [
        logOf([tallyOf('block_size_changed_by_engine', 1, { values: new Map([['16 -> 528', 1]]) })], {
          name: 'worker.log',
        }),
      ],
    }),
    first: 'hybrid_block_size certain',
  },
  {
    name: 'an engine whose publisher cannot write its hashes',
    evidence: joined({
      logs: [logOf([tallyOf('publisher_failed', 3, { values: new Map([["can't serialize ints", 3]]) })])],
    }),
    first: 'publisher_failed likely',
  },
  {
    name: 'a router that cannot read what engines publish',
    evidence: joined({ logs: [logOf([tallyOf('events_unreadable', 40)])] }),
    first: 'events_unreadable likely',
  },
  {
    name: "llm-d's picker, which started after its engines",
    evidence: joined({ logs: [logOf([tallyOf('picker_parent_unknown', 40)])] }),
    first: 'picker_index_incomplete likely',
  },
  {
    name: "llm-d's picker without the tokenizer of its model",
    evidence: joined({ logs: [logOf([tallyOf('picker_scores_failed', 12)])] }),
    first: 'prompts_not_scored likely',
  },
  {
    name: "a router of vLLM's production stack that has no address of an engine",
    evidence: joined({ logs: [logOf([tallyOf('instance_unknown', 3)])] }),
    first: 'instance_unknown likely',
  },
  {
    name: 'a frontend that could not add a model',
    evidence: joined({ logs: [logOf([tallyOf('model_not_added', 1)])] }),
    first: 'model_not_added likely',
  },
  {
    name: 'a store behind the engine that loses blocks',
    evidence: joined({
      logs: [logOf([tallyOf('offload_failed', 2, { values: new Map([['LMCache has no room', 2]]) })])],
    }),
    first: 'offload_failed likely',
  },
  {
    name: 'a worker that does not reach etcd',
    evidence: joined({
      logs: [logOf([tallyOf('control_plane_unreachable', 3, { values: new Map([['etcd', 3]]) })])],
    }),
    first: 'control_plane_unreachable likely',
  },
  {
    name: 'an engine that refuses two settings together',
    evidence: joined({
      logs: [
        logOf([
          tallyOf('settings_refused', 1, {
            values: new Map([['--page-size must be a multiple of --hicache-size', 1]]),
          }),
        ]),
      ],
    }),
    first: 'settings_refused likely',
  },
  {
    name: 'an engine without the library of its connector',
    evidence: joined({
      logs: [logOf([tallyOf('library_missing', 1, { values: new Map([["No module named 'nixl'", 1]]) })])],
    }),
    first: 'library_missing likely',
  },
  ...[
    'memory cannot be registered',
    'no network device that it can use',
    'GPUs cannot map the memory of each other',
    'the other engine is gone or is not reached',
    'the backend reports an error',
  ].map(
    (fault): Case => ({
      name: `a transfer below which ${fault}`,
      evidence: joined({
        logs: [logOf([tallyOf('transfer_path_broken', 4, { values: new Map([[fault, 4]]) })])],
      }),
      first: 'transfer_path_broken likely',
    }),
  ),
  ...['other processes use the GPU', 'the longest sequence needs more than the cache has'].map(
    (fault): Case => ({
      name: `an engine without room: ${fault}`,
      evidence: joined({
        logs: [logOf([tallyOf('cache_memory_missing', 1, { values: new Map([[fault, 1]]) })])],
      }),
      first: 'cache_memory_missing likely',
    }),
  ),
  {
    name: 'a connector that ends with an exception',
    evidence: joined({
      logs: [
        logOf([
          tallyOf('connector_crashed', 2, { values: new Map([['nixl_connector.py in get_finished', 2]]) }),
        ]),
      ],
    }),
    first: 'connector_crashed likely',
  },
  {
    name: 'an engine that ended for want of memory on its GPU',
    evidence: joined({
      logs: [
        logOf([], {
          failures: [
            {
              who: '',
              ends: 2,
              isLast: false,
              parts: [],
              sentence: 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB',
              origin: { place: 'worker.log:7', text: 'torch.OutOfMemoryError' },
            },
          ],
        }),
      ],
    }),
    first: 'program_ended likely',
  },
  {
    name: 'a router without an engine that is ready',
    evidence: joined({ logs: [logOf([tallyOf('role_missing', 5, { values: new Map([['any', 5]]) })])] }),
    first: 'role_missing likely',
  },
  {
    name: 'a router of Dynamo 0.9 that keeps the number of the first worker',
    evidence: joined({
      logs: [logOf([tallyOf('router_size_mismatch', 1, { values: new Map([['16 -> 32', 1]]) })])],
    }),
    first: 'block_size_mismatch certain',
  },
  {
    name: 'three frontends that guess, each for itself',
    evidence: joined({
      settings: [
        settingOf('frontend', 'frontend_replicas', '3'),
        settingOf('frontend', 'router_uses_events', 'false'),
        settingOf('frontend', 'router_mode', 'kv'),
      ],
    }),
    first: 'unsynced_frontends likely',
  },
  {
    name: 'a frontend in round-robin mode',
    evidence: joined({ settings: [settingOf('frontend', 'router_mode', 'round-robin')] }),
    first: 'not_kv_routing certain',
  },
  {
    name: 'a router that guesses badly while workers publish',
    evidence: joined(frontendPage({ size: 32, hitRate: 0.1, cachedTokens: 160_000 }), {
      settings: [
        settingOf('frontend', 'router_mode', 'kv'),
        settingOf('frontend', 'router_uses_events', 'false'),
        settingOf('worker', 'publishes_kv_events', 'true'),
      ],
    }),
    first: 'events_ignored certain',
  },
  {
    name: 'prompts of which no two begin alike',
    evidence: joined(frontendPage({ size: 32, hitRate: 0, decisions: 400, cachedTokens: 0, stored: 900 }), {
      sizes: [sizeOf('worker', 32, 'in_use')],
    }),
    first: 'no_shared_prefixes likely',
  },
];
