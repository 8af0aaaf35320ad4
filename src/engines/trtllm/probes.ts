import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineProbing } from '../descriptor/engine-descriptor.js';
import { versionProbe } from '../probing/version-probe.js';
import { trtllmConfig } from './config.js';
import { trtllmMetrics } from './metrics.js';
import { trtllmServerInfo } from './server-info.js';

/** The sources of TensorRT-LLM, which has no gRPC of its own to ask. */
export const TRTLLM_PROBING: EngineProbing = {
  probes: [
    trtllmMetrics,
    trtllmServerInfo,
    versionProbe('trtllm-version', EngineKind.TENSORRT_LLM),
    trtllmConfig,
  ],
  grpcServices: [],
};
