import type { KnownFault } from './known-fault.js';

/** Of endpoint pickers and gateways. */
export const PICKERS_FAULTS: readonly KnownFault[] = [];
