import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/**
 * The programs of others that the peer tests need. `target` is the folder or
 * file below the cache, `script` makes it, and `recipe` is what the stamp holds:
 * change it when a script changes what it makes, and every cache is made anew.
 */
export const PEERS = [
  {
    name: 'grpcurl',
    what: 'gRPC by reflection',
    target: 'bin/grpcurl',
    script: 'grpcurl.sh',
    recipe: '1.9.4',
  },
  {
    name: 'kubelet-probe',
    what: "the kubelet's gRPC probe",
    target: 'bin/kubelet-probe',
    script: 'kubelet-probe.sh',
    recipe: '1.35.4',
  },
  {
    name: 'vllm',
    what: 'vLLM on a CPU',
    target: 'vllm-0.32.0',
    script: 'vllm.sh',
    recipe: '0.32.0 with the Rust frontend and the gRPC servicer',
  },
  { name: 'sglang', what: 'SGLang on a CPU', target: 'sglang-0.5.23', script: 'sglang.sh', recipe: '0.5.23' },
  {
    name: 'dynamo',
    what: 'Dynamo frontend and mocker',
    target: 'dynamo-1.6.1',
    script: 'dynamo.sh',
    recipe: '1.6.1',
  },
];

/** The folder that keeps the installed programs between runs. */
export function peerCache() {
  return join(process.env.KV_ACCORD_PEER_CACHE ?? join(homedir(), '.cache', 'kv-accord'), 'peers');
}

/** The file that says that a program is wholly installed: beside it, not in it, so that a wiped folder is noticed. */
export function stampOf(cache, peer) {
  return join(cache, dirname(peer.target), `.${basename(peer.target)}.installed`);
}
