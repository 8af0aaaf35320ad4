import { engineKindName, engineWordOf } from '../../core/contract/wire/engine-kinds.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineDescriptor } from '../descriptor/engine-descriptor.js';
import { CHAT_COMPLETIONS, COMPLETIONS } from '../descriptor/prompt-path.js';
import { sglangChat } from './as-chat.js';
import { SGLANG_DEFAULT_SIZES } from './default-sizes.js';
import { GENERATE } from './generate.js';
import { SGLANG_LAUNCH } from './launch.js';
import { SGLANG_PAGES } from './pages.js';
import { SGLANG_RECOGNITION } from './recognition.js';
import { SGLANG_TOKEN_ENDPOINTS } from './token-endpoints.js';

/** SGLang. */
export const SGLANG: EngineDescriptor = {
  kind: EngineKind.SGLANG,
  word: engineWordOf(EngineKind.SGLANG),
  displayName: engineKindName(EngineKind.SGLANG),
  recognition: SGLANG_RECOGNITION,
  // Its gRPC has no usual port.
  ports: { http: [30_000], grpc: [] },
  loadProbing: async () => (await import('./probes.js')).SGLANG_PROBING,
  tokenEndpoints: SGLANG_TOKEN_ENDPOINTS,
  asChat: sglangChat,
  generationCheckPath: '/health_generate',
  promptPaths: [GENERATE, COMPLETIONS, CHAT_COMPLETIONS],
  load: {
    pages: ['/v1/loads?format=prometheus', '/metrics'],
    running: ['sglang:num_running_reqs', 'sglang_num_running_reqs'],
    waiting: ['sglang:num_queue_reqs', 'sglang_num_waiting_reqs'],
    work: {
      page: '/metrics',
      names: [
        'sglang:realtime_tokens_total',
        'sglang:generation_tokens_total',
        'sglang:prompt_tokens_total',
        'sglang:num_used_tokens',
      ],
    },
    cachingPage: { path: '/server_info', isOff: /"disable_radix_cache"\s*:\s*(true|false)/ },
  },
  kvEvents: {
    howToPublish: 'start it with --kv-events-config, or name the sources with --kv-event-sources',
    cacheOffSetting: '--disable-radix-cache',
  },
  defaultSizes: SGLANG_DEFAULT_SIZES,
  launch: SGLANG_LAUNCH,
  pages: SGLANG_PAGES,
  loadDiagnosis: async () => (await import('./diagnosis.js')).SGLANG_DIAGNOSIS,
};
