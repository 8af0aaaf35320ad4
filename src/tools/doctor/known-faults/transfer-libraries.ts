import type { KnownFault } from './known-fault.js';
import { MOONCAKE_METADATA } from './mooncake-metadata.js';
import { MOONCAKE_TRANSFER } from './mooncake-transfer.js';

/** Of the libraries that move KV blocks. */
export const TRANSFER_LIBRARIES_FAULTS: readonly KnownFault[] = [...MOONCAKE_TRANSFER, ...MOONCAKE_METADATA];
