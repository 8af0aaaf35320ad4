import type { KnownFault } from './known-fault.js';

/** Of SGLang and its routers. */
export const SGLANG_FAULTS: readonly KnownFault[] = [];
