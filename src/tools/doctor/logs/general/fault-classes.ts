import type { Signal } from '../../../../engines/diagnosis/signals.js';

/** What a sentence is a sign of, and which of the faults of its class. */
export interface Fault {
  readonly signal: Signal;
  /** A fault of the class, or the sentence itself, without numbers of one request. */
  readonly value: string;
}

/** A kind of sentence: the first that fits names the fault; without a value the sentence is the value. */
interface FaultClass {
  readonly signal: Signal;
  readonly pattern: RegExp;
  readonly value?: string;
}

/** Longest sentence that is kept. */
const MAX_SENTENCE_CHARS = 180;

/** Libraries that move or keep KV blocks outside of an engine, as they are imported. */
const LIBRARIES =
  'nixl(?:_cu1\\d|_ep)?|lmcache|mooncake|flexkv|kvbm|hf3fs\\w*|memfabric\\w*|mori|ucx\\w*|ucp|ucs|uct|ibverbs|rdmacm|mlx5|UCX|NIXL|Mooncake|LMCache|FlexKV|MoRIIO|HF3FS';

/** An engine has no room for the KV cache that it is asked for. */
const MEMORY: readonly FaultClass[] = [
  {
    signal: 'cache_memory_missing',
    value: 'other processes use the GPU',
    pattern: /Free memory on device .{0,120}less than desired GPU memory utilization/,
  },
  {
    signal: 'cache_memory_missing',
    value: 'the longest sequence needs more than the cache has',
    pattern:
      /(?:larger|greater|bigger|more) than the (?:available KV cache memory|maximum number of tokens that can be stored in (?:the )?KV cache)|Impossible to fit .{0,40}(?:sequence|kvCache)/i,
  },
  {
    signal: 'cache_memory_missing',
    value: 'nothing is left for the cache',
    pattern:
      /No available memory for the cache blocks|leave no (?:GPU )?memory for the KV cache|Not enough memory[.,;] .{0,40}mem-fraction-static|Cannot auto-fit max_model_len|(?:not enough|insufficient|no) (?:GPU |device |free |available )*memory .{0,60}(?:KV|cache)|Not enough space for mamba cache|KV ?cache (?:pool )?size .{0,40}(?:is )?too small/i,
  },
  {
    signal: 'connector_crashed',
    pattern: /(?:pool|cache|allocator)\w* (?:memory )?leak detected/i,
  },
  {
    signal: 'cache_memory_missing',
    value: 'a batch needs more than the cache has',
    pattern:
      /(?:Prefill|Decode) out of memory\. Try to lower|No free blocks? left|No space left for only one request|Can'?t allocate new blocks/i,
  },
];

