import type { KnownFault } from './known-fault.js';

/** Names of settings about KV caches that are written, and that no program reads: nothing complains, and nothing changes. */
export const UNREAD_SETTINGS: readonly KnownFault[] = [
  {
    id: 'lmcache_variables_unread',
    cause: 'offload_failed',
    needles: [
      'LM_CACHE_CHUNK_SIZE',
      'LM_CACHE_CONFIG_FILE',
      'LM_CACHE_CONTROLLER_URL',
      'LM_CACHE_ENABLE_',
      'LM_CACHE_LOCAL_',
      'LM_CACHE_MAX_LOCAL_',
      'LM_CACHE_REMOTE_',
      'LM_CACHE_USE_EXPERIMENTAL',
    ],
    // As it is set: by a shell, by `docker run -e`, by a list of a pod or of compose, by ENV of an image.
    pattern: /^(?!\s{0,20}#)(?:.{0,900}[\s"'])?["']?(LM_CACHE_(?:[A-Z]{2,12}_?){1,5})(?:["']?\s?[=:]|["']?$)/,
    isSign: true,
    says: 'LMCache reads no variable $1: its names begin with LMCACHE_, and it keeps its defaults',
    why: 'A variable of another name is passed over without a word: chunks, memory, disk and remote store stay as they are by default, and the remote store is not used at all.',
    cure: 'Write the variables as LMCACHE_ and not LM_CACHE_ (LMCACHE_CHUNK_SIZE, LMCACHE_LOCAL_CPU, LMCACHE_MAX_LOCAL_CPU_SIZE, LMCACHE_REMOTE_URL, LMCACHE_USE_EXPERIMENTAL=True), or into a file that LMCACHE_CONFIG_FILE names; the log of the engine shows as it starts what LMCache took',
    commands: ['kubectl exec ENGINE -- env | grep -E "^LM_?CACHE_"'],
  },
  {
    id: 'hash_seed_unread',
    cause: 'hash_mismatch',
    needles: ['PYTHON_HASH_SEED', 'PYTHONHASH_SEED', 'PYTHON_HASHSEED'],
    pattern: /^(?!\s{0,20}#)(?:.{0,900}[\s"'])?["']?(PYTHON_?HASH_?SEED)(?:["']?\s?[=:]|["']?$)/,
    isSign: true,
    says: 'Python reads no variable $1: the seed of its hashes is still random in each process',
    why: 'Its name is PYTHONHASHSEED. Engines that share a store, and an index that compares their hashes, find only what the same process stored.',
    cure: 'Set PYTHONHASHSEED=0 (without underscores) on every engine that shares the cache, on its LMCache server and its router, before they start',
    commands: ['kubectl exec ENGINE -- env | grep -i HASH'],
  },
  {
    id: 'side_channel_variable_unread',
    cause: 'side_channel_unreachable',
    needles: ['NIXL_SIDECHANNEL_', 'VLLM_NIXL_SIDE_CHANNEL_ADDR', 'VLLM_NIXL_SIDE_CHANNEL_IP'],
    pattern:
      /^(?!\s{0,20}#)(?:.{0,900}[\s"'])?["']?((?:VLLM_)?NIXL_SIDECHANNEL_(?:HOST|PORT)|VLLM_NIXL_SIDE_CHANNEL_(?:ADDR(?:ESS)?|IP))(?:["']?\s?[=:]|["']?$)/,
    isSign: true,
    says: 'vLLM reads no variable $1: its side channel stays at localhost:5600',
    why: 'The names are VLLM_NIXL_SIDE_CHANNEL_HOST and VLLM_NIXL_SIDE_CHANNEL_PORT. With the defaults decode engines on other hosts do not reach the prefill engine, and two engines of one host want the same port.',
    cure: 'Set VLLM_NIXL_SIDE_CHANNEL_HOST (status.podIP by the downward API) and VLLM_NIXL_SIDE_CHANNEL_PORT on each engine in place of $1',
    commands: ['kubectl exec ENGINE -- env | grep SIDE'],
  },
  {
    id: 'kv_events_flags_unread',
    cause: 'events_off',
    needles: [
      '--enable-kv-cache-events',
      '--kv-events-publisher',
      '--kv-events-endpoint',
      '--kv-events-replay-endpoint',
      '--kv-events-buffer-steps',
      '--kv-events-topic',
    ],
    // A program that refuses them has a rule of its own, and prose may speak of them.
    pattern:
      /^(?!\s{0,20}#)(?!.{0,2000}(?:unrecognized|unknown option|unexpected argument|no such option))(?:\s{0,40}(?:- )?["']?|.{0,200}?(?:vllm|sglang|python3?)\S{0,80} .{0,2000}?)(--(?:enable-kv-cache-events|kv-events-(?:publisher|endpoint|replay-endpoint|buffer-steps|topic)))(?=[=\s"',\\]|$)/i,
    isSign: true,
    says: 'No release of vLLM or SGLang has the flag $1: an engine does not start with it, or publishes no KV events',
    why: 'The documentation of AIBrix had such flags. Engines take one object of JSON with all that is to be said of KV events; its keys are no flags.',
    cure: `Give the engine --kv-events-config '{"enable_kv_cache_events": true, "publisher": "zmq", "endpoint": "tcp://*:5557", "replay_endpoint": "tcp://*:5558"}' in place of $1 and its like (SGLang without enable_kv_cache_events), and keep --enable-prefix-caching on vLLM`,
    commands: ['kubectl logs ENGINE --previous | grep -m3 "unrecognized arguments"'],
  },
];
