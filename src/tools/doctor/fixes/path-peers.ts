import { engineYaml, environmentOf } from './lines.js';
import type { PathCure } from './path-machine.js';

/** NIXL's agents exchange what each has before the first block: backends, versions, and the addresses of their devices. */
export const SAME_AGENTS: PathCure = {
  says: 'Run one image in both roles, with the same backends of NIXL, and give both pods the same way to each other (hostNetwork or the RDMA devices, and one UCX_NET_DEVICES); after a restart of one of the two restart the other as well. Where it stays, UCX_LOG_LEVEL=info NIXL_LOG_LEVEL=INFO name the device',
  why: 'No transfer failed: the engine could not take in the agent of the other one, which lists its backends and the addresses of its devices. Another version of NIXL or UCX, a backend that only one side has, a device or a network of which this pod has none, and the data of an engine that has restarted are what it refuses.',
  commands: [
    "kubectl exec POD -- sh -c \"pip list | grep -iE 'nixl|ucx'; env | grep -E 'UCX_|NIXL_'; ls /sys/class/infiniband; hostname -I\"    # in a prefill and in a decode pod: what differs",
    environmentOf('each engine', 'UCX_NET_DEVICES=mlx5_0:1', 'a device that both pods have'),
    environmentOf('each engine', 'UCX_LOG_LEVEL=info NIXL_LOG_LEVEL=INFO', 'where nothing differs'),
  ],
};

/** A prefill engine whose cache is full of blocks that are not fetched. */
export const RESTART_STUCK: PathCure = {
  says: 'Have the decode engines fetch: kubectl get pods shows whether they run and answer; where they do, restart the prefill worker that stands (kubectl delete pod), and set kv_transfer_timeout_ms in cache_transceiver_config of both roles, in a release that has it',
  why: 'A prefill engine keeps the blocks of each prompt until a decode engine has fetched them. As long as none does, nothing frees them, and no further prompt is scheduled. With a limit such a request ends with an error, and the engine goes on. Single waits of a second come while decode engines are busy.',
  commands: [
    'kubectl get pods -o wide    # restarts of the decode engines',
    engineYaml('cache_transceiver_config: { kv_transfer_timeout_ms: 60000 }'),
    'kubectl logs PREFILL --since=5m | grep -c "waiting for context KV cache transfer"    # grows as long as it stands',
  ],
};

/** Mooncake's store beside NPUs: their memory has addresses that TCP does not read. */
const ASCEND_PROTOCOL: PathCure = {
  says: 'Write "protocol": "ascend" into the file of MOONCAKE_CONFIG_PATH on all engines and clients of the store (with use_ascend_direct where its release has that), and run a Mooncake that was built for Ascend; where the protocol is tcp on purpose, the blocks have to lie in memory of the host',
  why: 'The keys are those of vLLM Ascend, whose blocks lie in the memory of NPUs. The TCP transport hands their addresses to a socket, which cannot read them: the connection ends before its first byte, and the put is revoked.',
  commands: [
    'kubectl exec POD -- sh -c "cat $MOONCAKE_CONFIG_PATH; pip list | grep -i mooncake"    # protocol, and the variant that is there',
    'kubectl exec POD -- sh -c "hccn_tool -i 0 -link -g"    # UP: what the protocol ascend goes over',
  ],
};

/** Mooncake's store whose keys a line has, where one is used: its blocks lie with clients, in memory of a host or of NPUs. */
export type SeenStore = 'of_npus' | 'of_clients';

/** A get from the store: the client that holds the blocks closes the connection. */
const OWN_ADDRESS: PathCure = {
  says: "Give each client of Mooncake's store an address of its own (local_hostname HOST:PORT, MOONCAKE_LOCAL_HOSTNAME, two clients of a host with two ports), and restart the client that holds the key where it has ended: the master lists all segments",
  why: 'The master says which client holds a key, and the reader asks at the address that this client registered. Two clients with one address, as both have where local_hostname has no port, or a client that ended without its segment being unmounted, lead to a process that does not have these blocks: it closes the connection, and the get fails with the whole key.',
  commands: [
    'curl -s http://MASTER:9003/get_all_segments    # each HOST:PORT once, and each with a client that runs',
    'kubectl exec POD -- sh -c "env | grep MOONCAKE; cat $MOONCAKE_CONFIG_PATH"    # local_hostname of each client',
    'kubectl get pods -o wide    # restarts of the clients',
  ],
};