/** A library is not installed, or its version does not belong to the engine's. */
const LIBRARY: readonly FaultClass[] = [
  {
    signal: 'library_missing',
    pattern: new RegExp(`No module named '(?:\\w+\\.)*(?:${LIBRARIES})(?:\\.[\\w.]+)?'`),
  },
  {
    signal: 'library_missing',
    pattern: new RegExp(`\\b(?:${LIBRARIES})\\b[\\w ]{0,40}(?:is|are) not (?:available|installed)`),
  },
  {
    signal: 'library_missing',
    pattern: new RegExp(`Please install (?:the )?(?:${LIBRARIES})\\b`, 'i'),
  },
  {
    signal: 'library_missing',
    pattern: new RegExp(
      `(?:lib[\\w-]*(?:${LIBRARIES}|etcd|jsoncpp)[\\w.-]*so[\\d.]*: (?:cannot open|undefined symbol)|(?:${LIBRARIES})[\\w./-]*\\.so[\\d.]*: undefined symbol)`,
    ),
  },
  // "UCP API version is incompatible: required >= 1.18, actual 1.16.0 (loaded from /lib/x86_64-linux-gnu/libucp.so.0)".
  {
    signal: 'library_missing',
    pattern:
      /UC[PXST] (?:API |library )?version (?:is |of .{0,20})?(?:incompatible|mismatch|too old)|requires (?:mooncake|nixl|lmcache|ucx|libfabric)[\w-]* ?(?:[<>=!~]=|version)|please upgrade (?:Mooncake|NIXL|LMCache|UCX)\b|\bNIXL is required .{0,120}install|requires the NIXL package/i,
  },
  {
    signal: 'library_missing',
    pattern:
      /NIXL backend '\w{1,30}' not found|UCX wrapper library is not open|Unable to load UCX wrapper|failed to load plugin from|plugin .{0,40}(?:UCX|LIBFABRIC|GDS|Mooncake)\w* (?:is )?not (?:found|loaded)/i,
  },
  {
    signal: 'library_missing',
    pattern: new RegExp(
      `cannot import name '\\w{1,80}' from '(?:dynamo\\.llm|vllm\\.distributed\\.(?:kv|ec)_|vllm\\.v1\\.(?:kv|core)|sglang\\.srt\\.(?:mem_cache|disaggregation)|${LIBRARIES})`,
    ),
  },
  {
    signal: 'library_missing',
    pattern:
      /(?:LMCache|Nixl|nixl_agent|Mooncake|FlexKV|KVConnector|Kvbm|DynamoConnector)\w*'? (?:object |class )?has no attribute|(?:LMCache|Nixl|nixl_agent|Mooncake|FlexKV|KVConnector|Dynamo)\w*(?:\.\w+)?\(\) (?:got an unexpected keyword|missing \d|takes )|Unsupported connector type: |^.{0,40}Connector '?\w+'? is not registered/,
  },
];

/** What is said where a library below a transfer names none of the faults. */
export const PLAIN_PATH_FAULT = 'the backend reports an error';

