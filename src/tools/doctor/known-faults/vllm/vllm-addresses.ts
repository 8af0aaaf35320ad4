import type { KnownFault } from '../known-fault.js';

const NEEDLES = ["Cannot assign requested address (addr='tcp://"];
const PATTERN = /Cannot assign requested address \(addr='tcp:\/\/(\S{1,80}):(\d{1,5})'\)/;
const ADDRESSES =
  'kubectl exec POD -- sh -c "hostname -I; env | grep -E \'SIDE_CHANNEL|HOST_IP|MASTER\'"    # of each pod: $1 is of none, or of another one';

/** Where the ranks of one engine meet: `launch_core_engines` of `v1/engine/utils.py` binds `--data-parallel-address`. */
const DATA_PARALLEL: Omit<KnownFault, 'id'> = {
  cause: 'program_ended',
  needles: NEEDLES,
  says: 'vLLM is to meet its data-parallel ranks at $1 port $2, which is no address of its host',
  why: 'The head node listens at --data-parallel-address, and the other nodes connect there. It is another machine than the address says, a name that resolves to another one, or a second node that was started like the first, without --headless.',
  cure: 'Start the head node with --data-parallel-address set to an address of that node (hostname -I, status.podIP), and each other node with --headless, its --data-parallel-start-rank N, and the same --data-parallel-address and --data-parallel-rpc-port',
  commands: [ADDRESSES],
  disturbs: 'all_workers',
};

