import type { ProposedFix } from '../diagnosis.js';
import { environmentOf } from './lines.js';

/** Where to look whether KV blocks move again. */
const VERIFY: readonly string[] = [
  'kubectl logs DECODE --since=5m | grep -cE "UCX  ERROR|NIXL_ERR_|rdma_"    # should be 0',
];

/** Repairs what lies below a transfer, by the fault that its library names. */
export function repairPath(fault: string): ProposedFix {
  const said = { disturbs: 'one_worker_at_a_time', files: [], verify: VERIFY } as const;
  if (/memory of GPUs/.test(fault))
    return {
      ...said,
      says: 'Let UCX load its parts for CUDA: UCX_TLS with cuda_copy and cuda_ipc in it (UCX_TLS=rc,cuda_copy,cuda_ipc,tcp,self) or not set at all, and a UCX that was built with CUDA, such as the one of the nixl wheel for the CUDA of the image (nixl-cu12, nixl-cu13)',
      why: 'UCX takes the memory of a GPU for memory of the host where its modules for CUDA are not loaded: they are not in UCX_TLS, another UCX of the system comes first in the search path, or the image has a UCX without CUDA. Registration then fails, or transfers fail or copy through the host.',
      commands: [
        "kubectl exec POD -- sh -c \"env | grep -E 'UCX_TLS|UCX_MODULE_DIR|LD_LIBRARY_PATH'; ucx_info -d | grep -E 'cuda_copy|cuda_ipc'; pip list | grep -iE 'nixl|torch'\"    # cuda_copy and cuda_ipc are listed",
        environmentOf('each engine', 'UCX_TLS=rc,cuda_copy,cuda_ipc,tcp,self', 'where UCX_TLS was set'),
      ],
    };
  if (/other backends/.test(fault))
    return {
      ...said,
      says: 'Give the engines of both roles the same backend of NIXL (UCX or LIBFABRIC, in the file and in each variable that names it: NIXL_BACKEND, TRTLLM_NIXL_KVCACHE_BACKEND), the same version of it, and as many network devices (vpc.amazonaws.com/efa: N)',
      why: 'Each side sends a list of its devices, and the other reads as many as its own backend expects. A variable of the engine beside the setting of the connector, pods with other numbers of EFA devices, or two versions make the lists differ.',
      commands: [
        'kubectl exec POD -- sh -c "env | grep -iE \'nixl|fi_\'; ls /sys/class/infiniband | wc -l; pip list | grep -i nixl"    # in a prefill and in a decode pod: what differs',
      ],
    };
  if (/EFA/.test(fault))
    return {
      ...said,
      says: 'Give both pods EFA as its guide has it (resources: vpc.amazonaws.com/efa, a security group that lets all traffic to itself, FI_PROVIDER=efa), with one version of libfabric and the EFA installer on both sides',
      why: 'The device refused the address or the key of the other side, or the peer itself: memory was registered again or freed while it was sent, versions differ, or the security group drops its traffic. The provider ends the process then.',
      commands: [
        'kubectl exec POD -- fi_info -p efa    # lists rdm endpoints',
        'kubectl exec POD -- sh -c "cat /opt/amazon/efa_installed_packages; pip list | grep -i nixl"    # the same in both pods',
      ],
    };
  if (/GID, MTU/.test(fault))
    return {
      ...said,
      says: 'Give both engines ports of one network: devices of the same subnet (the device list of Mooncake, UCX_NET_DEVICES=mlx5_0:1), the GID that it routes (MC_GID_INDEX=3, UCX_IB_GID_INDEX=3 for RoCE v2), and one MTU (MC_MTU=1024)',
      why: 'Both ports live, and a connection between them does not come up: the GID index is that of another protocol or address (show_gids), the ports are in networks that do not reach each other, or their MTU differs. With several cards it is often one pair of them alone.',
      commands: [
        'kubectl exec POD -- sh -c "ibv_devinfo -v | grep -E \'hca_id|state|active_mtu|GID\'"    # in both pods',
        environmentOf(
          'each engine',
          'MC_GID_INDEX=3 UCX_IB_GID_INDEX=3',
          'the index of RoCE v2 with an IPv4 address',
        ),
        'ib_write_bw -d mlx5_0 -x 3 PEER    # the same way without the engine',
      ],
    };
  if (/NPUs/.test(fault))
    return {
      ...said,
      says: 'Check the links of the NPUs on both hosts (hccn_tool -i 0 -link -g, -ping -g address PEER_NPU_IP), and read the first ERROR of HCCL in ~/ascend/log of both engines',
      why: 'HCCL moves the blocks from NPU to NPU over ports of their own, which the pods do not see as network cards. A link that is down, an address that does not answer, or an NPU that hangs ends each transfer; the line of the connector only says that it failed.',
      commands: [
        'for i in 0 1 2 3 4 5 6 7; do hccn_tool -i $i -link -g; hccn_tool -i $i -net_health -g; done    # on each host',
        'grep -rhm3 "ERROR" ~/ascend/log/debug/plog | head    # in each pod: the first one',
      ],
    };
  if (/registered/.test(fault))
    return {
      ...said,
      says: 'Give the pods the right to lock memory (securityContext: capability IPC_LOCK, ulimit -l unlimited), and load nvidia_peermem on each node where GPU memory is registered',
      why: 'A network card reads and writes only memory that is registered with it. That fails at the limit of locked memory, without the module between card and GPU, and with GPU memory that is mapped in pieces (expandable_segments, virtual memory).',
      commands: [
        'kubectl exec POD -- sh -c "ulimit -l"    # unlimited',
        'lsmod | grep nvidia_peermem    # on the node',
        environmentOf('each engine', 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False', 'where it was set'),
      ],
    };
  if (/device/.test(fault))
    return {
      ...said,
      says: 'Give both pods their RDMA device (resources: rdma/ib: 1, or hostNetwork), or let UCX take TCP (UCX_TLS=tcp,cuda_copy,cuda_ipc,self)',
      why: 'The library sees no device that both sides can use: the pod was not given one, its name differs from the one that is configured (UCX_NET_DEVICES, an option for the InfiniBand device), or the port is down, or its GID is none that the network routes (MC_GID_INDEX, UCX_IB_GID_INDEX). TCP works everywhere, many times slower.',
      commands: [
        'kubectl exec POD -- ibv_devinfo    # state: PORT_ACTIVE',
        'kubectl exec POD -- ucx_info -d | grep -E "Transport|Device"    # what UCX sees',
        environmentOf('each engine', 'UCX_TLS=tcp,cuda_copy,cuda_ipc,self', 'without RDMA'),
      ],
    };
  if (/TCP cannot read/.test(fault))
    return {
      ...said,
      says: 'Give both engines a path that takes GPU memory: RDMA (--disaggregation-ib-device mlx5_0), NIXL (--disaggregation-transfer-backend nixl), or a build of Mooncake with CUDA for TCP',
      why: 'The TCP transport of a Mooncake without CUDA hands the address of a GPU to a socket, which the system refuses as a bad address (14).',
      commands: ['kubectl exec POD -- pip list | grep -i mooncake    # the variant that is there'],
    };
  if (/map the memory/.test(fault))
    return {
      ...said,
      says: 'Give the engines of one host a common IPC namespace and sight of both GPUs (hostIPC: true), or switch the direct path off: UCX_TLS=^cuda_ipc (UCX_CUDA_IPC_ENABLE_MNNVL=n across NVLink domains)',
      why: 'cuda_ipc maps the memory of another process on another GPU. That fails between containers that do not see the GPU of each other, with memory of some allocators, and between NVLink domains. Where transfers succeed all the same, UCX took another path, and the lines do no harm.',
      commands: [
        'kubectl exec POD -- nvidia-smi topo -m    # NV between the two GPUs',
        environmentOf('each engine', 'UCX_TLS=^cuda_ipc', 'or UCX_CUDA_IPC_ENABLE_MNNVL=n'),
      ],
    };
  if (/gone|reached/.test(fault))
    return {
      ...said,
      says: 'Compare the age of both pods (kubectl get pods): where the other one lives, open the way between both hosts (a device that reaches it: UCX_NET_DEVICES=mlx5_0:1, NetworkPolicy for TCP)',
      why: 'A restart of the other engine breaks its connections once, and ends by itself. Where both live, packets do not arrive: a wrong network device or GID (UCX_NET_DEVICES, UCX_IB_GID_INDEX, MC_GID_INDEX), links between subnets that are not routed, or a port that is closed.',
      commands: [
        'kubectl get pods -o wide    # restarts, and the nodes of both',
        environmentOf('each engine', 'UCX_NET_DEVICES=mlx5_0:1', 'a device that reaches the other host'),
      ],
    };
  return {
    ...said,
    says: 'Run both engines with UCX_LOG_LEVEL=info UCX_PROTO_INFO=y, and repair what the first error before these lines names, in the log of the prefill engine too',
    why: 'The line says that a transfer failed below the engine, not why. The first error of UCX, Mooncake, libfabric or CUDA before it has the reason: a device, memory that cannot be registered, or the other engine. Versions of the library that differ between both pods do the same.',
    commands: [
      environmentOf('each engine', 'UCX_LOG_LEVEL=info UCX_PROTO_INFO=y'),
      'kubectl exec POD -- pip list | grep -iE "nixl|mooncake|ucx"    # in both pods',
    ],
  };
}
