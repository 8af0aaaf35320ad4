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
import type { KvBlock } from './kv-cache.js';
import { KV_EVENTS_TOPIC } from './kv-publisher.js';

/** The same 64 bits, signed. */
const signed = ({ hash }: KvBlock): bigint => BigInt.asIntN(64, hash);

/** KV events of SGLang 0.5.23: maps with signed hashes, and a clear before everything else. */
const SGLANG_KV_EVENTS: KvEventStyle = {
  atStart: [{ type: 'AllBlocksCleared' }],
  stored: (blocks, tokensPerBlock) => {
    const parentHash = blocks[0]?.parentHash;
    return {
      type: 'BlockStored',
      block_hashes: blocks.map(signed),
      parent_block_hash: parentHash === undefined ? null : BigInt.asIntN(64, parentHash),
      token_ids: blocks.flatMap(({ tokenIds }) => tokenIds),
      block_size: tokensPerBlock,
      lora_id: null,
      medium: 'GPU',
    };
  },
  removed: (blocks) => [{ type: 'BlockRemoved', block_hashes: blocks.map(signed), medium: 'GPU' }],
};

/** SGLang 0.5.23 with `--enable-metrics`. Its size is the page: `--page-size`. */
export const simulatedSglang: EngineSurface = {
  name: 'SGLang',
  kvEvents: SGLANG_KV_EVENTS,
  pages: (run): Readonly<Record<string, EnginePage>> => {
    const info = jsonPage(serverInfo(run));
    return {
      '/health': EMPTY_PAGE,
      '/v1/models': modelsPage(run, 'sglang', {
        root: run.model,
        parent: null,
        max_model_len: run.maxModelLen,
      }),
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

/** The fields of some hundred that say how the cache is divided, shared and published. */
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
    disaggregation_mode: 'null',
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

function announcedEvents({ kvEventPorts, tokensPerBlock }: EngineRun): unknown {
  if (kvEventPorts === undefined) return null;
  return {
    publisher: 'zmq',
    endpoint_host: '*',
    endpoint_port_base: kvEventPorts.live,
    topic: KV_EVENTS_TOPIC,
    block_size: tokensPerBlock,
    dp_size: 1,
    replay_endpoint_port_base: kvEventPorts.replay,
  };
}
