import { engineKindName, engineWordOf } from '../../core/contract/wire/engine-kinds.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineDescriptor } from '../descriptor/engine-descriptor.js';
import { CHAT_COMPLETIONS, COMPLETIONS } from '../descriptor/prompt-path.js';
import { vllmChat } from './as-chat.js';
import { VLLM_DEFAULT_SIZES } from './default-sizes.js';
import { VLLM_LAUNCH } from './launch.js';
import { VLLM_PAGES } from './pages.js';
import { VLLM_RECOGNITION } from './recognition.js';
import { vllmSideChannelForm } from './side-channel-form.js';
import { VLLM_TOKEN_ENDPOINTS } from './token-endpoints.js';

/** vLLM, Python and Rust frontend. */
export const VLLM: EngineDescriptor = {
  kind: EngineKind.VLLM,
  word: engineWordOf(EngineKind.VLLM),
  displayName: engineKindName(EngineKind.VLLM),
  recognition: VLLM_RECOGNITION,
  // The gRPC port is that of its examples of `--grpc-port`.
  ports: { http: [8000], grpc: [50_051] },
  loadProbing: async () => (await import('./probes.js')).VLLM_PROBING,
  tokenEndpoints: VLLM_TOKEN_ENDPOINTS,
  asChat: vllmChat,
  promptPaths: [COMPLETIONS, CHAT_COMPLETIONS],
  load: {
    pages: ['/metrics'],
    running: ['vllm:num_requests_running'],
    waiting: ['vllm:num_requests_waiting'],
    // Of a long prompt in parts, the cache's use alone changes from step to step (`AsyncLLM.output_handler`, `Scheduler.make_stats`).
    work: {
      page: '/metrics',
      names: [
        'vllm:kv_cache_usage_perc',
        'vllm:iteration_tokens_total_count',
        'vllm:generation_tokens_total',
        'vllm:prompt_tokens_total',
        'vllm:request_success_total',
        'vllm:num_preemptions_total',
      ],
    },
    // `PromptTokenStats` of vLLM 0.32: both are no part of `local_compute`.
    notComputed: {
      page: '/metrics',
      name: 'vllm:prompt_tokens_by_source_total',
      label: 'source',
      values: ['external_kv_transfer', 'local_cache_hit'],
    },
    cachedTokens: 'vllm:prefix_cache_hits_total',
    cachingLabel: { family: 'vllm:cache_config_info', label: 'enable_prefix_caching' },
  },
  kvEvents: {
    howToPublish: 'start it with --kv-events-config, or name the sources with --kv-event-sources',
    cacheOffSetting: '--no-enable-prefix-caching',
  },
  defaultSizes: VLLM_DEFAULT_SIZES,
  sideChannelForm: vllmSideChannelForm,
  launch: VLLM_LAUNCH,
  pages: VLLM_PAGES,
  loadDiagnosis: async () => (await import('./diagnosis.js')).VLLM_DIAGNOSIS,
};
