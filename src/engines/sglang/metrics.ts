import { BlockSizeKind, EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import { MAX_METRICS_BYTES, type MetricSample, readMetrics } from '../facts/prometheus-text.js';
import { httpProbe } from '../probing/http-probe.js';
import type { EngineProbe } from '../probing/probe.js';
import { refuseOtherFormats } from '../probing/refuse-other-formats.js';
import { readWhole, readWholeMetric } from '../probing/whole-number.js';

const PATH = '/metrics';
/** Gauges since 0.5.11. */
const PAGE_SIZE = 'sglang:page_size';
const NUM_PAGES = 'sglang:num_pages';
const MAX_TOKENS = 'sglang:max_total_num_tokens';
/** Up to 0.5.10 one gauge of value 1 with the labels `page_size` and `num_pages`. */
const CACHE_CONFIG = 'sglang:cache_config_info';
const WANTED: ReadonlySet<string> = new Set([PAGE_SIZE, NUM_PAGES, MAX_TOKENS, CACHE_CONFIG]);

/** `/metrics` of SGLang, which needs `--enable-metrics`. */
export const sglangMetrics: EngineProbe = httpProbe({
  name: 'sglang-metrics',
  engineKind: EngineKind.SGLANG,
  path: PATH,
  maxBodyBytes: MAX_METRICS_BYTES,
  source: EvidenceSource.ENGINE_METRICS,
  read(body, sheet) {
    readSglangMetrics(body, sheet);
  },
});

/**
 * Reads the text of SGLang's `/metrics`. The page is stated as the scheduler's
 * unit and no more: the metrics do not say by what context parallelism
 * multiplies it.
 */
function readSglangMetrics(text: string, sheet: FactSheet): void {
  refuseOtherFormats(text, sheet.origin);
  readSglangFamilies(text, sheet);
  if (sheet.factCount === 0) sheet.warn(`has neither ${PAGE_SIZE} nor ${CACHE_CONFIG}`);
}

/** Reads SGLang's families out of metrics that may hold others' too, and says nothing when there are none. */
export function readSglangFamilies(text: string, sheet: FactSheet): void {
  const { samples, problems } = readMetrics(text, WANTED);
  for (const problem of problems) sheet.warn(problem);
  const scheduler = BlockSizeKind.SCHEDULER;
  for (const sample of samples.get(PAGE_SIZE) ?? []) {
    const raw = `${PAGE_SIZE} ${sample.valueText}`;
    sheet.size(scheduler, readWholeMetric(sample.valueText, PAGE_SIZE, sheet), { forContract: false, raw });
  }
  for (const { labels } of samples.get(CACHE_CONFIG) ?? []) {
    const raw = `page_size="${labels.get('page_size') ?? ''}"`;
    sheet.size(scheduler, readWhole(labels.get('page_size'), 'page_size', sheet), {
      forContract: false,
      raw,
    });
  }
  readTotal('capacity.total_kv_blocks', samples.get(NUM_PAGES), sheet);
  readTotal('capacity.kv_cache_size_tokens', samples.get(MAX_TOKENS), sheet);
}

/** Tensor and pipeline ranks share one cache; data-parallel ranks have one each. */
function readTotal(
  field: 'capacity.total_kv_blocks' | 'capacity.kv_cache_size_tokens',
  samples: readonly MetricSample[] | undefined,
  sheet: FactSheet,
): void {
  if (samples === undefined) return;
  const byRank = new Map<string, MetricSample>();
  for (const sample of samples) {
    const rank = sample.labels.get('dp_rank') ?? '';
    if (!byRank.has(rank)) byRank.set(rank, sample);
  }
  let total = 0;
  for (const sample of byRank.values()) {
    const part = readWholeMetric(sample.valueText, sample.name, sheet);
    if (part === undefined) return;
    total += part;
  }
  if (!Number.isSafeInteger(total)) return;
  sheet.field(
    field,
    total,
    [...byRank.values()].map(({ name, valueText }) => `${name} ${valueText}`).join(' + '),
  );
}
