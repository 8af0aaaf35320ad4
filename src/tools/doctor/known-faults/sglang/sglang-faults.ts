import type { KnownFault } from '../known-fault.js';
import { SGLANG_ASCEND } from './sglang-ascend.js';
import { SGLANG_BOOTSTRAP } from './sglang-bootstrap.js';
import { SGLANG_CACHE_OFF } from './sglang-cache-off.js';
import { SGLANG_CAPACITY } from './sglang-capacity.js';
import { SGLANG_DISK_STORES } from './sglang-disk-stores.js';
import { SGLANG_ENCODERS } from './sglang-encoders.js';
import { SGLANG_HICACHE } from './sglang-hicache.js';
import { SGLANG_LINKERS } from './sglang-linkers.js';
import { SGLANG_MEMORY } from './sglang-memory.js';
import { SGLANG_PAIRS } from './sglang-pairs.js';
import { SGLANG_SERVING } from './sglang-serving.js';
import { SGLANG_SETTINGS } from './sglang-settings.js';
import { SGLANG_STARTS } from './sglang-starts.js';
import { SGLANG_STORE_IO } from './sglang-store-io.js';
import { SGLANG_STORES } from './sglang-stores.js';
import { SGLANG_TRANSFERS } from './sglang-transfers.js';
import { SGLANG_TREES } from './sglang-trees.js';

/** Of SGLang and its routers. */
export const SGLANG_FAULTS: readonly KnownFault[] = [
  ...SGLANG_PAIRS,
  ...SGLANG_TRANSFERS,
  ...SGLANG_BOOTSTRAP,
  ...SGLANG_ASCEND,
  ...SGLANG_ENCODERS,
  ...SGLANG_HICACHE,
  ...SGLANG_STORES,
  ...SGLANG_DISK_STORES,
  ...SGLANG_SETTINGS,
  ...SGLANG_MEMORY,
  ...SGLANG_SERVING,
  ...SGLANG_STARTS,
  ...SGLANG_TREES,
  ...SGLANG_CACHE_OFF,
  ...SGLANG_CAPACITY,
  ...SGLANG_LINKERS,
  ...SGLANG_STORE_IO,
];
