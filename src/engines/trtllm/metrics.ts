import { BlockSizeKind, EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import { MAX_METRICS_BYTES, readMetrics } from '../facts/prometheus-text.js';
import { httpProbe } from '../probing/http-probe.js';
import type { EngineProbe } from '../probing/probe.js';
import { refuseOtherFormats } from '../probing/refuse-other-formats.js';
import { readWholeMetric } from '../probing/whole-number.js';

/** The metrics that can be read without taking anything away. `/metrics` of this engine is another thing: it drains. */
const PATH = '/prometheus/metrics';
const TOKENS_PER_BLOCK = 'trtllm_kv_cache_tokens_per_block';
const MAX_BLOCKS = 'trtllm_kv_cache_max_blocks';
const WANTED: ReadonlySet<string> = new Set([TOKENS_PER_BLOCK, MAX_BLOCKS]);

/**
 * `/prometheus/metrics` of TensorRT-LLM, there with `return_perf_metrics: true`
 * and `enable_iter_perf_stats: true`: the one live source of its block size.
 */
export const trtllmMetrics: EngineProbe = httpProbe({
  name: 'trtllm-metrics',
  engineKind: EngineKind.TENSORRT_LLM,
  path: PATH,
  maxBodyBytes: MAX_METRICS_BYTES,
  source: EvidenceSource.ENGINE_METRICS,
  read(body, sheet) {
    refuseOtherFormats(body, sheet.origin);
    readTrtllmFamilies(body, sheet);
    if (sheet.factCount === 0) {
      sheet.warn(
        `shows no ${TOKENS_PER_BLOCK} yet; it appears with the first request that the engine serves`,
      );
    }
  },
});

/**
 * Reads TensorRT-LLM's families out of metrics that may hold others' too. The
 * gauges are set from iteration statistics; 0 is what a gauge holds before the
 * first iteration and is not a size that the engine reported.
 */
export function readTrtllmFamilies(text: string, sheet: FactSheet): void {
  const { samples, problems } = readMetrics(text, WANTED);
  for (const problem of problems) sheet.warn(problem);
  for (const { valueText } of samples.get(TOKENS_PER_BLOCK) ?? []) {
    sheet.size(
      BlockSizeKind.EFFECTIVE_ATTENTION,
      readWholeMetric(valueText, TOKENS_PER_BLOCK, sheet) || undefined,
      { forContract: true, raw: `${TOKENS_PER_BLOCK} ${valueText}` },
    );
  }
  const blocks = samples.get(MAX_BLOCKS);
  const [only] = blocks ?? [];
  if (only === undefined || blocks?.length !== 1) return;
  const total = readWholeMetric(only.valueText, MAX_BLOCKS, sheet) || undefined;
  sheet.field('capacity.total_kv_blocks', total, `${MAX_BLOCKS} ${only.valueText}`);
}
