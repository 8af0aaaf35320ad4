import type { KnownFault } from './known-fault.js';

/** Of LMCache and other caches behind engines. */
export const LMCACHE_FAULTS: readonly KnownFault[] = [];
