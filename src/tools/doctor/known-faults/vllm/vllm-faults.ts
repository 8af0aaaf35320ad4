import type { KnownFault } from '../known-fault.js';
import { VLLM_ADDRESSES } from './vllm-addresses.js';
import { VLLM_ASCEND_POOL } from './vllm-ascend-pool.js';
import { VLLM_ASCEND_TRANSFERS } from './vllm-ascend-transfers.js';
import { VLLM_ATTENTION } from './vllm-attention.js';
import { VLLM_CACHE_MANAGER } from './vllm-cache-manager.js';
import { VLLM_CACHE_PLANNING } from './vllm-cache-planning.js';
import { VLLM_CONNECTOR_CONFIG } from './vllm-connector-config.js';
import { VLLM_DATA_PARALLEL } from './vllm-data-parallel.js';
import { VLLM_ENGINE_OPTIONS } from './vllm-engine-options.js';
import { VLLM_MEMORY } from './vllm-memory.js';
import { VLLM_MOONCAKE } from './vllm-mooncake.js';
import { VLLM_MOONCAKE_STORE } from './vllm-mooncake-store.js';
import { VLLM_MORIIO } from './vllm-moriio.js';
import { VLLM_NIXL } from './vllm-nixl.js';
import { VLLM_NIXL_PAIRS } from './vllm-nixl-pairs.js';
import { VLLM_OFFLOAD } from './vllm-offload.js';
import { VLLM_OFFLOAD_TIERS } from './vllm-offload-tiers.js';
import { VLLM_OTHER_CONNECTORS } from './vllm-other-connectors.js';
import { VLLM_P2P_NCCL } from './vllm-p2p-nccl.js';
import { VLLM_SCHEDULER } from './vllm-scheduler.js';
import { VLLM_START_UP } from './vllm-start-up.js';

/** Of vLLM and vllm-ascend. */
export const VLLM_FAULTS: readonly KnownFault[] = [
  ...VLLM_CONNECTOR_CONFIG,
  ...VLLM_NIXL_PAIRS,
  ...VLLM_NIXL,
  ...VLLM_ADDRESSES,
  ...VLLM_P2P_NCCL,
  ...VLLM_MOONCAKE,
  ...VLLM_MOONCAKE_STORE,
  ...VLLM_MORIIO,
  ...VLLM_OFFLOAD,
  ...VLLM_OFFLOAD_TIERS,
  ...VLLM_OTHER_CONNECTORS,
  ...VLLM_SCHEDULER,
  ...VLLM_CACHE_MANAGER,
  ...VLLM_CACHE_PLANNING,
  ...VLLM_START_UP,
  ...VLLM_DATA_PARALLEL,
  ...VLLM_ENGINE_OPTIONS,
  ...VLLM_MEMORY,
  ...VLLM_ATTENTION,
  ...VLLM_ASCEND_TRANSFERS,
  ...VLLM_ASCEND_POOL,
];
