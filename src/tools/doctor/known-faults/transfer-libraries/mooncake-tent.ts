import type { KnownFault } from '../known-fault.js';

/** Mooncake's TENT (`MC_USE_TENT=1`), 0.3.9 to its main branch of August 2026: `mooncake-transfer-engine/tent`; and its handshake beside the older engine. */
export const MOONCAKE_TENT: readonly KnownFault[] = [
  {
    id: 'mooncake_tent_endpoint_kept',
    cause: 'transfer_path_broken',
    needles: ['Endpoint already connected to different peer', 'cannot accept new connection (unidirectional'],
    says: 'Mooncake (TENT) keeps a connection whose other side has opened a new one, and refuses the new one for ever',
    why: 'An engine that gave its endpoint up (a failed transfer, an eviction, a restart) comes back with new queue pairs. Releases up to 0.3.11.post1 do not retire the old ones, so that nothing passes between the two cards any more.',
    cure: 'Restart the engine that writes this line, which forgets its endpoints; then run a Mooncake later than 0.3.11.post1 on all engines, which retires the old endpoint, or MC_USE_TENT=0 until then',
    commands: ['kubectl exec ENGINE -- pip list | grep -i mooncake    # later than 0.3.11.post1'],
    disturbs: 'all_workers',
  },
  {
    id: 'mooncake_tent_buffer_unknown',
    cause: 'offload_failed',
    needles: ['Unable to find registered buffer for request: '],
    pattern: /Unable to find registered buffer for request: .{0,200}?transport_hint/,
    says: 'Mooncake (TENT) has no transport for the memory of a segment: a put or get fails',
    why: 'On hosts whose network cards are on several NUMA nodes the store divides its memory over them, and older TENT does not read where such memory lies. SGLang then ends as it warms its store up.',
    cure: 'Unset MC_USE_TENT on all engines and clients of the store, or name cards of one NUMA node (MOONCAKE_DEVICE=mlx5_0,mlx5_1), until a Mooncake later than August 2026 is there',
    commands: ['cat /sys/class/infiniband/*/device/numa_node    # on the node: which node each card is on'],
    disturbs: 'all_workers',
  },
  {
    id: 'mooncake_engines_of_two_kinds',
    cause: 'pair_incompatible',
    needles: ['Segment descriptor 0 not found'],
    says: 'Some processes of this Mooncake run TENT and others the older transfer engine',
    why: 'MC_USE_TENT=1 has to be set for all of them, or for none: their metadata have other forms.',
    cure: 'Set MC_USE_TENT=1 on all engines, clients and stores, or unset it on all, and restart them',
    disturbs: 'all_workers',
  },
  {
    id: 'mooncake_no_local_segment',
    cause: 'transfer_path_broken',
    needles: ['Local segment descriptor not found'],
    // A client looks for it once as it starts, before it has made one.
    healedBy: ['TcpTransport: listen on port', 'real_client.cpp:', 'RDMA device: '],
    says: 'Mooncake has no segment of its own engine to show to its peers: transfers to this engine fail',
    why: 'The peer asks for the addresses of this engine, and its transfer engine has registered none under this process. SGLang releases fit one Mooncake: 0.5.10 works with 0.3.9 and does so with 0.3.11.',
    cure: 'Install on all engines the mooncake-transfer-engine that the release of SGLang names (0.3.9 for SGLang 0.5.10), or later ones of both together, and restart both roles',
    commands: ['kubectl exec ENGINE -- pip list | grep -iE "mooncake|^sglang "'],
    disturbs: 'all_workers',
  },
];
