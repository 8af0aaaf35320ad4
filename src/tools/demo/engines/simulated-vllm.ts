import {
  EMPTY_PAGE,
  type EnginePage,
  type EngineRun,
  type EngineSurface,
  gauge,
  jsonPage,
  type KvEventStyle,
  metricsPage,
  modelsPage,
} from './engine-surface.js';
import { KV_EVENTS_TOPIC } from './kv-publisher.js';

/** KV events of vLLM 0.32.0: maps with hashes of 64 bits, unsigned; each removal is an event of its own. */
export const VLLM_KV_EVENTS: KvEventStyle = {
  atStart: [],
  stored: (blocks, tokensPerBlock) => ({
    type: 'BlockStored',
    block_hashes: blocks.map(({ hash }) => hash),
    parent_block_hash: blocks[0]?.parentHash ?? null,
    token_ids: blocks.flatMap(({ tokenIds }) => tokenIds),
    block_size: tokensPerBlock,
    lora_id: null,
    medium: 'GPU',
    lora_name: null,
    extra_keys: blocks.map(() => null),
    group_idx: 0,
    kv_cache_spec_kind: 'full_attention',
  }),
  removed: (blocks) =>
    blocks.map(({ hash }) => ({ type: 'BlockRemoved', block_hashes: [hash], medium: 'GPU', group_idx: 0 })),
};

/** vLLM 0.32.0 with its Python frontend, as it answers without `VLLM_SERVER_DEV_MODE`. */
export const simulatedVllm: EngineSurface = {
  name: 'vLLM',
  servesOpenAi: true,
  kvEvents: VLLM_KV_EVENTS,
  pages: (run): Readonly<Record<string, EnginePage>> => ({
    '/health': EMPTY_PAGE,
    '/version': jsonPage({ version: '0.32.0' }),
    '/v1/models': modelsPage(run, 'vllm', { root: run.model, parent: null, max_model_len: run.maxModelLen }),
    '/kv_event_sources': jsonPage(eventSources(run)),
    '/metrics': metricsPage([
      ...gauge(
        'process_start_time_seconds',
        'Start time of the process since unix epoch in seconds.',
        '',
        run.startedAtMs / 1_000,
      ),
      ...gauge('vllm:num_requests_running', 'Number of requests in model execution batches.', series(run), 0),
      ...gauge('vllm:kv_cache_usage_perc', 'KV-cache usage. 1 means 100 percent usage.', series(run), 0),
      ...gauge(
        'vllm:cache_config_info',
        'Information of the LLMEngine CacheConfig',
        Object.entries(cacheConfig(run))
          .map(([label, value]) => `${label}="${value}"`)
          .join(','),
        1,
      ),
    ]),
  }),
};

const series = ({ model: name }: EngineRun): string => `engine="0",model_name="${name}"`;

function eventSources({ kvEventPorts }: EngineRun): unknown {
  if (kvEventPorts === undefined) return {};
  const publisher = {
    enable_kv_cache_events: true,
    publisher: 'zmq',
    endpoint: `tcp://*:${kvEventPorts.live}`,
    replay_endpoint: `tcp://*:${kvEventPorts.replay}`,
    buffer_steps: 10_000,
    hwm: 100_000,
    max_queue_size: 100_000,
    topic: KV_EVENTS_TOPIC,
  };
  return { '0': publisher };
}

/** Every label of `vllm:cache_config_info`, among them decoys whose names also end in `block_size`. */
function cacheConfig(run: EngineRun): Readonly<Record<string, string | number>> {
  return {
    _block_size_resolved: 'True',
    block_size: run.tokensPerBlock,
    cache_dtype: 'auto',
    cache_hit_alignment_tokens: 'None',
    effective_attention_block_size: run.tokensPerBlock,
    enable_mamba_shared_prefix_checkpoint: 'False',
    enable_prefix_caching: 'True',
    engine: 0,
    gpu_memory_utilization: 0.92,
    hash_block_size: 'None',
    is_attention_free: 'False',
    kv_cache_dtype_skip_layers: '[]',
    kv_cache_layout: 'None',
    kv_cache_max_concurrency: (run.totalBlocks * run.tokensPerBlock) / run.maxModelLen,
    kv_cache_memory_bytes: 1_073_741_824,
    kv_cache_size_tokens: run.totalBlocks * run.tokensPerBlock,
    kv_offloading_backend: 'native',
    kv_offloading_size: 'None',
    kv_sharing_fast_prefill: 'False',
    mamba_block_size: 'None',
    mamba_cache_dtype: 'auto',
    mamba_cache_mode: 'none',
    mamba_page_size_padded: 'None',
    mamba_ssm_cache_dtype: 'float32',
    num_cpu_blocks: 'None',
    num_gpu_blocks: run.totalBlocks,
    num_gpu_blocks_override: 'None',
    prefix_cache_retention_interval: 0,
    prefix_caching_hash_algo: 'sha256',
    prefix_match_unit: 'None',
    replayssm_buffer_len: 16,
    skip_page_size_padded: 'None',
    sliding_window: 'None',
    swa_bounded_replay: 'True',
    use_kda_recoverssm: 'False',
    use_replayssm: 'False',
    user_specified_block_size: 'True',
  };
}