/** Addresses at which vLLM is to listen and that are of no interface of its host, by who listens. */
export const VLLM_ADDRESSES: readonly KnownFault[] = [
  // The publisher of KV events of vLLM and SGLang, `_socket_setup`: "zmq.error.ZMQError: Invalid argument (addr='localhost:5557')".
  {
    id: 'events_endpoint_without_transport',
    cause: 'publisher_failed',
    needles: ["Invalid argument (addr='"],
    pattern: /addr='(?!\w{2,6}:\/\/)(\S{1,120})'/,
    below: [', in _socket_setup'],
    says: 'the endpoint of KV events has no transport in front: $1',
    why: 'ZeroMQ takes addresses such as tcp://*:5557, and refuses a host and a port alone. The engine ends as it starts.',
    cure: 'Write endpoint and replay_endpoint of --kv-events-config with their transport: "endpoint":"tcp://*:PORT", with the port of $1',
  },
  {
    id: 'events_port_taken',
    cause: 'publisher_failed',
    needles: ["Address already in use (addr='"],
    pattern: /Address already in use \(addr='tcp:\/\/\S{1,80}:(\d{1,5})'\)/,
    below: [', in _socket_setup'],
    says: 'the port of KV events is taken: $1',
    why: 'Another engine of the host, an earlier start of this one, or any other program listens there. With data parallelism each rank takes the next port, and replay_endpoint one of its own.',
    cure: 'End what has port $1, or give this engine another port for its events (endpoint and replay_endpoint of --kv-events-config), and the router the same',
    commands: ['ss -ltnp "sport = :$1"    # on the host, or in the pod: who has it'],
  },
  // What ZMQ says of an address that is none: a host that is not there, a port that is no number, a scheme without //.
  {
    id: 'events_address_is_none',
    cause: 'publisher_failed',
    needles: ["Invalid argument (addr='", "No such device (addr='", "Protocol not supported (addr='"],
    pattern: /(?:Invalid argument|No such device|Protocol not supported) \(addr='(\w{2,6}:\/\/\S{1,120}?)'\)/,
    below: [', in _socket_setup'],
    says: 'KV events cannot be published at $1, which is no address that ZMQ can take',
    why: 'A publisher binds tcp://*:PORT, or an address of its own host, or connects to tcp://HOST:PORT of the one reader.',
    cure: 'Write tcp://*:5557 as endpoint (and tcp://*:5558 as replay_endpoint) in --kv-events-config, or tcp://HOST:PORT with a name that resolves where one reader listens for all engines',
  },
  {
    id: 'nixl_listens_on_foreign_address',
    cause: 'side_channel_dead',
    needles: NEEDLES,
    pattern: PATTERN,
    below: ['nixl_handshake_listener'],
    says: 'A rank is to listen on $1, which is no address of its host',
    why: 'VLLM_NIXL_SIDE_CHANNEL_HOST (VLLM_HOST_IP) was set once, to the address of the first node, for ranks of several nodes. The rank on the other node has no side channel, and nothing is fetched from it.',
    cure: 'Set VLLM_NIXL_SIDE_CHANNEL_HOST and VLLM_HOST_IP on each node to an address of that node (status.podIP of each pod), and not to $1 on all',
    commands: [ADDRESSES],
  },
  {
    ...DATA_PARALLEL,
    id: 'vllm_data_parallel_address',
    pattern: new RegExp(`\\((?:APIServer|ApiServer_|DPCoordinator).{0,400}${PATTERN.source}`),
    follows: ['nixl_listens_on_foreign_address'],
  },
  {
    ...DATA_PARALLEL,
    id: 'vllm_data_parallel_address_by_place',
    pattern: PATTERN,
    below: [', in launch_core_engines', ', in run_headless', ', in run_coordinator'],
    follows: ['nixl_listens_on_foreign_address', 'vllm_data_parallel_address'],
  },
  // The queue over which the ranks of one engine get their work, `MessageQueue`, where some of them are on other nodes.
  {
    id: 'vllm_queue_address',
    cause: 'program_ended',
    needles: NEEDLES,
    pattern: PATTERN,
    below: ['device_communicators/shm_broadcast.py'],
    follows: ['nixl_listens_on_foreign_address'],
    says: 'A rank of vLLM is to send work to ranks of other nodes from $1 port $2, which is no address of its host',
    why: 'The queue listens at the address of the node: VLLM_HOST_IP where it is set, else the one that leads outward. One value for all nodes is right on one of them alone.',
    cure: 'Set VLLM_HOST_IP on each node to an address of that node (status.podIP by the downward API), or leave it out',
    commands: [ADDRESSES],
    disturbs: 'all_workers',
  },
  {
    id: 'vllm_foreign_address',
    cause: 'program_ended',
    needles: NEEDLES,
    pattern: PATTERN,
    follows: [
      'nixl_listens_on_foreign_address',
      'vllm_data_parallel_address',
      'vllm_data_parallel_address_by_place',
      'vllm_queue_address',
    ],
    says: 'A process is to listen on $1 port $2, which is no address of its host',
    why: 'Each node and pod has addresses of its own. One that was given to all of them is right on one alone, and a name may resolve to another machine. The places in the traceback above say what listens there.',
    cure: 'Give each node an address of its own (status.podIP) in the setting that has $1: VLLM_HOST_IP, VLLM_NIXL_SIDE_CHANNEL_HOST, --data-parallel-address on the head node, or the endpoint of --kv-events-config (tcp://*:PORT)',
    commands: [ADDRESSES, 'kubectl get pod POD -o yaml | grep -n "$1"    # which setting has it'],
  },
  // torch: "The server socket has failed to bind to 10.0.0.5:29500 (errno: 99 - Cannot assign requested address)".
  {
    id: 'first_rank_address',
    cause: 'program_ended',
    needles: ['(errno: 99 - Cannot assign requested address)'],
    pattern: /bind to \[?([\w.:-]{2,60}?)\]?:(\d{1,5}) \(errno: 99/,
    says: 'the first rank is to listen on $1 port $2, which is no address of its host',
    why: 'The rank 0 of all nodes listens there, and the others connect. It was started on another node than the one that has this address, or two nodes were started as the first.',
    cure: 'Start rank 0 (--node-rank 0) on the node that has $1, and the others with a --node-rank of their own; the address is --dist-init-addr of SGLang, --master-addr of vLLM and torchrun (MASTER_ADDR)',
    commands: [ADDRESSES],
    disturbs: 'all_workers',
  },
  // uvicorn: "[Errno 99] error while attempting to bind on address ('10.0.0.5', 8000): cannot assign requested address".
  {
    id: 'server_address',
    cause: 'program_ended',
    needles: ['[Errno 99] error while attempting to bind on address'],
    pattern: /bind on address \('([\w.:-]{2,60})', (\d{1,5})/,
    says: 'a server is to listen on $1 port $2, which is no address of its host',
    why: 'The address of a Service, of the node or of another pod is none of this pod.',
    cure: 'Start it with --host 0.0.0.0, or with the address of its own pod (status.podIP)',
    commands: ['kubectl exec POD -- hostname -I    # the addresses that it has'],
  },
];
