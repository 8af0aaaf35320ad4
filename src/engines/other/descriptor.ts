import { engineKindName, engineWordOf } from '../../core/contract/wire/engine-kinds.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineDescriptor } from '../descriptor/engine-descriptor.js';
import { VLLM_TOKEN_ENDPOINTS } from '../vllm/token-endpoints.js';

/**
 * An engine that is not known here. It serves OpenAI's API; its block size is
 * declared (`--tokens-per-block`), and its KV events prove it. It is asked for
 * tokens as vLLM is, whose `/tokenize` many other servers have too.
 */
export const OTHER: EngineDescriptor = {
  kind: EngineKind.OTHER,
  word: engineWordOf(EngineKind.OTHER),
  displayName: engineKindName(EngineKind.OTHER),
  recognition: { owners: [], paths: [] },
  ports: { http: [], grpc: [] },
  loadProbing: async () => ({ probes: [], grpcServices: [] }),
  defaultSizes: [],
  tokenEndpoints: VLLM_TOKEN_ENDPOINTS,
  // Without metrics it is not known when it is idle, and a prompt beside others' proves nothing.
  promptPaths: [],
  kvEvents: {
    howToPublish: 'name its sources with --kv-event-sources',
  },
};
