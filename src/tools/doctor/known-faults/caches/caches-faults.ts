import type { KnownFault } from '../known-fault.js';
import { AIBRIX_KVCACHE } from './aibrix-kvcache.js';
import { CONNECTOR_NAMES } from './connector-names.js';
import { FLEXKV } from './flexkv.js';
import { KVCACHED } from './kvcached.js';
import { LLM_D_FS } from './llm-d-fs.js';
import { LMCACHE_ASCEND } from './lmcache-ascend.js';
import { LMCACHE_BACKENDS } from './lmcache-backends.js';
import { LMCACHE_ENGINE } from './lmcache-engine.js';
import { LMCACHE_IPC } from './lmcache-ipc.js';
import { LMCACHE_L2 } from './lmcache-l2.js';
import { LMCACHE_PAIRS } from './lmcache-pairs.js';
import { LMCACHE_SERVER } from './lmcache-server.js';
import { LMCACHE_STORES } from './lmcache-stores.js';
import { LMCACHE_VERSIONS } from './lmcache-versions.js';
import { LMCACHE_WARNINGS } from './lmcache-warnings.js';
import { PEGAFLOW } from './pegaflow.js';
import { UCM } from './ucm.js';

/** Of caches behind engines. */
export const CACHES_FAULTS: readonly KnownFault[] = [
  ...LMCACHE_ENGINE,
  ...LMCACHE_BACKENDS,
  ...LMCACHE_VERSIONS,
  ...LMCACHE_STORES,
  ...LMCACHE_PAIRS,
  ...LMCACHE_SERVER,
  ...LMCACHE_IPC,
  ...LMCACHE_L2,
  ...LMCACHE_WARNINGS,
  ...LLM_D_FS,
  ...LMCACHE_ASCEND,
  ...AIBRIX_KVCACHE,
  ...CONNECTOR_NAMES,
  ...FLEXKV,
  ...KVCACHED,
  ...PEGAFLOW,
  ...UCM,
];
