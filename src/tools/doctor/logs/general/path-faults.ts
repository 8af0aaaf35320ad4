/** What fails below a transfer of KV blocks. */
export type PathFaultId =
  | 'gpu_memory_unknown'
  | 'backends_differ'
  | 'no_common_backend'
  | 'efa_refuses'
  | 'fabric_handles'
  | 'npu_connection'
  | 'npu_transfer'
  | 'memory_limit'
  | 'memory_of_gpu'
  | 'memory_atomics'
  | 'memory_size'
  | 'memory'
  | 'gid'
  | 'device_files'
  | 'no_device'
  | 'ports_unfit'
  | 'gpu_queues'
  | 'queues'
  | 'port_down'
  | 'gpu_export'
  | 'gpu_mapping'
  | 'tcp_gpu_memory'
  | 'tcp_closed'
  | 'agent_refused'
  | 'context_stuck'
  | 'name_unresolved'
  | 'send_queue'
  | 'too_slow'
  | 'poisoned'
  | 'peer_gone'
  | 'prefill_silent'
  | 'backend_unready'
  | 'backend_error';

interface PathFault {
  readonly id: PathFaultId;
  readonly says: string;
  /** Undefined for what only rules of their own name. */
  readonly pattern?: RegExp;
  /** True where other programs say the same of other things: it counts in lines of these libraries alone. */
  readonly isCommon?: boolean;
}

