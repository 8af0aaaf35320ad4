import { engineKindName, engineWordOf } from '../../core/contract/wire/engine-kinds.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineDescriptor } from '../descriptor/engine-descriptor.js';
import { CHAT_COMPLETIONS, COMPLETIONS } from '../descriptor/prompt-path.js';
import { TRTLLM_DEFAULT_SIZES } from './default-sizes.js';
import { TRTLLM_LAUNCH } from './launch.js';
import { TRTLLM_PAGES } from './pages.js';
import { TRTLLM_RECOGNITION } from './recognition.js';

/** TensorRT-LLM. */
export const TRTLLM: EngineDescriptor = {
  kind: EngineKind.TENSORRT_LLM,
  word: engineWordOf(EngineKind.TENSORRT_LLM),
  displayName: engineKindName(EngineKind.TENSORRT_LLM),
  recognition: TRTLLM_RECOGNITION,
  ports: { http: [8000], grpc: [] },
  loadProbing: async () => (await import('./probes.js')).TRTLLM_PROBING,
  tokenEndpoints: [],
  promptPaths: [COMPLETIONS, CHAT_COMPLETIONS],
  load: {
    // What its `/metrics` answers is lost to others.
    pages: ['/prometheus/metrics'],
    running: ['trtllm_num_requests_running'],
    waiting: ['trtllm_num_requests_waiting'],
    work: {
      page: '/prometheus/metrics',
      names: ['trtllm_request_success_total', 'trtllm_kv_cache_utilization'],
    },
  },
  kvEvents: {
    howToPublish:
      'switch them on in its kv_cache_config, or read its draining endpoint with --trtllm-drain-events',
    drainPath: '/kv_cache_events',
    cacheOffSetting: 'enable_block_reuse: false',
  },
  defaultSizes: TRTLLM_DEFAULT_SIZES,
  launch: TRTLLM_LAUNCH,
  pages: TRTLLM_PAGES,
  loadDiagnosis: async () => (await import('./diagnosis.js')).TRTLLM_DIAGNOSIS,
};