/** Repairs connections that the other side of a transfer by Mooncake over TCP closes. */
export function closedBy(store: SeenStore | undefined, isSglang: boolean): PathCure {
  if (store === 'of_npus') return ASCEND_PROTOCOL;
  return store === 'of_clients' ? OWN_ADDRESS : closedByPeer(isSglang);
}

/** Mooncake over TCP between GPUs. */
function closedByPeer(isSglang: boolean): PathCure {
  return {
    says: `Compare the age of both pods (kubectl get pods): an engine or a store that ended closes its connections. Where both live, the blocks lie in GPU memory that a Mooncake without CUDA cannot send: move them over RDMA (${isSglang ? '--disaggregation-ib-device mlx5_0' : '"protocol": "rdma" and device_name in its configuration'}), or run a Mooncake that was built with CUDA`,
    why: 'The other side accepted the connection and closed it before the blocks had passed. Its process ended, or it could not read or write the address that was asked of it; its own log has the line beside this one.',
    commands: [
      'kubectl get pods -o wide    # restarts, and the nodes of both',
      'kubectl logs PEER --since=15m | grep -n -m5 -E "tcp_transport|Bad address|Segmentation"    # of the other side',
      'kubectl exec POD -- pip list | grep -i mooncake    # the variant that is there',
    ],
  };
}

/** A backend of NIXL that is installed and does not start, without a line that says why. */
export function startBackend(library: string | undefined): PathCure {
  const isOfFabric = library === 'libfabric';
  return {
    says: `Have the backend start in this pod: ${isOfFabric ? 'fi_info -p efa has to list its devices (resources: vpc.amazonaws.com/efa)' : 'ucx_info -d has to list a device and cuda_copy'}; without what it cannot use (${isOfFabric ? 'FI_PROVIDER=efa' : 'UCX_TLS=tcp,cuda_copy,cuda_ipc,self'}) it starts over TCP or says more`,
    why: 'The plugin of the backend was found and loaded, so that nothing has to be installed: it could not open a device, or could not connect to itself. The first error of the library above this line has the reason.',
    commands: [
      isOfFabric
        ? 'kubectl exec POD -- fi_info -p efa    # lists rdm endpoints'
        : 'kubectl exec POD -- ucx_info -d | grep -E "Transport|Device"    # what UCX sees',
      'kubectl logs POD | grep -B8 -m1 createBackend    # the errors above it',
    ],
  };
}

/** MoRI: each queue pair holds so many writes that are not done, and no more are taken in after a short wait. */
export function deeperQueue(isSglang: boolean): PathCure {
  const setting = 'MORI_IO_QP_MAX_SEND_WR=16384 MORI_IO_QP_MAX_CQE=32768 MORI_IO_SQ_BACKOFF_TIMEOUT_US=50000';
  const pairs = isSglang ? 'SGLANG_MORI_QP_PER_TRANSFER=4' : 'qp_per_transfer in kv_connector_extra_config';
  return {
    says: `Give MoRI a deeper send queue and a longer wait on both engines (${setting}), more queue pairs (${pairs}), and let fewer requests run at a time`,
    why: 'Each write of a block takes a place in the send queue of the network card until it is done. MoRI waits a few milliseconds for a free one, and then gives the transfer up, with its request. Long prompts in small blocks and many requests at a time fill it; where few requests do, the card does not finish its writes: see its port and its counters of retries.',
    commands: [
      environmentOf('each engine', setting),
      ...(isSglang ? [environmentOf('each engine', pairs)] : []),
      'kubectl exec POD -- sh -c "ibv_devinfo -v | grep -E \'hca_id|max_qp_wr|max_cqe|state\'"    # what the card has at most',
    ],
  };
}
