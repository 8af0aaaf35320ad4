import type { KnownFault } from './known-fault.js';

/** Settings that a program has and does not take: it says so in one line, and goes on with another value. */
export const IGNORED_SETTINGS: readonly KnownFault[] = [
  {
    id: 'variable_not_taken',
    cause: 'settings_refused',
    needles: [
      'alling back to ',
      '; using default',
      ', using default',
      'using the default of',
      'using enabled default',
      ', defaulting to ',
      '. Defaulting to ',
      '; clamping to ',
      'disabling overlap refresh',
    ],
    // A variable of caches, events, planes, transfers or routing, in a warning of what is wrong with its value.
    pattern:
      /^(?=.{0,200}(?:\bWARN(?:ING)?\b|\bERROR\b|\[W\]|\[E\]))(?=.{0,900}\b(?:[Ii]nvalid|[Uu]nrecognized|[Ff]ailed to parse|out of range|must be (?:>|greater|positive|at least)|[Nn]on-finite|[Nn]egative|not an? (?:valid|integer|number))).{0,900}?\b((?:DYN|KVBM|ETCD|NATS|NIXL|UCX|TRTLLM|TLLM|VLLM|SGLANG|LMCACHE|MOONCAKE|MC|FLEXKV|AIBRIX|UCM)_(?!\w{0,40}(?:HTTP|LOGGING|LOG_|METRIC|TRACE|FPM|LORA|TOKENIZER|REASONING|MEDIA|IMAGE|VIDEO|AUDIO|STREAM_INTERVAL|SHUTDOWN|TELEMETRY|URL|BODY|TOOL|ENGINE_ITERATION|RPC_TIMEOUT|SHRINK))[A-Z][A-Z0-9_]{2,60})\b/,
    isSign: true,
    says: 'a program does not take $1: its value is none that it can use, and another one counts',
    why: 'It warns once and goes on with its default. Processes that have the same setting in another form then differ from it.',
    cure: 'Write $1 in the form and range that the line names, the same in all processes that share it, or unset it',
    commands: ['kubectl exec POD -- env | grep $1'],
  },
  {
    id: 'ucx_variable_misspelt',
    cause: 'transfer_path_broken',
    needles: ['unused environment variable'],
    // UCX names whatever is next to it: "UCX_DIR (maybe: UCX_TLS?)" is a folder of an image. A misspelt name begins like the right one.
    pattern: /unused environment variables?: .{0,400}?\b((UCX_\w{4,58})\w{0,2}) \(maybe: (\2\w{0,2})\?/,
    isSign: true,
    says: 'UCX reads no variable $1: it looks misspelt, for $3',
    why: 'What it was to set stays at its default: transports, devices and limits that KV blocks travel by.',
    cure: 'Write $3 in place of $1 on all engines, or take $1 out',
    commands: ['ucx_info -cf | grep -A12 $3    # in the pod: the values that it takes'],
  },
  {
    id: 'dynamo_trtllm_connector_ignored',
    cause: 'settings_refused',
    needles: ['TRT-LLM does not support connector '],
    pattern:
      /TRT-LLM does not support connector '([\w-]{1,40})' \(set via DYN_CONNECTOR environment variable.{0,80}?Supported connectors: (.{1,80}?)\. Falling back/,
    says: 'a worker of TensorRT-LLM runs without a connector: it has none by the name of $1',
    why: 'DYN_CONNECTOR is meant for workers of vLLM. A worker of TensorRT-LLM goes on with none, so that nothing is offloaded or shared.',
    cure: 'Set DYN_CONNECTOR=kvbm on workers of TensorRT-LLM (one of $2), or unset it there',
  },
  {
    id: 'dynamo_hicache_extra_config_ignored',
    cause: 'settings_refused',
    needles: [
      'Failed to parse hicache_storage_backend_extra_config',
      'hicache_storage_backend_extra_config was not an object',
      'Unsupported hicache_storage_backend_extra_config type',
    ],
    says: 'the frontend does not learn of the shared cache of a worker: its extra config of HiCache cannot be read',
    why: 'dynamo.sglang reads from it where Mooncake publishes its KV events, and what belongs to the hashes. The router then finds nothing in the shared cache.',
    cure: 'Write --hicache-storage-backend-extra-config as one object of JSON in single quotes (\'{"master_server_address": "HOST:PORT"}\'), the same on all workers',
  },
];
