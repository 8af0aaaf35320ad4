import { SglangServiceService } from '../../gen/engines/sglang/sglang.js';
import type { EngineProbing } from '../descriptor/engine-descriptor.js';
import { sglangGrpc } from './grpc.js';
import { sglangMetrics } from './metrics.js';
import { sglangServerInfo } from './server-info.js';

/** The sources of SGLang. */
export const SGLANG_PROBING: EngineProbing = {
  probes: [sglangServerInfo, sglangMetrics, sglangGrpc],
  grpcServices: [
    {
      name: 'sglang.runtime.v1.SglangService',
      call: (rpc, address, signal) => rpc.call(address, SglangServiceService.getServerInfo, {}, { signal }),
    },
  ],
};
