import type { KnownFault } from '../known-fault.js';

const PREVIOUS = 'kubectl logs POD --previous | tail -n 40    # of the client or master that has ended';

/** Processes of Mooncake that end themselves at an assertion: what others say of them (RPC_FAIL, connections that are reset) follows from it. */
export const MOONCAKE_ENDS: readonly KnownFault[] = [
  {
    id: 'mooncake_object_above_slice',
    cause: 'offload_failed',
    needles: ["<= kMaxSliceSize' failed"],
    pattern: /(?:^|[\s\]|])([\w.-]{1,40}): \S{1,300}?([\w-]{1,60}\.(?:cpp|h)):\d{1,6}: .{0,400}: Assertion `/,
    says: 'a process of Mooncake ($1) has ended at an assertion of $2: an object is larger than a slice, and reads of blocks from it fail',
    why: 'Blocks that come back from the SSD are read into buffers of one slice (kMaxSliceSize, 16 MB), which releases of spring 2026 assert. Large pages, many layers in one object and wide models exceed it, and with the process all that it held is gone.',
    cure: 'Run a later Mooncake (pip install -U mooncake-transfer-engine) on master, clients and engines; until then give the engines smaller pages or a layout with an object for each layer, or turn its SSD tier off (--enable_offload=false); and restart $1',
    commands: [PREVIOUS, 'kubectl exec POD -- pip list | grep -i mooncake    # in all pods'],
  },
  {
    id: 'mooncake_assertion',
    cause: 'offload_failed',
    needles: [': Assertion `'],
    pattern:
      /(?:^|[\s\]|])([\w.-]{1,40}): \S{0,300}?(?:mooncake-[\w-]{2,30}|Mooncake)\/\S{0,200}?([\w-]{1,60}\.(?:cpp|h)):\d{1,6}: .{0,600}: Assertion `(.{1,60}?)' failed/,
    follows: ['mooncake_object_above_slice'],
    says: 'a process with a client or master of Mooncake ($1) has ended at an assertion of $2: $3',
    why: 'The process takes a state of its own for impossible and aborts. Its blocks are gone, and others that ask it for some get RPC_FAIL, a connection that is reset, or no answer.',
    cure: 'Run a later Mooncake (pip install -U mooncake-transfer-engine), of one release on master, clients and engines, and restart $1; until it runs through, turn the part off that $2 names (file_storage and storage_backend are its SSD tier: --enable_offload=false)',
    commands: [PREVIOUS, 'kubectl exec POD -- pip list | grep -i mooncake    # in all pods'],
  },
  {
    id: 'mooncake_check_failed',
    cause: 'offload_failed',
    needles: ['] Check failed: '],
    pattern:
      /(?:^|[\s\]|])F\d{4} [\d:.]{8,15}\s{1,8}\d{1,9} ((?:master|real_client|client|dummy|file_storage|storage_backend|bucket|distributed_storage|etcd_helper|k8s_lease|oplog|tenant_quota|offset_allocator|transfer_|multi_transport|rdma_|tcp_transport|ub_|ubshmem|nvlink|intranode_nvlink|cxi_|efa_|barex_|nvmeof_|maca_|hip_|hccl_|cxl_|ascend_direct|worker_pool|p2p_device)\w{0,40}\.(?:cpp|h)):\d{1,6}\] Check failed: (.{1,60})/,
    follows: ['mooncake_master_check_failed'],
    says: 'a process of Mooncake has ended at a check of its own ($1: $2)',
    why: 'The line is of level F: the process aborts with it. Its blocks are gone, and others that ask it for some get RPC_FAIL, a connection that is reset, or no answer.',
    cure: 'Run a later Mooncake (pip install -U mooncake-transfer-engine), of one release on master, clients and engines, and restart the process whose line it is',
    commands: [PREVIOUS, 'kubectl exec POD -- pip list | grep -i mooncake    # in all pods'],
  },
  {
    id: 'mooncake_name_unresolved',
    cause: 'offload_failed',
    needles: ['async_resolve failed'],
    says: "the name of Mooncake's master or of a client does not resolve",
    why: 'Each client looks up the host in its configuration as it connects. A short name of Kubernetes resolves within its own namespace alone.',
    cure: 'Write an address that DNS knows into MOONCAKE_MASTER (master_server_address): SERVICE.NAMESPACE.svc.cluster.local:50051, or the IP; for clients MOONCAKE_LOCAL_HOSTNAME: the IP of the pod, and start clients after the master has its Service',
    commands: ['kubectl exec POD -- sh -c "getent hosts NAME"    # the host of MOONCAKE_MASTER'],
  },
];
