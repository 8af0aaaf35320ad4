import { EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import {
  MAX_METRICS_BYTES,
  type MetricFamilies,
  type MetricSample,
  readMetrics,
} from '../facts/prometheus-text.js';
import { httpProbe } from '../probing/http-probe.js';
import type { EngineProbe } from '../probing/probe.js';
import { refuseOtherFormats } from '../probing/refuse-other-formats.js';
import { readWhole } from '../probing/whole-number.js';
import { vllmBlockSizes } from './cache-config.js';

/** A gauge of value 1 whose labels are vLLM's `CacheConfig`, one series for each data-parallel engine. */
const CACHE_CONFIG = 'vllm:cache_config_info';
/** Seconds since 1970 at which the API server started; not there when several API servers share their metrics. */
const PROCESS_START = 'process_start_time_seconds';
/**
 * A counter that the Python frontend has from its start on where the engine decodes speculatively, and not otherwise
 * (`v1/spec_decode/metrics.py`). The Rust frontend always has it, at 0 without speculation.
 */
const DRAFTS = 'vllm:spec_decode_num_drafts_total';
/** Counters that the Python frontend has from its start on where the connector is among the engine's; see `DRAFTS`. Mooncake's came with 0.33. */
const CONNECTOR_COUNTERS: readonly (readonly [counter: string, connector: string])[] = [
  ['vllm:nixl_num_failed_transfers_total', 'nixl'],
  ['vllm:mooncake_num_failed_transfers_total', 'mooncake'],
];
const WANTED: ReadonlySet<string> = new Set([
  CACHE_CONFIG,
  PROCESS_START,
  DRAFTS,
  ...CONNECTOR_COUNTERS.map(([counter]) => counter),
]);

/** `vllm:cache_config_info` of vLLM's Python frontend: what the engine really runs with. */
export const vllmMetrics: EngineProbe = httpProbe({
  name: 'vllm-metrics',
  engineKind: EngineKind.VLLM,
  path: '/metrics',
  maxBodyBytes: MAX_METRICS_BYTES,
  source: EvidenceSource.ENGINE_METRICS,
  read(body, sheet) {
    readVllmMetrics(body, sheet);
  },
});

/** Reads the text of vLLM's `/metrics`. Throws a `ProbeError` when it is no metrics text at all. */
function readVllmMetrics(text: string, sheet: FactSheet): void {
  refuseOtherFormats(text, sheet.origin);
  const samples = readWanted(text, sheet);
  if (!samples.has(CACHE_CONFIG)) {
    sheet.warn(
      `has no ${CACHE_CONFIG}: vLLM's Rust frontend, or --disable-log-stats; ` +
        "the block size can then come from the engine's gRPC (--engine-grpc) or its KV events",
    );
  }
}

/** Reads vLLM's families out of metrics that may hold others' too, and says nothing when there are none. */
export function readVllmFamilies(text: string, sheet: FactSheet): void {
  readWanted(text, sheet);
}

function readWanted(text: string, sheet: FactSheet): MetricFamilies['samples'] {
  const { samples, problems } = readMetrics(text, WANTED);
  for (const problem of problems) sheet.warn(problem);
  const engines = samples.get(CACHE_CONFIG) ?? [];
  for (const engine of engines) readEngine(engine, engines.length > 1, sheet);
  if (engines.length > 0) readTotals(engines, sheet);
  const start = samples.get(PROCESS_START)?.[0];
  if (start !== undefined) {
    sheet.field('engine.start_marker', `${PROCESS_START}=${start.valueText.slice(0, 64)}`, start.valueText);
  }
  const drafts = samples.get(DRAFTS)?.[0];
  if (drafts !== undefined && (engines.length > 0 || Number(drafts.valueText) > 0))
    sheet.field('contract.speculative_decoding', true, `${DRAFTS} ${drafts.valueText}`);
  for (const [counter, connector] of CONNECTOR_COUNTERS) {
    const failures = samples.get(counter)?.[0];
    if (failures !== undefined && (engines.length > 0 || Number(failures.valueText) > 0))
      sheet.field('transfer.connector', connector, `${counter} ${failures.valueText}`);
  }
  return samples;
}

function readEngine(sample: MetricSample, several: boolean, sheet: FactSheet): void {
  const { labels } = sample;
  const engine = several ? `engine="${labels.get('engine') ?? ''}",` : '';
  const raw = (name: string): string => `${engine}${name}="${labels.get(name) ?? ''}"`;
  vllmBlockSizes({ get: (name) => labels.get(name), raw }, sheet);
  const algorithm = labels.get('prefix_caching_hash_algo');
  if (algorithm !== undefined && algorithm !== 'None') {
    sheet.field('contract.hash_algorithm', algorithm.slice(0, 64), raw('prefix_caching_hash_algo'));
  }
  if (labels.get('enable_prefix_caching') === 'False') {
    sheet.field('capacity.prefix_caching', false, raw('enable_prefix_caching'));
    sheet.warn(`${raw('enable_prefix_caching')}: this engine keeps no prefix cache and sends no KV events`);
  }
}

/** Each engine reports its capacity, which is one number for the worker; it is known only when every engine reports it. */
function readTotals(engines: readonly MetricSample[], sheet: FactSheet): void {
  for (const [label, field] of [
    ['num_gpu_blocks', 'capacity.total_kv_blocks'],
    ['kv_cache_size_tokens', 'capacity.kv_cache_size_tokens'],
  ] as const) {
    const parts = engines.map((engine) => readWhole(engine.labels.get(label), label, sheet));
    const total = parts.reduce(
      (sum, part) => (sum === undefined || part === undefined ? undefined : sum + part),
      0,
    );
    if (total === undefined || !Number.isSafeInteger(total)) continue;
    sheet.field(field, total, engines.map((engine) => `${label}="${engine.labels.get(label)}"`).join(' + '));
  }
}
