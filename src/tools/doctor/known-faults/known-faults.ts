import { CACHES_FAULTS } from './caches/caches-faults.js';
import { DYNAMO_FAULTS } from './dynamo/dynamo-faults.js';
import { ENGINE_STARTS } from './engine-starts.js';
import type { KnownFault } from './known-fault.js';
import { PICKERS_FAULTS } from './pickers/pickers-faults.js';
import { ROUTERS_FAULTS } from './routers/routers-faults.js';
import { SERVERS_FAULTS } from './servers/servers-faults.js';
import { SGLANG_FAULTS } from './sglang/sglang-faults.js';
import { TRANSFER_LIBRARIES_FAULTS } from './transfer-libraries/transfer-libraries-faults.js';
import { UNIX_SOCKETS } from './unix-sockets.js';
import { VLLM_FAULTS } from './vllm/vllm-faults.js';

/** All rows: each file of these has those of one part of a program. */
export const KNOWN_FAULTS: readonly KnownFault[] = [
  ...VLLM_FAULTS,
  ...SGLANG_FAULTS,
  ...DYNAMO_FAULTS,
  ...CACHES_FAULTS,
  ...TRANSFER_LIBRARIES_FAULTS,
  ...PICKERS_FAULTS,
  ...ROUTERS_FAULTS,
  ...SERVERS_FAULTS,
  ...ENGINE_STARTS,
  ...UNIX_SOCKETS,
];

const BY_ID: ReadonlyMap<string, KnownFault> = new Map(KNOWN_FAULTS.map((fault) => [fault.id, fault]));

/** Undefined for an id that no row has. */
export function knownFault(id: string): KnownFault | undefined {
  return BY_ID.get(id);
}
