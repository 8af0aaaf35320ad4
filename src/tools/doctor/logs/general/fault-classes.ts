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
    value: 'a leak of the cache pool',
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
  {
    signal: 'transfer_path_broken',
    value: 'memory cannot be registered',
    pattern:
      /ibv_reg_(?:dmabuf_)?mr|max locked memory|Failed to register memory|register_?(?:buffer|memory|Mem\w*) .{0,40}fail|memory registration failed|fi_mr_reg\w* failed|registerMem|nvidia_?peermem|not registered by any|AddressNotRegistered|overlapped memory region|local protection error|Cannot allocate memory.{0,40}ulimit/i,
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
      /NIXL_ERR_REMOTE_DISCONNECT|nixlRemoteDisconnect|Endpoint timeout|retry (?:count )?exceeded|Connection reset by (?:peer|remote)|Destination is unreachable|(?:tcp_ep|sockcm).{0,120}(?:Input\/output error|Connection timed out|refused)|No route to host|Connect timeout to|Failed to connect to (?:target|segment)|Failed to (?:complete transfers after|modify QP|get (?:segment )?desc)|mark(?:ing|ed)? .{0,60}(?:inactive|connection dead)|received packet mismatch|Cannot (?:get|find) (?:target )?segment desc|Failed to retrieve segment desc|metadata not found|handshake (?:timed out|with \S+ failed|request by peer)|transport retry|SocketHandShakePlugin: (?:connect|failed)/i,
  },
  {
    signal: 'transfer_path_broken',
    value: PLAIN_PATH_FAULT,
    pattern: /NIXL_ERR_\w+|nixl\w*Error\b|UCX {1,2}ERROR|Worker: Process failed for slice/,
  },
];

const SUBJECT =
  /\b(?:block[_ -]?size|page[_ -]?size|kv[_ -]?cache|prefix[_ -]?cach\w*|hi-?cache|hierarchical[_ -]cache|radix|kv[_ -]?connector|KVConnector|\w*Connector(?:V1)?|kv[_-]transfer\w*|kv[_-]events?\w*|kv_role|kv[_-]router\w*|router[_-]mode|disaggregat\w*|PD|hybrid|tokens_per_block|block reuse|enable_block_reuse|chunk_size|cpu_bytes_to_use|cache_transceiver\w*|cacheTransceiver\w*|transceiver|mamba[_ ]cache\w*|max_num_batched_tokens|max_num_tokens)\b/i;
const DEMAND =
  /\b(?:must|failed to (?:convert|promote|unify)|not (?:yet )?support(?:ed|s)?|(?:does|do|is|are)(?: not|n'?t) (?:currently )?(?:support\w*|compatible|allowed|enabled|valid)|only (?:support\w*|works?|valid)|requires?|required|incompatible|invalid|divisible|multiple of|cannot be|can'?t be|unsupported|should be|need(?:s)? to be|unknown|unrecognized|please (?:set|use|pass|check|add|remove|enable|disable)|conflicts?|mutually exclusive)\b/i;
/** What one request has wrong, what two engines differ in (read by rules of its own), and what is no word of a program. */
const NOT_SETTINGS =
  /\b(?:bootstrap_room|room|req(?:uest)?_?id|request|prompt|messages?|remote|peer|prefill server|compatibility hash|sampling|tool|json_schema|grammar|http)\b/i;

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

/** Settings that a program refuses, by what it demands of them. */
export function refusalOf(sentence: string): Fault | undefined {
  if (!SUBJECT.test(sentence) || !DEMAND.test(sentence) || NOT_SETTINGS.test(sentence)) return undefined;
  return { signal: 'settings_refused', value: plain(sentence) };
}

/** A sentence in one line, cut behind its first full stops where it is long. */
function plain(sentence: string): string {
  return sentence.replace(/\s+/g, ' ').trim().slice(0, MAX_SENTENCE_CHARS);
}
