import type { ProposedFix } from '../diagnosis.js';
import type { SeenPathFault } from '../logs/general/seen-path-faults.js';
import type { TransferLibrary } from '../logs/general/transfer-libraries.js';
import { environmentOf } from './lines.js';

/** A repair without where to look afterwards. */
export type PathCure = Pick<ProposedFix, 'says' | 'why' | 'commands'>;

/** Whether settings of UCX have a say: its own lines, and those of NIXL, whose backend it is by default. */
export function isOfUcx(library: TransferLibrary | undefined): boolean {
  return library === 'UCX' || library === 'NIXL';
}

/** Whether a library is Mooncake in any of its parts. */
export function isOfMooncake(library: TransferLibrary | undefined): boolean {
  return library?.startsWith('Mooncake') === true;
}

/** By which variable or flag a library is given its network cards. */
export function cardsOf(library: TransferLibrary | undefined, isSglang: boolean, card = 'mlx5_0'): string {
  if (library === 'MoRI') return `MORI_RDMA_DEVICES=${card}`;
  if (isOfMooncake(library))
    return isSglang
      ? `--disaggregation-ib-device ${card}`
      : `device_name or MOONCAKE_DEVICE=${card} in its configuration, MC_TE_FILTERS=${card} since 0.3.12`;
  return `UCX_NET_DEVICES=${card}:1`;
}

/** By which variable a library is given the GID index. */
function gidOf(library: TransferLibrary | undefined): string {
  if (library === 'MoRI') return 'MORI_IB_GID_INDEX';
  return isOfMooncake(library) ? 'MC_GID_INDEX' : 'UCX_IB_GID_INDEX';
}

/** Repairs of machines, drivers and pods; undefined for what lies between two engines. */
export function repairMachine(fault: SeenPathFault, isSglang: boolean): readonly PathCure[] | undefined {
  const { id, library } = fault;
  switch (id) {
    case 'gpu_memory_unknown':
      return [UCX_WITH_CUDA];
    case 'gpu_export':
      return [exportable(library)];
    case 'fabric_handles':
    case 'gpu_mapping':
      return id === 'fabric_handles' ? [FABRIC_HANDLES] : [COMMON_IPC];
    case 'memory_limit':
    case 'memory_of_gpu':
    case 'memory_atomics':
    case 'memory_size':
    case 'memory':
      return [registration(id, library, isSglang)];
    case 'gid':
      return [fittingGid(library)];
    case 'device_files':
    case 'no_device':
      return [devices(library, isSglang)];
    case 'ports_unfit':
      return [onePortNetwork(library, isSglang)];
    case 'gpu_queues':
    case 'queues':
      return [otherQueues(fault, isSglang)];
    case 'port_down':
      return [livingPort(fault, isSglang)];
    case 'tcp_gpu_memory':
      return [PATH_FOR_GPU_MEMORY];
    default:
      return undefined;
  }
}

const UCX_WITH_CUDA: PathCure = {
  says: 'Have UCX load its parts for CUDA: UCX_TLS with cuda_copy and cuda_ipc in it (UCX_TLS=rc,cuda_copy,cuda_ipc,tcp,self) or not set at all, and a UCX that was built with CUDA: that of the nixl wheel for the CUDA of the image (nixl-cu12, nixl-cu13), with UCX_MODULE_DIR=SITE_PACKAGES/nixl_cu13.libs/ucx (nixl_cu12.libs) where it is installed and does not find them',
  why: 'UCX takes the memory of a GPU for memory of the host where its modules for CUDA are not loaded: they are not in UCX_TLS, another UCX of the system comes first in the search path, or the image has a UCX without CUDA. Registration then fails, or transfers fail or copy through the host.',
  commands: [
    "kubectl exec POD -- sh -c \"env | grep -E 'UCX_TLS|UCX_MODULE_DIR|LD_LIBRARY_PATH'; ucx_info -d | grep -E 'cuda_copy|cuda_ipc'; pip list | grep -iE 'nixl|torch'\"    # cuda_copy and cuda_ipc are listed",
    environmentOf('each engine', 'UCX_TLS=rc,cuda_copy,cuda_ipc,tcp,self', 'where UCX_TLS was set'),
  ],
};

