import type { KnownFault } from './known-fault.js';
import { VLLM_CONNECTOR_CONFIG } from './vllm-connector-config.js';
import { VLLM_MORIIO } from './vllm-moriio.js';
import { VLLM_NIXL } from './vllm-nixl.js';
import { VLLM_NIXL_PAIRS } from './vllm-nixl-pairs.js';
import { VLLM_P2P_NCCL } from './vllm-p2p-nccl.js';

/** Of vLLM and vllm-ascend. */
export const VLLM_FAULTS: readonly KnownFault[] = [
  ...VLLM_CONNECTOR_CONFIG,
  ...VLLM_NIXL_PAIRS,
  ...VLLM_NIXL,
  ...VLLM_P2P_NCCL,
  ...VLLM_MORIIO,
];
