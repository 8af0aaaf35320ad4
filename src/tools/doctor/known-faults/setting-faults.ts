import type { KnownFault } from './known-fault.js';

/** A fault of settings that a text quotes, which no line has by itself: one of them does nothing without another, which is not there. */
export interface SettingFault {
  /** What a report says of it; its sentences are those of no line. */
  readonly fault: KnownFault;
  /** The setting as it is given, within the whole text, comments left out. Its groups are `$1`, `$2` … of the texts. */
  readonly given: RegExp;
  /** What shows that all of the program's own settings are there: its command, its arguments, its part of a file. */
  readonly beside: readonly RegExp[];
  /** What it needs, in any of the forms in which it can be given, and whatever else gives it another meaning. */
  readonly unless: RegExp;
}

/** How vLLM and SGLang are started, and what they say of their arguments. */
const VLLM =
  /\bvllm serve\b|\bvllm\.entrypoints\b|\bvllm-openai\b|\bdynamo\.vllm\b|\bvLLM API server version\b|\bnon-default args: \{/;
/** Arguments of a program: where a text has none of them, they may stand elsewhere. */
const ARGUMENTS = /(?:^|[\s"'])--[a-z]|\bnon-default args: \{/m;
const SGLANG = /\bsglang(?:\.launch_server| serve)\b|\bdynamo\.sglang\b/;
/** What stands behind the name of a variable, as a shell, a list of a pod, compose or an image has it. */
const IS_SET = `["']?(?:\\s{0,4}[=:]|\\s{0,4}$)`;

/** Settings of parts that nothing switches on. Read in the sources of vLLM 0.33, SGLang 0.5.23, LMCache 0.3 to 0.5 and Dynamo 0.1 to 1.6. */
export const SETTING_FAULTS: readonly SettingFault[] = [
  {
    fault: {
      id: 'lmcache_without_connector',
      cause: 'offload_failed',
      needles: [],
      isSign: true,
      says: 'LMCache has settings ($1), and the engine has no connector: LMCache is not used at all',
      why: 'vLLM reads no variable of LMCache. It loads LMCache for a KV connector alone, and without one starts and serves as if there were none.',
      cure: `Give vLLM --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}' (LMCacheMPConnector for an lmcache server of its own; SGLang takes --enable-lmcache); its log has lines of LMCache then as it starts`,
      commands: ['kubectl logs ENGINE | grep -m3 LMCache    # none: it is not loaded'],
    },
    given: new RegExp(
      `(?:^|[\\s"'])(LMCACHE_(?:CHUNK_SIZE|LOCAL_CPU|LOCAL_DISK|MAX_LOCAL_CPU_SIZE|MAX_LOCAL_DISK_SIZE|REMOTE_URL|CONFIG_FILE))${IS_SET}`,
      'm',
    ),
    beside: [VLLM, ARGUMENTS],
    unless:
      /kv[-_]?transfer[-_]?config(?!(?:=|'?: ?)None)|kv[-_]?connector|LMCache(?:Connector|MP)|kv[-_]offloading|enable[-_]lmcache|--connector\b|lmcache[ _.-](?:server|v1|integration|vllm)|lmcacheConfig|\bLMCache (?:INFO|DEBUG|WARNING|ERROR)|sglang/i,
  },
  {
    fault: {
      id: 'kvbm_without_connector',
      cause: 'offload_failed',
      needles: [],
      isSign: true,
      says: 'KVBM has settings ($1), and the engine has no connector of it: KVBM is not used at all',
      why: 'The variables size the tiers of KVBM. The engine loads KVBM for its connector alone.',
      cure: `Give the engine KVBM as its connector: --kv-transfer-config '{"kv_connector":"DynamoConnector","kv_connector_module_path":"kvbm.vllm_integration.connector","kv_role":"kv_both"}' of vLLM, kv_connector_config in the engine file of TensorRT-LLM`,
    },
    given: new RegExp(`(?:^|[\\s"'])(DYN_KVBM_(?:CPU|DISK)_CACHE_(?:GB|OVERRIDE_NUM_BLOCKS))${IS_SET}`, 'm'),
    beside: [/\bdynamo\.(?:vllm|trtllm)\b|\bvllm serve\b|\btrtllm-serve\b/],
    unless: /--connector\b|kv[-_]?connector|kv[-_]?transfer[-_]?config|(?:Dynamo|Pd|Kvbm)Connector|kvbm\./i,
  },
  {
    fault: {
      id: 'hicache_not_switched_on',
      cause: 'offload_failed',
      needles: [],
      isSign: true,
      says: "SGLang has settings of its hierarchical cache ($1), and not the flag that switches it on: nothing leaves its GPU's memory",
      why: 'Ratio, size, policies and the storage backend are read where --enable-hierarchical-cache is given. Without it SGLang has its radix cache alone, and says nothing.',
      cure: 'Add --enable-hierarchical-cache to the arguments of SGLang beside $1',
      commands: ['curl -s http://ENGINE:PORT/get_server_info | tr , "\\n" | grep -E "hierarchical|hicache"'],
    },
    given: /(?:^|[\s"'])(--hicache-(?:ratio|size|storage-backend|write-policy|io-backend|mem-layout))\b/m,
    beside: [SGLANG],
    unless: /hierarchical[-_]cache|offload[-_]kvcache|enable[-_]lmcache/i,
  },
  {
    fault: {
      id: 'kv_offloading_without_size',
      cause: 'offload_failed',
      needles: [],
      isSign: true,
      says: 'vLLM has a backend for offloading ($1) and no size: it offloads nothing',
      why: '--kv-offloading-backend says by what, and --kv-offloading-size alone switches it on.',
      cure: 'Add --kv-offloading-size 32 (GiB of the host, over all ranks) to the arguments of vLLM',
    },
    given: /--kv[-_]offloading[-_]backend[= ]["']?(\w{1,40})/,
    beside: [VLLM],
    unless: /kv[-_]offloading[-_]size/,
  },
  {
    fault: {
      id: 'kv_events_not_enabled',
      cause: 'events_off',
      needles: [],
      isSign: true,
      says: 'vLLM knows where to publish KV events, and publishes none: enable_kv_cache_events is missing',
      why: 'It is false by default, whatever publisher and endpoint say. Routers, pickers and indexes get no event of this engine.',
      cure: `Write "enable_kv_cache_events": true into --kv-events-config, beside "publisher": "zmq" and the endpoint`,
    },
    given: /--kv[-_]events[-_]config[= ]\s{0,4}\\?["']?\{[^}]{0,800}publisher/,
    beside: [VLLM],
    unless: /enable_kv_cache_events|sglang/i,
  },
  {
    fault: {
      id: 'lmcache_disk_without_size',
      cause: 'offload_failed',
      needles: [],
      says: 'LMCache has a folder on a disk ($1) and no size for it: it stores nothing there',
      why: 'max_local_disk_size is 0 by default, and a disk of that size is left out without a word.',
      cure: 'Set max_local_disk_size (LMCACHE_MAX_LOCAL_DISK_SIZE), in GB of each rank, beside local_disk',
    },
    given:
      /(?:LMCACHE_LOCAL_DISK["']?\s{0,4}(?:[=:]|\n\s{0,20}value:)|^\s{0,20}local_disk:)\s{0,4}(?:\\?["'])?((?:file:|\/|\.\/)[\w./-]{1,120})/m,
    beside: [],
    unless:
      /max_local_disk_size(?!["']?\s{0,4}[=:]\s{0,4}["']?0(?:\.0)?["']?\s{0,40}(?:$|\\))|local_disk["']?\s{0,4}[=:]\s{0,4}(?:None|null)/im,
  },
  {
    fault: {
      id: 'lmcache_keeps_nothing',
      cause: 'offload_failed',
      needles: [],
      says: 'LMCache is to keep nothing in memory ($1), and has no other store: it never finds anything',
      why: 'Without memory of its host, a disk or a remote store LMCache has no place for what it is given.',
      cure: 'Set local_cpu: true (LMCACHE_LOCAL_CPU=True) with max_local_cpu_size, or give LMCache a disk (local_disk and max_local_disk_size) or a remote store (remote_url)',
    },
    given: /((?:LMCACHE_LOCAL_CPU|^\s{0,20}local_cpu)["']?\s{0,4}[=:]\s{0,4}["']?(?:False|false)\b)/m,
    beside: [/LMCacheConnector|LMCACHE_CONFIG_FILE|LMCACHE_CHUNK_SIZE|^\s{0,20}chunk_size:/m],
    unless:
      /local_?disk|remote(?!_(?:url|serde)["']?\s{0,4}[=:]\s{0,4}["']?(?:null|None|~|naive|cachegen)?["']?\s{0,4}(?:$|[,#]))|gds|weka|nixl|p2p|enable_pd|\bpd_|plugin|mooncake|redis|valkey|lmcache[ _.]server|LMCacheMP|l2|audit|blend/im,
  },
  {
    fault: {
      id: 'dynamo_prefill_stays_local',
      cause: 'role_missing',
      needles: [],
      isSign: true,
      says: 'A worker of Dynamo decides which prompts go to prefill workers, and may send none there: remote-prefill is not set',
      why: 'conditional-disagg (with max-local-prefill-length) chooses among prompts of a worker that has remote-prefill: true. Without that all prompts are computed where they are decoded, and prefill workers wait.',
      cure: 'Write remote-prefill: true beside conditional-disagg: true, in the part of the decode worker (VllmWorker)',
    },
    given: /^\s{1,20}(conditional-disagg):\s{0,4}["']?true\b/m,
    beside: [/^PrefillWorker:/m],
    unless: /remote-prefill["']?:\s{0,4}["']?true/,
  },
  {
    fault: {
      id: 'kv_events_of_no_cache',
      cause: 'events_off',
      needles: [],
      isSign: true,
      says: 'An engine is to publish KV events, and its prefix caching is off ($1$2): it has nothing to publish',
      why: 'Events are of blocks that an engine keeps for later prompts. Without prefix caching it keeps none, and publishes none.',
      cure: 'Take $1$2 out of the command of the engine whose events are wanted, or keep it from KV-aware routing',
    },
    given:
      /(?:vllm serve|vllm\.entrypoints|dynamo\.vllm)(?=(?:[^\n]|\\\n){0,3000}?enable_kv_cache_events\W{1,6}true)(?:[^\n]|\\\n){0,3000}?(--no-enable-prefix-caching)\b|(?:sglang\.launch_server|sglang serve|dynamo\.sglang)(?=(?:[^\n]|\\\n){0,3000}?--kv-events-config)(?:[^\n]|\\\n){0,3000}?(--disable-radix-cache)\b/i,
    beside: [],
    unless: /--disaggregation-mode["'= ]{1,4}decode|kv_consumer/,
  },
  {
    fault: {
      id: 'frontend_routes_in_turn',
      cause: 'not_kv_routing',
      needles: [],
      isSign: true,
      says: 'Workers publish KV events, and dynamo.frontend has no router mode: it sends requests in turn, and reads none of them',
      why: 'Its mode is round-robin by default. Requests with one beginning go to another worker each time, which computes it again.',
      cure: 'Start dynamo.frontend with --router-mode kv (DYN_ROUTER_MODE=kv)',
      disturbs: 'frontend',
    },
    given: /(?:\bpython3? -m |["'])(dynamo\.frontend)\b/,
    beside: [/enable_kv_cache_events\W{1,6}true|--publish-(?:kv-)?events/i],
    unless: /router[-_]?mode|dynamo\.router|kv[-_]router|\bepp\b|InferencePool/i,
  },
  {
    fault: {
      id: 'v1_connector_on_v0',
      cause: 'settings_refused',
      needles: [],
      isSign: true,
      says: 'VLLM_USE_V1=0 starts the V0 engine, and the connector is one of the V1 engine ($1)',
      why: 'V0 and V1 have connectors of their own, which do not take the place of each other. Releases from 0.11 on have the V1 engine alone.',
      cure: 'Take VLLM_USE_V1=0 out, so that the V1 engine runs',
    },
    given:
      /kv_connector\W{1,8}(LMCacheConnectorV1|NixlConnector|MultiConnector|OffloadingConnector|P2pNcclConnector|MooncakeConnector)\b/,
    beside: [
      /(?<!\b(?:set|with|use|using) )\bVLLM_USE_V1["']?(?:\s{0,4}[=:]|\s{0,4}\n\s{0,20}value:)\s{0,4}["']?0\b/,
    ],
    unless:
      /\bVLLM_USE_V1["']?(?:\s{0,4}[=:]|\s{0,4}\n\s{0,20}value:)\s{0,4}["']?1\b|MPConnector|lmcache server/,
  },
  {
    fault: {
      id: 'kv_events_without_block_reuse',
      cause: 'events_off',
      needles: [],
      isSign: true,
      says: 'TensorRT-LLM is to publish KV events, and $1 is false: it keeps no block that it could tell of',
      why: 'Events are of blocks that are kept for later prompts. Without block reuse there are none.',
      cure: 'Set kv_cache_config: { enable_block_reuse: true } in the engine file of the workers whose events are wanted',
    },
    given: /(enable_?[bB]lock_?[rR]euse)["']?:\s{0,4}(?:false|False)\b/,
    beside: [/--publish-(?:kv-)?events|publish_(?:kv_)?events|event_buffer_max_size["']?:\s{0,4}[1-9]/],
    unless: /enable_?[bB]lock_?[rR]euse["']?:\s{0,4}(?:true|True)|[-_ ]mode["'= ]{1,4}decode/,
  },
  {
    fault: {
      id: 'ucx_without_gpus',
      cause: 'transfer_path_broken',
      needles: [],
      isSign: true,
      says: 'UCX is kept to transports that know no memory of GPUs (UCX_TLS $1): NIXL cannot move blocks from there',
      why: 'UCX_TLS lists all that UCX may use. Without cuda_copy it takes memory of a GPU for that of the host.',
      cure: 'Add cuda_copy and cuda_ipc to UCX_TLS on both engines (UCX_TLS=rc,cuda_copy,cuda_ipc,tcp,self), or leave UCX_TLS out',
      commands: ['kubectl exec ENGINE -- sh -c "env | grep UCX_TLS; ucx_info -d | grep -i cuda"'],
    },
    given:
      /\bUCX_TLS["']?(?:\s{0,4}[=:]|\s{0,4}\n\s{0,20}value:)\s{0,4}["']?((?:rc|rc_x|rc_v|rc_mlx5|rc_verbs|dc|dc_x|ud|ud_x|ib|tcp|sm|shm|self|posix|sysv|cma|knem|xpmem)(?:,(?:rc|rc_x|rc_v|rc_mlx5|rc_verbs|dc|dc_x|ud|ud_x|ib|tcp|sm|shm|self|posix|sysv|cma|knem|xpmem)){0,12})(?![\w,])/,
    beside: [/NixlConnector|--disaggregation-transfer-backend[= ]nixl/],
    unless: /cuda_copy|cuda_ipc|rocm|kv_buffer_device\W{1,6}cpu|\bnpu\b|\bxpu\b|\bhpu\b|ascend|gaudi/i,
  },
];
