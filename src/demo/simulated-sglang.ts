import {
  EMPTY_PAGE,
  type EnginePage,
  type EngineRun,
  type EngineSurface,
  gauge,
  jsonPage,
  metricsPage,
} from './engine-surface.js';

/** SGLang 0.5.23 with `--enable-metrics`. Its size is the page: `--page-size`. */
export const simulatedSglang: EngineSurface = {
  name: 'SGLang',
  pages: (run): Readonly<Record<string, EnginePage>> => {
    const info = jsonPage(serverInfo(run));
    return {
      '/health': EMPTY_PAGE,
      '/v1/models': jsonPage({ object: 'list', data: [model(run)] }),
      '/server_info': info,
      // The older name of the same page, which newer versions still answer.
      '/get_server_info': info,
      '/metrics': metricsPage([
        ...gauge(
          'sglang:max_total_num_tokens',
          'Maximum total number of tokens in the KV cache pool.',
          series(run),
          capacityTokens(run),
        ),
        ...gauge('sglang:page_size', 'KV cache page size in tokens.', series(run), run.tokensPerBlock),
        ...gauge('sglang:num_pages', 'Number of KV cache pages.', series(run), run.totalBlocks),
      ]),
    };
  },
};

const series = ({ model: name }: EngineRun): string =>
  `engine_type="unified",model_name="${name}",moe_ep_rank="0",pp_rank="0",tp_rank="0"`;

const capacityTokens = (run: EngineRun): number => run.totalBlocks * run.tokensPerBlock;

function model(run: EngineRun): unknown {
  return {
    id: run.model,
    object: 'model',
    created: Math.floor(run.startedAtMs / 1_000),
    owned_by: 'sglang',
    root: run.model,
    parent: null,
    max_model_len: run.maxModelLen,
  };
}

/** The fields of some hundred that say how the cache is cut, shared and published. */
function serverInfo(run: EngineRun): unknown {
  const shape = {
    model_path: run.model,
    served_model_name: run.model,
    revision: null,
    context_length: null,
    page_size: run.configuredTokensPerBlock,
    tp_size: 1,
    pp_size: 1,
    dp_size: 1,
    dcp_size: 1,
    ep_size: 1,
    nnodes: 1,
    max_running_requests: null,
    max_prefill_tokens: 16_384,
    speculative_algorithm: null,
    enable_hierarchical_cache: false,
    hicache_storage_backend: null,
    device: 'cuda',
  };
  return {
    ...shape,
    status: 'ready',
    version: '0.5.23',
    max_total_num_tokens: capacityTokens(run),
    startup_time: startupTime(run),
    kv_events: announcedEvents(run),
    internal_states: [
      {
        ...shape,
        page_size: run.tokensPerBlock,
        effective_max_running_requests_per_dp: 4_096,
        memory_usage: { token_capacity: capacityTokens(run) },
      },
    ],
  };
}

/** Durations in seconds, as no other start has them: a real engine's are measured to the nanosecond. */
function startupTime({ startedAtMs }: EngineRun): unknown {
  return { load_weight: (startedAtMs % 86_400_000) / 1e9, scheduler_e2e: 6 + (startedAtMs % 1_000) / 1e3 };
}

function announcedEvents({ kvEventsPort, tokensPerBlock }: EngineRun): unknown {
  if (kvEventsPort === undefined) return null;
  return {
    publisher: 'zmq',
    endpoint_host: '*',
    endpoint_port_base: kvEventsPort,
    topic: 'kv-events',
    block_size: tokensPerBlock,
    dp_size: 1,
  };
}
