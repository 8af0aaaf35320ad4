import {
  type DiscoveryStyle,
  type EnginePage,
  type EngineRun,
  type EngineSurface,
  gauge,
  jsonPage,
  metricsPage,
} from './engine-surface.js';
import { VLLM_KV_EVENTS } from './simulated-vllm.js';

/** Where its workers leave their model cards, as `--dynamo-file-kv` names it to their sidecars. */
const FOLDER = '/kv';

/**
 * A worker of NVIDIA Dynamo 1.6.1 with vLLM inside. Its system port reports no
 * block size: the only word on it is the model card that it registers with,
 * and that says what was configured.
 */
export const simulatedDynamo: EngineSurface = {
  name: 'Dynamo',
  kvEvents: VLLM_KV_EVENTS,
  discovery: {
    folder: FOLDER,
    files: (run) => ({
      [`${FOLDER}/v1/mdc/dynamo%2Fbackend%2Fgenerate%2F${instanceId(run)}`]: JSON.stringify(modelCard(run)),
    }),
  } satisfies DiscoveryStyle,
  pages: (run): Readonly<Record<string, EnginePage>> => {
    const status = jsonPage({
      status: 'ready',
      uptime: { secs: 1, nanos: 690_234_683 },
      endpoints: { generate: 'ready' },
    });
    return {
      '/live': status,
      '/health': status,
      '/metrics': metricsPage(
        gauge(
          'dynamo_component_uptime_seconds',
          'Total uptime of the DistributedRuntime in seconds',
          `worker_id="${instanceId(run)}"`,
          1.7,
        ),
      ),
    };
  },
};

/** 64 bits, another one at every start. */
function instanceId({ startedAtMs }: EngineRun): string {
  return (0x4f16_3000_0000_0000n + BigInt(startedAtMs)).toString(16);
}

function modelCard(run: EngineRun): unknown {
  return {
    type: 'Model',
    namespace: 'dynamo',
    component: 'backend',
    endpoint: 'generate',
    card_json: {
      display_name: run.model,
      slug: run.model,
      source_path: run.model,
      context_length: run.maxModelLen,
      kv_cache_block_size: run.configuredTokensPerBlock,
      model_type: 'Chat | Completions',
      model_input: 'Tokens',
      worker_type: 'aggregated',
      runtime_config: {
        total_kv_blocks: run.totalBlocks,
        max_num_seqs: 256,
        data_parallel_start_rank: 0,
        data_parallel_size: 1,
        kv_event_publishing_enabled: true,
      },
    },
  };
}
