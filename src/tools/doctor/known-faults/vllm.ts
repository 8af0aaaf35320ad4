import type { KnownFault } from './known-fault.js';
import { VLLM_CONNECTOR_CONFIG } from './vllm-connector-config.js';
import { VLLM_MORIIO } from './vllm-moriio.js';

/** Of vLLM and vllm-ascend. */
export const VLLM_FAULTS: readonly KnownFault[] = [...VLLM_CONNECTOR_CONFIG, ...VLLM_MORIIO];
