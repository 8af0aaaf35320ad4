import type { KnownFault } from '../known-fault.js';

/** Where UCX ends its process with "Fatal: …" (`ucs_fatal`). */
export const UCX_ENDS: readonly KnownFault[] = [
  {
    id: 'ucx_reconfiguration',
    cause: 'transfer_path_broken',
    needles: ['Fatal: endpoint reconfiguration not supported yet'],
    says: 'UCX ends an engine: its peer has other devices or transports than it expected when the two connected',
    why: 'Both sides choose transports by what they see of each other. Where the second choice differs from the first (pods with different devices, another UCX_TLS or UCX_NET_DEVICES, another UCX), UCX before 1.18 cannot change a connection any more and ends the process, and later ones cannot in all cases; lines of "old" and "new" lanes above show what differs.',
    cure: 'Give both engines the same UCX version (1.19 or later), the same UCX_TLS and the same kind of devices in UCX_NET_DEVICES, and the same number of RDMA devices in their pods',
    commands: [
      'kubectl exec POD -- ucx_info -v    # on both',
      'kubectl exec POD -- env | grep UCX_    # on both',
    ],
    disturbs: 'all_workers',
  },
  {
    id: 'ucx_no_lane_to_connect',
    cause: 'transfer_path_broken',
    needles: ['could not find a lane to send CONN_'],
    says: 'UCX ends an engine: it has no transport over which to answer its peer',
    why: 'The two have no transport in common that carries its answer. With UCX_UNIFIED_MODE=y UCX takes the other side to have what this one has.',
    cure: 'Set the same UCX_TLS and the same kind of devices in UCX_NET_DEVICES on both engines, and leave UCX_UNIFIED_MODE unset (n is the default)',
    disturbs: 'all_workers',
  },
  {
    id: 'ucx_ud_timeout',
    cause: 'transfer_path_broken',
    needles: [': unhandled timeout error'],
    pattern: /UD endpoint .{1,160}: unhandled timeout error/,
    says: 'UCX ends an engine: its peer does not answer over unreliable datagrams (UD) of InfiniBand or RoCE',
    why: 'UD repeats what is not acknowledged until UCX_UD_TIMEOUT (30 seconds). The peer has ended, the port is down, or packets of this size or priority are lost on the way (MTU, PFC of RoCE).',
    cure: 'Look whether the other engine still runs (kubectl get pods); then leave UD out with UCX_TLS=rc,cuda_copy,cuda_ipc on both engines, and test the path: ib_write_bw between the two pods',
    commands: ['ibv_devinfo | grep -E "state|active_mtu"    # on both: PORT_ACTIVE, the same MTU'],
    disturbs: 'all_workers',
  },
  {
    id: 'ucx_ends_without_protocol',
    cause: 'transfer_path_broken',
    needles: [': could not find a protocol for '],
    pattern: /Fatal: req .{1,160}: could not find a protocol for (.{1,60}?) length (\d{1,20})/,
    says: 'UCX ends an engine: it has no way to move this memory to its peer ($1, $2 bytes)',
    why: 'None of the allowed transports reads or writes memory of this kind. GPU memory needs cuda_copy (and cuda_ipc within a host), or RDMA with GPUDirect.',
    cure: 'Add cuda_copy and cuda_ipc to UCX_TLS of both engines (UCX_TLS=rc,cuda_copy,cuda_ipc, or tcp,cuda_copy,cuda_ipc,sm without RDMA), in a UCX that was built with CUDA (ucx_info -d | grep cuda)',
    disturbs: 'all_workers',
  },
  {
    id: 'ucx_remote_key',
    cause: 'transfer_path_broken',
    needles: ['failed to unpack rendezvous remote key received from'],
    pattern: /remote key received from (\S{1,100}): (.{1,60})/,
    says: 'UCX ends an engine: it cannot use the memory that its peer $1 offers ($2)',
    why: 'The key of the memory was made by transports that this side has not: another UCX_TLS, no cuda_ipc between the two, or another UCX.',
    cure: 'Run the same UCX version with the same UCX_TLS on both engines; leave cuda_ipc out of it where the two are on different hosts without NVLink between them',
    disturbs: 'all_workers',
  },
];
