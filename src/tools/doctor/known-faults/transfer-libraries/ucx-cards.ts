import type { KnownFault } from '../known-fault.js';

/** UCX on network cards: `src/uct/ib`, 1.8 to 1.22, in containers that see other cards than they may use. */
export const UCX_CARDS: readonly KnownFault[] = [
  {
    id: 'ucx_card_does_not_open',
    cause: 'transfer_path_broken',
    needles: ['uct_iface_open('],
    pattern: /uct_iface_open\(([\w/:.-]{3,60})\) failed: ([\w ]{3,60})/,
    says: 'UCX cannot open the card $1 in this container ($2)',
    why: 'It takes every card that it sees. A bonded one, one without a GID and one of another network namespace do not open.',
    cure: 'Name the cards that work in UCX_NET_DEVICES (ibv_devinfo lists them), or do without RDMA: UCX_TLS=sm,self,tcp,cuda_copy,cuda_ipc; else give the container the network of its host and the device (hostNetwork, rdma/ib)',
    commands: ['kubectl exec POD -- sh -c "ibv_devinfo | grep -E \'hca_id|state|GID\'; show_gids"'],
  },
  {
    id: 'ucx_no_messages_transport',
    cause: 'transfer_path_broken',
    needles: ['no active messages transport'],
    pattern: /no active messages transport(?: to [^:]{1,80})?: ([\w/-][\w/: -]{2,80})/,
    says: 'UCX finds no transport for its messages ($1)',
    why: 'The two sides have no transport in common, or the devices that it may take do not open: no RDMA device in the container, a bonded one or one without a LID, a UCX that does not fit the driver of the host (mlx5dv_devx lines), or a UCX_TLS that leaves none.',
    cure: 'Give the container its RDMA device (rdma/ib of the device plugin, IPC_LOCK), name one that is not bonded in UCX_NET_DEVICES, and leave UCX_TLS unset; as a test UCX_TLS=tcp,cuda_copy,cuda_ipc goes without it',
    commands: [
      "kubectl exec POD -- sh -c \"ibv_devinfo | grep -E 'hca_id|state|sm_lid'; ucx_info -d | grep -E 'Transport|Device'\"",
    ],
  },
  {
    id: 'ucx_card_not_seen',
    cause: 'transfer_path_broken',
    needles: [' not available, please use one or more of: '],
    pattern:
      /network devices? ('(?:mlx|bnxt|irdma|ionic|roce|ibp|rdmap)[^;]{1,120}?') (?:is|are) not available, please use one or more of: ((?:'[^']{1,20}'\(tcp\)(?:, )?)+)$/,
    isSign: true,
    says: 'UCX is given the RDMA card $1 and sees none in this container: only TCP is left',
    why: 'The list has no card at all: the container has no /dev/infiniband, or the UCX in its image has no part for RDMA (libuct_ib with libibverbs and the driver of the card). Blocks go over TCP then, or not at all.',
    cure: 'Give the container the cards (rdma/ib: 1; --device=/dev/infiniband with --ulimit memlock=-1 and --network=host of docker); where ibv_devinfo lists $1 in it, install a UCX with RDMA in the image: the NIXL wheel (nixl-cu12, nixl-cu13) with rdma-core (libibverbs1, ibverbs-providers)',
    commands: [
      'kubectl exec POD -- sh -c "ls /dev/infiniband; ibv_devinfo | grep hca_id; ucx_info -d | grep -c mlx5"    # the card in all three',
    ],
  },
  {
    id: 'ucx_card_without_gid',
    cause: 'transfer_path_broken',
    needles: ['ibv_query_gid(dev='],
    pattern: /UCX {1,2}ERROR {1,3}ibv_query_gid\(dev=(\S{1,40}) port=(\d{1,3}) index=(\d{1,3})\) failed/,
    says: 'UCX opens the network card $1, which has no address (GID $3 of port $2) in this pod',
    why: 'It takes the card nearest to the GPU. A card of the network of the host, or of a network that the pod was not given, is listed with the others and carries no RDMA.',
    cure: 'Name the cards of the RDMA network in UCX_NET_DEVICES of both engines (mlx5_0:1,mlx5_1:1 …, those for which show_gids lists an address) and leave $1 out; unset UCX_IB_GID_INDEX where it is set',
    commands: [
      'kubectl exec POD -- sh -c "show_gids || ibv_devinfo -v | grep -E \'hca_id|GID\'; env | grep ^UCX_"',
    ],
  },
  {
    id: 'ucx_card_of_another_network',
    cause: 'transfer_path_broken',
    needles: [' failed: No such device', ' to RTR: No such device'],
    pattern:
      /ibv_create_ah\(.{0,300}? on ([\w.-]{1,40}) failed: No such device|UCX {1,2}ERROR +(?![\w.-]{0,36}bond)([\w.-]{1,40}): ibv_modify_qp\(.{0,120}: No such device/,
    says: 'UCX uses the network card $1$2, whose network interface is not in this container',
    why: 'A container sees the RDMA cards of the whole host, and has the network interfaces of its own namespace alone. A card without its interface has link-local or no addresses there: it opens, and its first connection ends with "No such device".',
    cure: 'Name the card that the pod was given with its network in UCX_NET_DEVICES (its ndevs file is not empty), the same on both engines, or give the container all of them: hostNetwork: true, --network=host of docker; a queue pair "UMR QP" is of the transport gga_mlx5 alone, without which UCX goes on (UCX_TLS=^gga)',
    commands: [
      'kubectl exec POD -- sh -c "grep -H . /sys/class/infiniband/*/ports/1/gid_attrs/ndevs/* 2>/dev/null"    # cards with an interface here',
    ],
  },
  // The queue pair leads to the card itself; no other engine has a part in it (`ib_mlx5dv_md.c`).
  {
    id: 'ucx_gga_on_bond',
    cause: 'transfer_path_broken',
    needles: ['ibv_modify_qp(UMR QP '],
    pattern: /([\w.-]{0,36}bond[\w.-]{0,20}): ibv_modify_qp\(UMR QP \w{1,12}\) failed to modify to/,
    says: 'UCX cannot set up the transport gga_mlx5 on bonded ports ($1), and the engine crashes as it registers memory',
    why: 'That transport needs a queue pair of the card to itself, which UCX up to 1.22 does not bring up on ports in a bond. KV blocks do not need it.',
    cure: 'Set UCX_TLS=^gga on the engines of both roles and restart them',
  },
  {
    id: 'ucx_too_many_resources',
    cause: 'settings_refused',
    needles: ['UCS_BITMAP_BITS_IN_WORD'],
    pattern: /failed: bit_index=(12[89]|1[3-9]\d|[2-9]\d\d) num_words=2\b/,
    says: 'UCX ends the engine: it finds more than the 128 pairs of transport and network device that it can use ($1)',
    why: 'Each card counts once for each transport (rc, dc, ud, tcp, by verbs and by mlx5). A host with many cards, bonds or virtual functions has more, all of which a privileged container sees.',
    cure: 'Name those that the engine is to use, before it starts: UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1 (the cards of the fabric) and UCX_TLS=rc,cuda_copy,cuda_ipc,self',
    commands: [
      'kubectl exec POD -- sh -c "ucx_info -d | grep -c Transport"    # 128 at most with the two variables set',
    ],
  },
  {
    id: 'ucx_card_without_datagrams',
    cause: 'transfer_path_broken',
    needles: ['failed to create UD QP'],
    pattern:
      /UCX {2}ERROR ([\w.-]{1,40}): iface \S{1,40} failed to create UD QP .{1,120}: (?:Invalid argument|Operation not supported|Function not implemented|Protocol not supported)/,
    says: 'UCX takes the card $1, which makes no queues of datagrams (UD)',
    why: 'UCX sets its reliable connections up over datagrams. Cards of iWARP and of clouds (erdma of Alibaba Cloud) have reliable connections alone; an older NIXL then ends the engine with a segmentation fault in ucp_worker_query.',
    cure: 'Leave $1 out: UCX_TLS=tcp,cuda_copy,cuda_ipc,self on both engines, or a library that connects over TCP first (MooncakeConnector in --kv-transfer-config of vLLM, --disaggregation-transfer-backend mooncake on both roles of SGLang)',
    commands: ['kubectl exec POD -- ucx_info -d -t ud_verbs    # no device: not over this card'],
  },
  {
    id: 'ucx_tcp_reads_gpu_memory',
    cause: 'transfer_path_broken',
    needles: ['(uct_tcp_ep_am_bcopy+'],
    below: ['invalid permissions for mapped object', '(ucs_handle_error'],
    says: 'UCX ends the engine: it reads the memory of a GPU as if it were of the host, to send it over TCP',
    why: 'Without its modules for CUDA UCX takes every address for memory of the host and copies it by the CPU, which may not. The UCX of early wheels (NIXL 0.2) does not load them, nor does a UCX of the system without CUDA that comes first in the search path.',
    cure: 'Run a later version of NIXL with the UCX of its wheel (pip install -U nixl-cu12 or nixl-cu13; no other UCX in LD_LIBRARY_PATH), and unset UCX_TLS or put cuda_copy and cuda_ipc into it',
    commands: [
      'kubectl exec POD -- sh -c "pip list | grep -i nixl; env | grep -E \'UCX_|LD_LIBRARY_PATH\'; ucx_info -d | grep cuda_copy"    # cuda_copy is listed',
    ],
  },
  {
    id: 'nixl_progress_without_context',
    cause: 'connector_crashed',
    needles: ['uct_cuda_base_iface_event_fd_arm'],
    says: "NIXL's own thread ends the engine: it asks CUDA for events without a context of the GPU",
    why: 'The thread that drives UCX asks the transport cuda_copy, and CUDA ends the process where the thread has no current context. It comes after hours of traffic, on the side that sends (issue 2102 of ai-dynamo/nixl, open in 1.4.0).',
    cure: 'Run a NIXL that has pull request 2103 of ai-dynamo/nixl; until then let the engine restart by itself (a liveness probe), or move blocks by another library: --disaggregation-transfer-backend mooncake on both roles of SGLang, MooncakeConnector in --kv-transfer-config of vLLM',
    commands: ['kubectl exec POD -- pip list | grep -i nixl'],
    disturbs: 'all_workers',
  },
  {
    id: 'ucx_gpu_memory_emulated',
    cause: 'transfer_slow',
    needles: ['software emulation'],
    above: ['emote memory read by ucp_get', 'emote memory write by ucp_put'],
    // A table of UCX_PROTO_INFO has a line for each range of sizes; that of the large ones ends with "inf".
    pattern:
      /emote memory (?:read|write) by ucp_.{1,80}?to (cuda|rocm|ze)\S{0,20} from (?:cuda|rocm|ze)\b(?!.{0,200}\.\.\d).{0,200}?software emulation[ |]{1,40}(tcp\/[\w.-]{1,40}|sysv|posix)/,
    says: 'UCX moves memory of GPUs ($1) in software over $2: no transport between them, and no RDMA, is in use',
    why: 'UCX takes the best lane that both processes have for this memory. Without the IPC transport of the GPUs (cuda_ipc, rocm_ipc) and without an RDMA device a remote read is emulated: blocks are copied to the host and sent over the network of the pod. Transfers succeed, and the first token waits for them.',
    cure: 'Give both engines a lane for memory of GPUs: one host, hostIPC (with hostPID) and all GPUs visible to both, with $1_ipc and $1_copy in UCX_TLS where it is set, between hosts RDMA devices in the pods (rdma/ib, IPC_LOCK) and UCX_NET_DEVICES of theirs; ucx_info -d has to list them, else take a UCX that was built for these GPUs (--with-rocm, --with-cuda)',
    commands: [
      'kubectl exec POD -- sh -c "ucx_info -d | grep -E \'Transport|Device\'; env | grep ^UCX_"',
      'UCX_PROTO_INFO=y    # on both engines: which lane each size takes',
    ],
  },
];
