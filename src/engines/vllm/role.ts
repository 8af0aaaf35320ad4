import { EngineRole } from '../../gen/kvaccord/v1/capabilities.js';

const ROLES: ReadonlyMap<string, EngineRole> = new Map([
  ['kv_producer', EngineRole.PREFILL],
  ['kv_consumer', EngineRole.DECODE],
]);

/**
 * What `kv_role` of vLLM's `--kv-transfer-config` says of the engine's part in
 * a request. `kv_both` says nothing of it: engines that only offload blocks to
 * host memory have it, and so do both sides of a pair that is connected by
 * NIXL, where the client that sends the requests decides.
 * https://docs.vllm.ai/en/latest/api/vllm/config/kv_transfer/
 */
export function vllmRole(kvRole: string | undefined): EngineRole | undefined {
  return kvRole === undefined ? undefined : ROLES.get(kvRole);
}
