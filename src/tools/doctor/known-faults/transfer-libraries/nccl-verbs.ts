import type { KnownFault } from '../known-fault.js';

/** NCCL's calls of libibverbs, 2.12 to 2.29: `src/misc/ibvwrap.cc` writes each that fails with the system's reason. */
export const NCCL_VERBS: readonly KnownFault[] = [
  {
    id: 'nccl_locked_memory',
    cause: 'transfer_path_broken',
    needles: ['NCCL WARN Call to ibv_'],
    pattern:
      /Call to (ibv_(?:reg_(?:dmabuf_)?mr\w{0,12}|create_[cq][qp]|alloc_pd)) failed(?: with error)?:? Cannot allocate memory/,
    says: 'NCCL cannot lock memory for RDMA ($1): the limit of locked memory is too low',
    why: 'All memory that a network card reads is locked. Containers and services have a limit of 64 kB to 8 MB by default, whatever the limits of the host say.',
    cure: 'Raise the limit to unlimited: --ulimit memlock=-1 for docker, LimitMEMLOCK=infinity for the container runtime or service, capability IPC_LOCK in securityContext for a pod; then restart the engine',
    commands: ['kubectl exec POD -- sh -c "ulimit -l"    # unlimited'],
  },
  {
    id: 'nccl_gpu_memory_refused',
    cause: 'transfer_path_broken',
    needles: ['NCCL WARN Call to ibv_'],
    pattern:
      /Call to (ibv_reg_(?:dmabuf_)?mr\w{0,12}) failed(?: with error)?:? (Bad address|Operation not supported|Invalid argument)/,
    says: 'NCCL cannot register GPU memory with the network card ($1: $2)',
    why: 'The card reaches GPU memory by nvidia_peermem or dma-buf. The module is not loaded on this node, or was built for another driver.',
    cure: 'Load nvidia_peermem on the node (modprobe nvidia_peermem; GPU Operator: driver.rdma.enabled=true), or install the open kernel modules of the driver for dma-buf; until then set NCCL_NET_GDR_LEVEL=LOC on all engines',
    commands: ['lsmod | grep nvidia_peermem    # on the node'],
  },
  {
    id: 'nccl_queue_pair_refused',
    cause: 'transfer_path_broken',
    needles: ['NCCL WARN Call to ibv_modify_qp'],
    pattern:
      /Call to ibv_modify_qp failed with (?:error |\d{1,4} )?((?:Connection timed out|No route to host|Invalid argument|No such device|Network is unreachable|No data available))/,
    says: 'NCCL cannot connect its network card to that of another rank ($1)',
    why: 'On RoCE the GID index chooses address and version. The one that was chosen has no address here, or one that the other card does not reach; cards of other rails or a bond member that is down look the same.',
    cure: 'Set NCCL_IB_GID_INDEX on all ranks to the index of RoCE v2 with an address of their common network (show_gids; unset on InfiniBand), and NCCL_IB_HCA to cards of that network',
    commands: [
      'kubectl exec POD -- sh -c "show_gids || grep . /sys/class/infiniband/*/ports/1/gids/*"    # in both pods',
    ],
  },
];
