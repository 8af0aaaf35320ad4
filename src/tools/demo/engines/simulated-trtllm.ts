import {
  EMPTY_PAGE,
  type EnginePage,
  type EngineRun,
  type EngineSurface,
  gauge,
  jsonPage,
  metricsPage,
  modelsPage,
} from './engine-surface.js';

/** Nothing waits to be read. */
const NOTHING_TO_DRAIN = jsonPage([]);

/**
 * TensorRT-LLM 1.3.0rc21 with `return_perf_metrics` and
 * `enable_iter_perf_stats`, after its first request. What it runs is in a
 * gauge; `/server_info` has what was configured.
 */
export const simulatedTrtllm: EngineSurface = {
  name: 'TensorRT-LLM',
  pages: (run): Readonly<Record<string, EnginePage>> => ({
    '/health': EMPTY_PAGE,
    '/version': jsonPage({ version: '1.3.0rc21' }),
    '/v1/models': modelsPage(run, 'tensorrt_llm'),
    '/server_info': jsonPage({
      disaggregated_params: null,
      kv_cache_hash_algo: 'v1_block_key',
      tokens_per_block: run.configuredTokensPerBlock,
      max_batch_size: 2_048,
    }),
    '/prometheus/metrics': metricsPage([
      ...gauge('trtllm_kv_cache_utilization', 'KV cache utilization', series(run), 0),
      ...gauge(
        'trtllm_kv_cache_max_blocks',
        'Maximum number of KV cache blocks',
        series(run),
        run.totalBlocks,
      ),
      ...gauge(
        'trtllm_kv_cache_tokens_per_block',
        'Tokens per KV cache block',
        series(run),
        run.tokensPerBlock,
      ),
    ]),
    // Each of these empties a queue that another client may be reading. They are here so that asking them shows.
    '/metrics': NOTHING_TO_DRAIN,
    '/perf_metrics': NOTHING_TO_DRAIN,
    '/kv_cache_events': NOTHING_TO_DRAIN,
  }),
};

const series = ({ model: name }: EngineRun): string => `engine_type="undefined",model_name="${name}"`;
