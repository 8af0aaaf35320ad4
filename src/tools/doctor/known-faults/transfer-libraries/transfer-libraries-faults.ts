import type { KnownFault } from '../known-fault.js';
import { ASCEND_HCCL } from './ascend-hccl.js';
import { ASCEND_TRANSPORT } from './ascend-transport.js';
import { FABRICS } from './fabrics.js';
import { GPUDIRECT_STORAGE } from './gpudirect-storage.js';
import { MOONCAKE_CLIENT } from './mooncake-client.js';
import { MOONCAKE_ENDS } from './mooncake-ends.js';
import { MOONCAKE_MASTER } from './mooncake-master.js';
import { MOONCAKE_METADATA } from './mooncake-metadata.js';
import { MOONCAKE_SETTINGS } from './mooncake-settings.js';
import { MOONCAKE_STORE } from './mooncake-store.js';
import { MOONCAKE_TENT } from './mooncake-tent.js';
import { MOONCAKE_TRANSFER } from './mooncake-transfer.js';
import { NCCL_VERBS } from './nccl-verbs.js';
import { NIXL_FAULTS } from './nixl.js';
import { NIXL_CALLS } from './nixl-calls.js';
import { NIXL_STARTS } from './nixl-starts.js';
import { UCX_FAULTS } from './ucx.js';
import { UCX_CARDS } from './ucx-cards.js';
import { UCX_ENDS } from './ucx-ends.js';

/** Of the libraries that move KV blocks. */
export const TRANSFER_LIBRARIES_FAULTS: readonly KnownFault[] = [
  ...MOONCAKE_TRANSFER,
  ...MOONCAKE_METADATA,
  ...MOONCAKE_STORE,
  ...MOONCAKE_MASTER,
  ...MOONCAKE_CLIENT,
  ...MOONCAKE_ENDS,
  ...MOONCAKE_TENT,
  ...MOONCAKE_SETTINGS,
  ...UCX_CARDS,
  ...UCX_FAULTS,
  ...UCX_ENDS,
  ...NIXL_FAULTS,
  ...NIXL_STARTS,
  ...NIXL_CALLS,
  ...FABRICS,
  ...NCCL_VERBS,
  ...GPUDIRECT_STORAGE,
  ...ASCEND_TRANSPORT,
  ...ASCEND_HCCL,
];
