import { fileURLToPath } from 'node:url';
import { peerPath } from './peers.js';

/** NIXL for an engine of this machine: it rests, and needs no GPU; see `nixl/sitecustomize.py`. */
const ADAPTED = fileURLToPath(new URL('nixl', import.meta.url));

/** Variables for an engine that exchanges KV blocks over NIXL, through the machine's memory. */
export function nixlEnvironment(): Readonly<Record<string, string>> {
  return { PYTHONPATH: `${ADAPTED}:${peerPath('nixl', 'packages')}`, UCX_TLS: 'tcp,shm,self' };
}