const FABRIC_HANDLES: PathCure = {
  says: 'Give both pods a channel of IMEX in common (a ComputeDomain of the NVIDIA DRA driver, or nvidia-imex.service on each host and /dev/nvidia-caps-imex-channels/channel0 in the container), or do without them: UCX_CUDA_IPC_ENABLE_MNNVL=n for UCX, no MC_FORCE_MNNVL for Mooncake (over RDMA), and within one host SGLANG_MOONCAKE_CUSTOM_MEM_POOL=INTRA_NODE_NVLINK of SGLang',
  why: 'NVLink between hosts maps memory by fabric handles, and the driver gives them out only to processes with a channel of IMEX, within one NVLink domain (ClusterUUID and CliqueId of nvidia-smi -q). Hosts of other domains, or without NVLink between them, can never do so.',
  commands: [
    'kubectl exec POD -- sh -c "ls /dev/nvidia-caps-imex-channels; nvidia-smi -q | grep -A4 Fabric"    # a channel; State Completed, and the same ClusterUUID in both pods',
    'nvidia-imex-ctl -N    # on the hosts: both READY',
  ],
};

const COMMON_IPC: PathCure = {
  says: 'Give the engines of one host a common IPC namespace and sight of both GPUs (hostIPC: true), or switch the direct path off: UCX_TLS=^cuda_ipc (UCX_CUDA_IPC_ENABLE_MNNVL=n across NVLink domains)',
  why: 'cuda_ipc maps the memory of another process on another GPU. That fails between containers that do not see the GPU of each other, with memory of some allocators, and between NVLink domains. Where transfers succeed all the same, UCX took another path, and the lines do no harm.',
  commands: [
    'kubectl exec POD -- nvidia-smi topo -m    # NV between the two GPUs',
    environmentOf('each engine', 'UCX_TLS=^cuda_ipc', 'or UCX_CUDA_IPC_ENABLE_MNNVL=n'),
  ],
};