/** KV blocks cannot be moved: the devices, drivers and paths below NIXL, UCX and Mooncake. */
const PATHS: readonly FaultClass[] = [
  // NIXL: "… VRAM memory is detected as host by UCX", "NVIDIA GPU(s) were detected, but UCX CUDA support was not found!", and in other words since 0.3.
  {
    signal: 'transfer_path_broken',
    value: 'UCX does not know the memory of GPUs',
    pattern:
      /memory is detected as host\b|UCX (?:CUDA|ROCm) support was not found|not configured with (?:CUDA|ROCm)|does not enable (?:CUDA|ROCm) memory support|UCX is configured with (?:CUDA|ROCm) support|transports? [^;]{0,60}'cuda_(?:copy|ipc)'[^;]{0,60} not available|failed to select lane for local device/i,
  },
  // NIXL over libfabric: each side lists its devices ("rails"), and the other reads as many as it has itself.
  {
    signal: 'transfer_path_broken',
    value: 'the two sides have other backends or other numbers of network devices',
    pattern:
      /deserializ\w+ .{0,40}rail endpoints|Deserialization of tag \w{0,40}_ep_\d+ failed|[Kk]ey \w{0,40}_ep_\d+ not found|expected \d+ rails|rails? (?:count|number)s? .{0,30}(?:mismatch|differ)/,
  },
  {
    signal: 'transfer_path_broken',
    value: 'EFA refuses what is sent',
    pattern:
      /EFA (?:provider has encountered an )?internal error|RMA address verification failed|Libfabric error: \(-/,
  },
  // A queue pair that does not come up between two ports that both live: GID, MTU or subnet.
  {
    signal: 'transfer_path_broken',
    value: 'the ports of the two network cards do not fit: GID, MTU or subnet',
    pattern:
      /Failed to modify QP to (?:INIT|RTR|RTS)|ibv_modify_qp|ibv_create_ah\(|check mtu, ?gid|local length error|remote invalid request error|Failed to query GID/i,
  },
  {
    signal: 'transfer_path_broken',
    value: 'the NPUs could not transfer (HCCL)',
    pattern:
      /Hccl(?:Batch(?:Get|Put)|Comm\w*|Mem\w*)\b.{0,200}(?:fail|error|exception)|Failed to invoke Hccl|adxl_\w+\.cc.{0,120}fail/i,
  },
  {
    signal: 'transfer_path_broken',
    value: 'memory cannot be registered',
    pattern:
      /ibv_reg_(?:dmabuf_)?mr|max locked memory|Failed to register (?:local |chunk )?(?:memory|buffer|MR)|register_?(?:buffer|memory|Mem\w*) .{0,40}fail|memory registration failed|fi_mr_reg\w* failed|registerMem|nvidia_?peermem|not registered by any|AddressNotRegistered|overlapped memory region|local protection error|Cannot allocate memory.{0,40}ulimit/i,
  },
  {
    signal: 'transfer_path_broken',
    value: 'no network device that it can use',
    pattern:
      /No (?:matched |available )?(?:RDMA |IB )?(?:device|RNIC|HCA)s? (?:found|available)|No suitable GID|No matched device found|ibv_(?:open_device|get_device_list|create_qp|create_cq|alloc_pd)\b.{0,80}(?:fail|error)|Failed to (?:open|find|create) .{0,40}(?:RDMA|mlx5|infiniband|rdma device|verbs)|no active messages transport|no (?:remote|auxiliary|usable) \S{0,20} ?transports?|network device .{0,60}(?:is )?not available|fi_getinfo failed|No usable (?:EFA|libfabric)|Failed to create rails/i,
  },
  {
    signal: 'transfer_path_broken',
    value: 'GPUs cannot map the memory of each other',
    pattern:
      /cu(?:da)?(?:IpcOpenMemHandle|MemImportFromShareableHandle|MemMap|DeviceEnablePeerAccess)|cuda_ipc.{0,80}fail|failed to enable p2p access|invalid (?:resource|device) (?:handle|context)/i,
  },
  {
    signal: 'transfer_path_broken',
    value: 'TCP cannot read the memory of a GPU',
    pattern: /(?:read|write)Body failed.{0,40}Bad address/,
  },
  {
    signal: 'transfer_path_broken',
    value: 'the other engine is gone or is not reached',
    pattern:
      /NIXL_ERR_REMOTE_DISCONNECT|nixlRemoteDisconnect|Endpoint timeout|Unexpected UCX error: (?:Request canceled|Endpoint is not connected|Operation timed out|Input\/output error|Connection)|\bconnect\(fd=.{0,120}failed|ASIO exception: connect|Active handshake RPC failed|RDMA ready ACK|retry (?:count )?exceeded|Connection reset by (?:peer|remote)|Destination is unreachable|(?:tcp_ep|sockcm).{0,120}(?:Input\/output error|Connection timed out|refused)|No route to host|Connect timeout to|Failed to connect to (?:target|segment)|Failed to (?:complete transfers after|get (?:segment )?desc)|mark(?:ing|ed)? .{0,60}(?:inactive|connection dead)|received packet mismatch|Cannot (?:get|find) (?:target )?segment desc|Failed to retrieve segment desc|metadata not found|handshake (?:timed out|with \S+ failed|request by peer)|transport retry|SocketHandShakePlugin: (?:connect|failed)/i,
  },
  {
    signal: 'transfer_path_broken',
    value: PLAIN_PATH_FAULT,
    pattern: /NIXL_ERR_\w+|nixl\w*Error\b|UCX {1,2}ERROR|Worker: Process failed for slice/,
  },
];

/** The fault that a sentence of an error names; undefined where it names none of the classes. */
export function faultOf(sentence: string): Fault | undefined {
  for (const { signal, pattern, value } of [...MEMORY, ...LIBRARY, ...PATHS]) {
    if (pattern.test(sentence)) return { signal, value: value ?? plain(sentence) };
  }
  return undefined;
}

/** The fault of a path alone, for lines that only say so much. */
export function pathFaultOf(sentence: string): Fault {
  const found = PATHS.find(({ pattern }) => pattern.test(sentence));
  return { signal: 'transfer_path_broken', value: found?.value ?? PLAIN_PATH_FAULT };
}

/** A sentence in one line, cut where it is long. */
export function plain(sentence: string): string {
  return sentence.replace(/\s+/g, ' ').trim().slice(0, MAX_SENTENCE_CHARS);
}
