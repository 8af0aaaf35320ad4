import type { KnownFault } from './known-fault.js';

/** Of the libraries that move KV blocks. */
export const TRANSFER_LIBRARIES_FAULTS: readonly KnownFault[] = [];