/** The engine's own memory: what the two processes see of each other has no say. */
function exportable(library: TransferLibrary | undefined): PathCure {
  const isUcx = isOfUcx(library);
  return {
    says: `Keep the KV cache in memory that cudaMalloc gave (PYTORCH_CUDA_ALLOC_CONF without expandable_segments:True and without backend:cudaMallocAsync, no sleep mode or memory saver)${isUcx ? ', or switch the direct path off: UCX_TLS=^cuda_ipc' : ''}`,
    why: `CUDA gives a handle of the old kind only for memory of cudaMalloc. Memory of a pool, memory that is mapped in pieces, and managed memory have none. The process that owns the memory fails, so that a common IPC namespace changes nothing.${isUcx ? ' A newer UCX shares memory of pools and of pieces in another way.' : ''}`,
    commands: [
      'kubectl exec POD -- sh -c "env | grep -E \'ALLOC_CONF|UCX_TLS\'"    # neither expandable_segments:True nor cudaMallocAsync',
      environmentOf('each engine', 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False', 'where it was set'),
      ...(isUcx ? [environmentOf('each engine', 'UCX_TLS=^cuda_ipc', 'where it stays')] : []),
    ],
  };
}

const PATH_FOR_GPU_MEMORY: PathCure = {
  says: 'Give both engines a path that takes GPU memory: RDMA (--disaggregation-ib-device mlx5_0), NIXL (--disaggregation-transfer-backend nixl), or a build of Mooncake with CUDA for TCP',
  why: 'The TCP transport of a Mooncake without CUDA hands the address of a GPU to a socket, which the system refuses as a bad address (14).',
  commands: ['kubectl exec POD -- pip list | grep -i mooncake    # the variant that is there'],
};

/** Queues that the card or its driver does not create. */
function otherQueues({ id, card, library }: SeenPathFault, isSglang: boolean): PathCure {
  const device = card?.replace(/:\d+$/, '') ?? 'mlx5_0';
  // A line that names no card leaves open which one it is.
  const other = card === undefined ? 'another card' : `another card than ${device}`;
  const it = card === undefined ? 'the card' : device;
  const isOfGpus = id === 'gpu_queues';
  const option = isOfUcx(library)
    ? 'UCX_NET_DEVICES=CARD:1, or UCX_IB_MLX5_DEVX=n'
    : cardsOf(library, isSglang, 'CARD');
  return {
    says: isOfGpus
      ? `Start both engines without the transport that GPUs write to by themselves (UCX_TLS=^rc_gda), and where ${it} still refuses its queues with another card: UCX_NET_DEVICES=CARD:1`
      : `${isOfUcx(library) ? 'Give' : 'Give the pods the capability IPC_LOCK with ulimit -l unlimited, which queues are counted in too; then give'} both engines ${other} (${option}), and have its firmware, the driver of the node and the rdma-core of the image belong together`,
    why: `The card itself refuses the queue, by a command of its firmware (the syndrome of the line). Many processes with a queue for each peer use up what one card has; a virtual function, a container without the right to it, and firmware that is older than the driver refuse it too. An error that says out of memory below it is of no memory.${isOfGpus ? ' Transfers that GPUs start (GDAKI) also need a card and a driver that allow them, and NIXL works without.' : ''}`,
    commands: [
      ...(isOfGpus ? [environmentOf('each engine', 'UCX_TLS=^rc_gda')] : []),
      `kubectl exec POD -- sh -c "ibv_devinfo -d ${device} | grep -E 'fw_ver|state'; ucx_info -v | head -1"    # firmware, and a port that is active`,
      `dmesg -T | grep -iE "mlx5_core.*(cmd|syndrome|err)" | tail    # on the node: what the card refused`,
    ],
  };
}

/** A port that went down: of a cable, a switch or the card itself. */
function livingPort({ card = 'mlx5_0:1', library }: SeenPathFault, isSglang: boolean): PathCure {
  const device = card.replace(/:\d+$/, '');
  return {
    says: `Move the engine off this node (kubectl cordon NODE) until ${device} stays up: cable, transceiver, switch port or the card; then restart the engines that had connections over it (kubectl delete pod)`,
    why: `A port that goes down ends all connections over it, and NIXL, UCX and NCCL do not set them up again by themselves. One that comes and goes does so again. Until it is repaired, the engine can run over its other cards: ${cardsOf(library, isSglang, 'CARD')}, NCCL_IB_HCA=^=${device}.`,
    commands: [
      `rdma link | grep ${device}; ibstat ${device} | grep -E "State|Rate|Link"    # on the node: ACTIVE, LinkUp`,
      `dmesg -T | grep -iE "${device}|mlx5_core.*link" | tail    # on the node: when it went down`,
      `cat /sys/class/infiniband/${device}/ports/1/counters/link_downed    # on the node: should stand still`,
    ],
  };
}

/** The system's reasons 5 and 22: the region, and not the limit of locked memory, which is 12. */
function regionThatFits(isSglang: boolean): PathCure {
  const smaller =
    'memory below what the card takes (ibv_devinfo -v | grep max_mr_size): global_segment_size and local_buffer_size each smaller, more clients in place of a large one';
  return {
    says: isSglang
      ? `Load nvidia_peermem on the node, or let the library take dma-buf, and give the pods the capability IPC_LOCK (ulimit -l unlimited); where HiCache or a store registers memory of the host, ${smaller}`
      : `Give Mooncake's clients ${smaller}; where it is memory of a GPU, load nvidia_peermem on the node`,
    why: 'The card or its driver refused the region itself: it is larger than one region or all of them may be (virtual functions have little), or of a GPU that the card does not reach. A client of the store without an engine registers memory of the host alone; nvidia_peermem has no say there. Then the segment is not mounted, and the store has none of its memory.',
    commands: [
      'kubectl exec POD -- sh -c "ibv_devinfo -v | grep -E \'hca_id|max_mr\'; ulimit -l"    # the largest region, how many; unlimited',
      environmentOf('each client', 'MOONCAKE_GLOBAL_SEGMENT_SIZE=BYTES', 'below max_mr_size'),
      'lsmod | grep nvidia_peermem    # on the node, for memory of GPUs',
    ],
  };
}

function registration(
  id: SeenPathFault['id'],
  library: TransferLibrary | undefined,
  isSglang: boolean,
): PathCure {
  if (id === 'memory_atomics')
    return {
      says: 'Run a MoRI that registers memory without atomics on this card (MORI_IO_DISABLE_ATOMIC_MR=1 where it has that), or give it cards with atomics: MORI_RDMA_DEVICES=CARD',
      why: 'MoRI asks for remote atomics with each region, which its transfers of KV blocks do not use. A card without them (ionic: atomic_cap ATOMIC_NONE) refuses the whole registration as an invalid argument.',
      commands: [
        'kubectl exec POD -- sh -c "ibv_devinfo -v | grep -E \'hca_id|atomic_cap\'; pip list | grep -i mori"    # ATOMIC_NONE: this card',
        environmentOf('each engine', 'MORI_IO_DISABLE_ATOMIC_MR=1'),
      ],
    };
  if (library === 'Ascend')
    return {
      says: 'Give the engine less of what is registered at a time, and huge pages or HBM as its transport asks (ASCEND_BUFFER_POOL for memory of the host), with the CANN of its release on both hosts',
      why: 'The NPU registers memory by its own driver: neither limits of locked memory nor modules for GPUs have a say.',
      commands: [
        'grep -rhm3 "ERROR" ~/ascend/log/debug/plog | head    # in each pod: the first one has the reason',
      ],
    };
  if (id === 'memory_size') return regionThatFits(isSglang);
  const isAmd = library === 'MoRI';
  const module = isAmd ? 'ib_peer_mem of the amdgpu driver' : 'nvidia_peermem';
  const parts = {
    says:
      id === 'memory_of_gpu'
        ? `Give each node ${module} (modprobe), or let the library take dma-buf (open kernel modules of the driver, a recent rdma-core), and give the pods the capability IPC_LOCK${isOfUcx(library) ? '; until then UCX_IB_GPU_DIRECT_RDMA=no lets UCX copy over the host' : ''}`
        : `Give the pods the right to lock memory (securityContext: capability IPC_LOCK, ulimit -l unlimited), and load ${module} on each node where GPU memory is registered${library === 'Mooncake' ? "; for Mooncake's store also a global_segment_size below max_mr_size of ibv_devinfo -v" : ''}`,
    why: 'A network card reads and writes only memory that is registered with it. That fails at the limit of locked memory, without the module between card and GPU, and with GPU memory that is mapped in pieces (expandable_segments, virtual memory).',
    commands: [
      'kubectl exec POD -- sh -c "ulimit -l"    # unlimited',
      isAmd
        ? 'lsmod | grep -E "ib_peer_mem|amdgpu"    # on the node'
        : 'lsmod | grep nvidia_peermem    # on the node',
      environmentOf('each engine', 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False', 'where it was set'),
    ],
  };
  return parts;
}

function fittingGid(library: TransferLibrary | undefined): PathCure {
  const name = gidOf(library);
  return {
    says: `Set ${name} to the index of RoCE v2 with an address that the pod has (show_gids), or not at all, so that one is chosen; where no index has an address, give the pod its RDMA device with its network (rdma/ib with a secondary network, or hostNetwork)`,
    why: 'A GID is an address of the card, and each index is one of another protocol and network. An index of RoCE v1, of link-local addresses or without a network device in the pod opens no card. In pods, only the networks that were given to them have addresses; older versions choose IPv4 alone.',
    commands: [
      'kubectl exec POD -- sh -c "show_gids || ibv_devinfo -v | grep -E \'hca_id|GID\'"    # the index of RoCE v2 with the address of the network',
      environmentOf(
        'each engine',
        `${name}=3`,
        'the index that both pods have; not set at all on InfiniBand',
      ),
    ],
  };
}

function devices(library: TransferLibrary | undefined, isSglang: boolean): PathCure {
  const see =
    'kubectl exec POD -- sh -c "ls -l /dev/infiniband; ibv_devinfo | grep -E \'hca_id|state\'"    # uverbs files, state: PORT_ACTIVE';
  const why =
    'The library sees no device that both sides can use: the pod was not given one, its name differs from the one that is configured, the port is down, or its GID is none that the network routes.';
  if (library === 'libfabric')
    return {
      says: 'Give both pods their EFA devices (resources: vpc.amazonaws.com/efa: 1, FI_PROVIDER=efa) and the libraries of the EFA installer, of one version with the driver of the node',
      why,
      commands: ['kubectl exec POD -- fi_info -p efa    # lists rdm endpoints', see],
    };
  if (isOfMooncake(library) || library === 'MoRI')
    return {
      says: `Give both pods their RDMA device (resources: rdma/ib: 1, or hostNetwork and /dev/infiniband), and name one that is there: ${cardsOf(library, isSglang)}${library === 'MoRI' ? '' : '; without RDMA, TCP: protocol tcp in its configuration or MC_FORCE_TCP=true'}`,
      why:
        library === 'MoRI'
          ? why
          : `${why} TCP works everywhere, many times slower, and a build without CUDA cannot send GPU memory by it.`,
      commands: [
        see,
        ...(library === 'MoRI' ? [] : [environmentOf('each engine', 'MC_FORCE_TCP=true', 'without RDMA')]),
      ],
    };
  return {
    says: 'Give both pods their RDMA device (resources: rdma/ib: 1, or hostNetwork), or let UCX take TCP (UCX_TLS=tcp,cuda_copy,cuda_ipc,self)',
    why: 'The library sees no device that both sides can use: the pod was not given one, its name differs from the one that is configured (UCX_NET_DEVICES, an option for the InfiniBand device), or the port is down, or its GID is none that the network routes (UCX_IB_GID_INDEX). TCP works everywhere, many times slower.',
    commands: [
      'kubectl exec POD -- ibv_devinfo    # state: PORT_ACTIVE',
      'kubectl exec POD -- ucx_info -d | grep -E "Transport|Device"    # what UCX sees',
      environmentOf('each engine', 'UCX_TLS=tcp,cuda_copy,cuda_ipc,self', 'without RDMA'),
    ],
  };
}

function onePortNetwork(library: TransferLibrary | undefined, isSglang: boolean): PathCure {
  const gid = gidOf(library);
  const mtu = library === 'MoRI' ? 'MORI_IB_PATH_MTU=1024' : isOfMooncake(library) ? 'MC_MTU=1024' : '';
  return {
    says: `Give both engines ports of one network: devices of the same subnet (${cardsOf(library, isSglang)}), the GID that it routes (${gid}=3 for RoCE v2)${mtu === '' ? '' : `, and one MTU (${mtu})`}`,
    why: 'Both ports live, and a connection between them does not come up: the GID index is that of another protocol or address (show_gids), the ports are in networks that do not reach each other, or their MTU differs. With several cards it is often one pair of them alone.',
    commands: [
      'kubectl exec POD -- sh -c "ibv_devinfo -v | grep -E \'hca_id|state|active_mtu|GID\'"    # in both pods',
      environmentOf('each engine', `${gid}=3`, 'the index of RoCE v2 with an IPv4 address'),
      'ib_write_bw -d mlx5_0 -x 3 PEER    # the same way without the engine',
    ],
  };
}
