import { ControlService } from '../../gen/engines/vllm/control.js';
import { VllmEngineService } from '../../gen/engines/vllm/vllm_engine.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineProbing } from '../descriptor/engine-descriptor.js';
import { versionProbe } from '../probing/version-probe.js';
import { vllmControlGrpc } from './control-grpc.js';
import { vllmEngineGrpc } from './engine-grpc.js';
import { vllmKvEventSources } from './kv-event-sources.js';
import { vllmMetrics } from './metrics.js';
import { vllmServerInfo } from './server-info.js';

/** The sources of vLLM, Python and Rust frontend. */
export const VLLM_PROBING: EngineProbing = {
  probes: [
    vllmMetrics,
    vllmControlGrpc,
    vllmEngineGrpc,
    versionProbe('vllm-version', EngineKind.VLLM),
    vllmKvEventSources,
    vllmServerInfo,
  ],
  grpcServices: [
    {
      name: 'vllm.Control',
      call: (rpc, address, signal) => rpc.call(address, ControlService.getServerInfo, {}, { signal }),
    },
    {
      name: 'vllm.grpc.engine.VllmEngine',
      call: (rpc, address, signal) => rpc.call(address, VllmEngineService.getServerInfo, {}, { signal }),
    },
  ],
};
