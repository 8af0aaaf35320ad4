import type { EngineRpc } from '../../edge/rpc/engine-rpc.js';

/** A service of an engine's own gRPC by which the engine is recognised. */
export interface GrpcService {
  /** `vllm.Control`. */
  readonly name: string;
  /** Calls a method that changes nothing. Rejects with a `ProbeError` when the service is not there. */
  call(rpc: EngineRpc, address: string, signal: AbortSignal): Promise<unknown>;
}