/** By the sentences of libraries; the first that fits counts. */
const PATH_FAULTS: readonly PathFault[] = [
  // NIXL: "… VRAM memory is detected as host by UCX", "NVIDIA GPU(s) were detected, but UCX CUDA support was not found!", and in other words since 0.3.
  {
    id: 'gpu_memory_unknown',
    says: 'UCX does not know the memory of GPUs',
    pattern:
      /memory is detected as host\b|UCX (?:CUDA|ROCm) support was not found|not configured with (?:CUDA|ROCm)|does not enable (?:CUDA|ROCm) memory support|UCX is configured with (?:CUDA|ROCm) support|transports? [^;]{0,60}'cuda_(?:copy|ipc)'[^;]{0,60} not available|failed to select lane for local device/i,
  },
  // NIXL over libfabric: each side lists its devices ("rails"), and the other reads as many as it has itself.
  {
    id: 'backends_differ',
    says: 'the two sides have other backends or other numbers of network devices',
    pattern:
      /deserializ\w+ .{0,40}rail endpoints|Deserialization of tag \w{0,40}_ep_\d+ failed|[Kk]ey \w{0,40}_ep_\d+ not found|expected \d+ rails|rails? (?:count|number)s? .{0,30}(?:mismatch|differ)/i,
  },
  // nixl_agent.cpp: "loadRemoteMD: no common backend found", "createXferReq: no specified or potential backend had the required registrations …".
  {
    id: 'no_common_backend',
    says: 'the two sides have no backend of NIXL in common for this memory, or other versions of it',
    pattern:
      /(?:no|not find a) common backend|no (?:specified or )?potential backend|no backends? (?:are )?found (?:in metadata|for local or remote)|failed to deserialize remote metadata|error (?:in deserializing remote agent|loading connection info for backend)|Handshake from peer .{0,80}(?:version|mismatch)/i,
  },
  {
    id: 'efa_refuses',
    says: 'EFA refuses what is sent',
    pattern:
      /EFA (?:provider has encountered an )?internal error|RMA address verification failed|Libfabric error: \(-/,
  },
  // CUDA's memory for GPUs of other hosts: "CUDA_ERROR_NOT_PERMITTED" without a channel of IMEX, "NOT_SUPPORTED" without a fabric.
  {
    id: 'fabric_handles',
    isCommon: true,
    says: 'fabric handles of CUDA are refused: IMEX does not serve the pods, or their GPUs are in no common NVLink domain',
    pattern:
      /\bIMEX\b.{0,120}(?:fail|error|not |unavailable)|nvidia-caps-imex|does not support FABRIC mode|fabric (?:memory )?handles? .{0,60}(?:fail|not (?:supported|permitted))|cu(?:Mem(?:Create|Pool)\w*|MemExportToShareableHandle|MemImportFromShareableHandle)\b.{0,120}(?:not[_ ]permitted|not[_ ]supported)|cuMemCreate\(FABRIC\) failed|NvlinkTransport: cuMem(?:Create|ExportToShareableHandle|RetainAllocationHandle|GetAllocationGranularity|AddressReserve|SetAccess) failed: (?!2\b)/i,
  },
  // Ascend, before the first block: "Call …HcclCommPrepare(…) fail, ret: 0x13", "Failed to initialize AdxlEngine, status: …".
  {
    id: 'npu_connection',
    says: 'the NPUs of the two sides do not connect (HCCL)',
    pattern:
      /HcclComm(?:Prepare|Init|Bind)\w*.{0,200}(?:fail|error)|Failed to init channel|Failed to check peer process ret status|Failed to initialize AdxlEngine|Adxl engine is not available|Failed to connect to (?:target|segment).{0,80}E[1Z]9999|EI0006|hccl_socket .{0,40}(?:timeout|failed)|Hccl(?:One)?SidedService\w*.{0,80}fail/i,
  },
  {
    id: 'npu_transfer',
    says: 'the NPUs could not transfer (HCCL)',
    pattern:
      /Hccl(?:Batch(?:Get|Put)|Comm\w*|Mem(?!Reg)\w*)\b.{0,200}(?:fail|error|exception)|Failed to invoke Hccl|adxl_\w+\.cc.{0,120}fail|Transfer slice failed with status: [15]039\d\d|Hccl transport failed/i,
  },
  // Before what only says that registration failed: the same sentences with the system's reason.
  {
    id: 'memory_limit',
    says: 'memory cannot be registered: the limit of locked memory is too low',
    pattern:
      /max locked memory|Cannot allocate memory.{0,40}ulimit|RLIMIT_MEMLOCK|egister memory 0x[0-9a-f]{1,16}: Cannot allocate memory \[12\]/i,
  },
  // Mooncake: "Failed to register memory 0x7fa3ce000000: Input/output error [5]".
  {
    id: 'memory_size',
    says: 'memory cannot be registered: the network card does not take a region of this size or kind',
    pattern: /egister memory 0x[0-9a-f]{1,16}: (?:Input\/output error \[5\]|Invalid argument \[22\])/,
  },
  {
    id: 'memory_atomics',
    says: 'memory cannot be registered: the network card has no atomics, which MoRI asks for',
    pattern:
      /RegisterRdmaMemoryRegion\w{0,40} failed.{0,160}accessFlag:(?:[89]|1[0-5])\b.{0,40}(?:errno:22|Invalid argument)/i,
  },
  {
    id: 'memory_of_gpu',
    says: 'memory cannot be registered: the network card does not reach GPU memory',
    pattern:
      /(?:ibv_(?:exp_)?reg_\w*mr|[Rr]egister(?:ing)? (?:memory|buffer|MR))\b.{0,200}(?:Bad address|\[14\]|errno[:= ]+14\b|EFAULT)|ibv_reg_dmabuf_mr\b.{0,200}(?:Unknown error 524|not supported)|nvidia_?peermem|dma_?-?buf\b.{0,80}(?:fail|error|not supported)|Failed to retrieve dmabuf|Couldn't enable GPUDirect RDMA/i,
  },
  {
    id: 'memory',
    says: 'memory cannot be registered',
    pattern:
      /ibv_(?:exp_)?reg_(?:dmabuf_)?mr|(?:Failed|Unable) to register (?:local |chunk )?(?:memory|buffer|MR)|register_local_memory_failed|register_?(?:buffer|memory|Mem\w*) .{0,40}fail|memory registration failed|fi_mr_reg\w* failed|registerMem|RegisterRdmaMemoryRegion\w{0,40} failed|HcclMemReg failed|Register mem ret: |failed to ucp_mem_map|not registered by any|AddressNotRegistered|[rl]key not found for|No rkey for MR access|overlapped memory region|local protection error/i,
  },
  // "No suitable GID found on mlx5_bond_1/", and what follows: "Failed to open device mlx5_bond_1 on port  with GID -1".
  {
    id: 'gid',
    says: 'no network device that it can use: the GID index fits no address of its port',
    pattern:
      /No suitable GID|Failed to open device \S{0,60} on port .{0,12}with GID -1\b|Failed to query GID|GID string (?:is empty|has trailing data)|Invalid GID format|Failed to (?:auto-detect a valid|query user-specified) gid\b|Failed to find GID index|GID is (?:NULL|all zero)/i,
  },
  {
    id: 'device_files',
    says: 'no network device that it can use: its device files are not in the pod',
  },
  // Mooncake, before the first connection: protection domain, completion queues and queue pairs of a card.
  {
    id: 'queues',
    says: 'the network card refuses to create queues',
    pattern:
      /Failed to create (?:QP\b|completion (?:queue|channel))|Failed to allocate new protection domain|exposes no completion vectors|Failed to register completion channel/,
  },
  {
    id: 'no_device',
    says: 'no network device that it can use',
    pattern:
      /No (?:matched |matching |available |active )?(?:RDMA |IB )?(?:device|RNIC|HCA|NIC)s? (?:found|available)|No available RNIC|No active RDMA device|No matched device found|ibv_(?:open_device|get_device_list|create_qp|create_cq|alloc_pd)\b.{0,80}(?:fail|error)|Failed to (?:open|find|create) .{0,40}(?:RDMA|mlx5|infiniband|rdma device|verbs)|Failed to open device \S{0,60} on port|no active messages transport|no (?:remote|auxiliary|usable) \S{0,20} ?transports?|network device .{0,60}(?:is )?not available|fi_getinfo failed|No usable (?:EFA|libfabric)|Failed to create rails|No network devices? (?:found|discovered)|no suitable network providers/i,
  },
  // UCX's transport that GPUs start by themselves: "gdaki.c:397  UCX  ERROR   gdaki channel chunk init: create_cq/qp failed (ch=2 ep=4)".
  {
    id: 'gpu_queues',
    says: 'UCX cannot create the queues of a network card that GPUs write to by themselves (gdaki)',
    pattern: /\bgdaki\b.{0,160}(?:fail|error)|(?:fail|error).{0,160}\bgdaki/i,
  },
  // DevX: "mlx5dv_devx_obj_create(CQ) failed on mlx5_1, syndrome 0x2aac7c: Remote I/O error".
  {
    id: 'queues',
    says: 'the network card refuses to create queues',
    pattern: /\bmlx5dv_(?:devx_\w+|create_\w+)\(.{0,80}\bfailed|create_(?:cq|qp|cq\/qp) failed/,
  },
  {
    id: 'port_down',
    says: 'the port of a network card is or goes down',
    // Mooncake gives a card up whose port has reported an error: "Context is not active: mlx5_3".
    pattern: /Context is not active: \w/,
  },
  // A queue pair that does not come up between two ports that both live: GID, MTU or subnet.
  {
    id: 'ports_unfit',
    says: 'the ports of the two network cards do not fit: GID, MTU or subnet',
    pattern:
      /Failed to modify QP(?:\[| )|Failed to modify \w{2,12} QP to|error modifying (?:QP|DCT) to|ibv_modify_qp|ibv_create_ah\(|check mtu, ?gid|local length error|remote invalid request error|Failed to set path MTU/i,
  },
  // The owner's side, before any other process maps it: "cuda_ipc_md.c:219  UCX  ERROR cuIpcGetMemHandle(legacy_handle, …) failed: invalid argument".
  {
    id: 'gpu_export',
    isCommon: true,
    says: 'the memory of a GPU has no handle by which another process could map it',
    pattern: /(?:cu(?:da)?|hip)IpcGetMemHandle/,
  },
  {
    id: 'gpu_mapping',
    says: 'GPUs cannot map the memory of each other',
    pattern:
      /cu(?:da)?(?:IpcOpenMemHandle|MemImportFromShareableHandle|MemMap|DeviceEnablePeerAccess)|hip(?:IpcOpenMemHandle|MemImportFromShareableHandle)|failed to open (?:cross_v2 )?IPC handle|failed to open ipc mem handle|cuda_ipc.{0,80}fail|failed to enable p2p access|cannot p2p access device|invalid (?:resource|device) (?:handle|context)/i,
  },
  {
    id: 'tcp_gpu_memory',
    says: 'TCP cannot read the memory of a GPU',
    pattern: /(?:read|write)Body failed.{0,200}Bad address/,
  },
  // Mooncake over TCP, as the other side closes a connection before it has sent what was asked of it.
  {
    id: 'tcp_closed',
    says: 'the other side closes its TCP connection before the blocks have passed',
    pattern:
      /Session::(?:read|write)(?:Body|Header) failed.{0,240}(?:End of file|Connection reset|Broken pipe)/,
  },
  {
    id: 'agent_refused',
    says: 'NIXL does not take in the agent of the other engine',
  },
  {
    id: 'context_stuck',
    says: 'prompts that a prefill engine has computed are not fetched, and hold its cache (TensorRT-LLM)',
  },
  {
    id: 'name_unresolved',
    says: 'the name of the other engine does not resolve',
    isCommon: true,
    pattern:
      /getaddrinfo|Name or service not known|Temporary failure in name resolution|Failed to resolve|Host not found|Unable to resolve/i,
  },
  // MoRI: "SQ full (batch): ep=0 depth=4351 requested=1 max=4351"; other programs have queues of this name too, without its numbers.
  {
    id: 'send_queue',
    says: 'the send queue of the network card is full',
    pattern: /\bSQ (?:full|request exceeds capacity)\b.{0,60}\b(?:ep=\d|depth=\d).{0,60}\bmax=\d/,
  },
  {
    id: 'too_slow',
    says: 'a transfer does not end within its time limit',
    pattern:
      /Transfer timeout(?: to: |, you can)|timed out waiting for CQ|SQ full timeout|CQ (?:completion timeout diagnostic|stuck transfer group)/i,
  },
  {
    id: 'peer_gone',
    says: 'the other engine is gone or is not reached',
    pattern:
      /NIXL_ERR_REMOTE_DISCONNECT|nixlRemoteDisconnect|Work Request Flushed|metadata for remote agent .{0,120}not found|remote agent .{0,120}(?:was|been) (?:invalidated|disconnected)|Endpoint timeout|Unexpected UCX error: (?:Request canceled|Endpoint is not connected|Operation timed out|Input\/output error|Connection)|\bconnect\(fd=.{0,120}failed|ASIO exception: connect|Active handshake RPC failed|RDMA ready ACK|retry (?:count )?exceeded|cqe with error (?:5|12|13)\b|Connection reset by (?:peer|remote)|Destination is unreachable|(?:tcp_ep|sockcm).{0,120}(?:Input\/output error|Connection timed out|refused)|No route to host|(?<!TCP )Connect timeout to|Failed to connect to (?:target|segment)|Failed to (?:complete transfers after|get (?:segment )?desc)|mark(?:ing|ed)? .{0,60}(?:inactive|connection dead)|received packet mismatch|Cannot (?:get|find) (?:target )?segment desc|Failed to retrieve segment desc|metadata not found|(?<!TLS |status )handshake (?:timed out(?! \(alloc)|with \S+ failed|request by peer)|transport retry|SocketHandShakePlugin: (?:connect|failed)/i,
  },
  {
    id: 'peer_gone',
    says: 'the other engine is gone or is not reached',
    isCommon: true,
    pattern:
      /Failed to connect to (?:peer|remote)|Failed to establish (?:peer endpoints|connection with)|TCP lane connection to|Failed to start TCP lane session|ClientSession::(?:read|write)(?:Header|Body) failed\. |failed to read (?:READ status|WRITE ack) frame|Cannot redispatch slice|getConnection failed to create connection to|startTransfer failed to get connection to|(?:Unable to connect|Cannot make connection for) endpoint|Can't connect to server|Cannot reload target segment|failed to connect to (?:peer|next rank)/,
  },
  // TensorRT-LLM, for every request after a transfer that broke off.
  {
    id: 'poisoned',
    says: 'the transfer buffer of this worker is of no more use after a transfer that broke off',
    pattern: /left the buffer pool poisoned/,
  },
  { id: 'prefill_silent', says: 'the prefill engine could not send' },
  // nixl_agent.cpp: the plugin is there, and does not work on this machine. What it logs before has the reason.
  {
    id: 'backend_unready',
    says: 'a backend of NIXL is installed and does not start on this machine',
    pattern:
      /backend creation failed for '|backend initialization error for '|failed to get connection info for '|encountered error during intra-agent/,
  },
  { id: 'backend_error', says: 'the backend reports an error' },
];

const SAYS = new Map(PATH_FAULTS.map(({ id, says }) => [id, says]));

/** The longest first: some begin as others do. */
const BY_LENGTH = [...PATH_FAULTS].sort((a, b) => b.says.length - a.says.length);

/** How a fault is said. */
export function pathFaultSays(id: PathFaultId): string {
  return SAYS.get(id) ?? '';
}

/** The fault that a text begins to say. */
export function pathFaultSaid(text: string): PathFaultId {
  return BY_LENGTH.find(({ says }) => text.startsWith(says))?.id ?? 'backend_error';
}

/** The fault that a line of a library below transfers names; undefined where it only says that something failed. */
export function namedPathFault(line: string): PathFaultId | undefined {
  return PATH_FAULTS.find(({ pattern }) => pattern?.test(line) === true)?.id;
}

/** Errors that name nothing, of libraries that only move KV blocks. */
const UNNAMED = /NIXL_ERR_\w+|nixl\w*Error\b|UCX {1,2}ERROR|Worker: Process failed for slice/i;

/** The fault that the error of any program names, and `backend_error` for one of these libraries that names none. */
export function pathFaultIn(sentence: string): PathFaultId | undefined {
  const found = PATH_FAULTS.find(({ pattern, isCommon }) => isCommon !== true && pattern?.test(sentence));
  return found?.id ?? (UNNAMED.test(sentence) ? 'backend_error' : undefined);
}
