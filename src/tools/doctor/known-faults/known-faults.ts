import { DYNAMO_FAULTS } from './dynamo.js';
import { ENGINE_STARTS } from './engine-starts.js';
import type { KnownFault } from './known-fault.js';
import { LMCACHE_FAULTS } from './lmcache.js';
import { PICKERS_FAULTS } from './pickers.js';
import { SGLANG_FAULTS } from './sglang.js';
import { TRANSFER_LIBRARIES_FAULTS } from './transfer-libraries.js';
import { VLLM_FAULTS } from './vllm.js';

/** All rows: each file of these has those of one part of a program. */
export const KNOWN_FAULTS: readonly KnownFault[] = [
  ...VLLM_FAULTS,
  ...SGLANG_FAULTS,
  ...DYNAMO_FAULTS,
  ...LMCACHE_FAULTS,
  ...TRANSFER_LIBRARIES_FAULTS,
  ...PICKERS_FAULTS,
  ...ENGINE_STARTS,
];

const BY_ID: ReadonlyMap<string, KnownFault> = new Map(KNOWN_FAULTS.map((fault) => [fault.id, fault]));

/** Undefined for an id that no row has. */
export function knownFault(id: string): KnownFault | undefined {
  return BY_ID.get(id);
}
