import type { ProposedFix } from '../diagnosis.js';
import { environmentOf } from './lines.js';

/** Where to look whether KV blocks move again. */
const VERIFY: readonly string[] = [
  'kubectl logs DECODE --since=5m | grep -cE "UCX  ERROR|NIXL_ERR_|rdma_"    # should be 0',
];

/** Repairs what lies below a transfer, by the fault that its library names. */
export function repairPath(fault: string): ProposedFix {
  const said = { disturbs: 'one_worker_at_a_time', files: [], verify: VERIFY } as const;
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
