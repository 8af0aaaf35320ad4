import type { PlacedPart } from './crashed-part.js';

/** A release of LMCache and of the engine that belong together. */
export const LMCACHE_RELEASE =
  "LMCache that belongs to the engine's own, by the table of versions in LMCache's documentation";

/**
 * Parts of LMCache that an engine does without, by their files and functions, 0.3.0 to 0.5.7. Each setting is a key of
 * `lmcache/v1/config.py`, and a variable with LMCACHE_ before it. The first that fits counts.
 */
const OPTIONAL: readonly (readonly [pattern: RegExp, name: string, wayOut: string])[] = [
  [/lmcache\/v1\/compute\//, "LMCache's CacheBlend", 'start the engine with LMCACHE_ENABLE_BLENDING=False'],
  [
    /lmcache.*(?:layerwise| in (?:\w*_layer|\w+_layer_\w+)\b)/,
    "LMCache's transfer by layer",
    'start the engine with LMCACHE_USE_LAYERWISE=False',
  ],
  [
    /lmcache.*async_lookup/,
    "LMCache's loading beside the scheduler",
    'start the engine with LMCACHE_ENABLE_ASYNC_LOADING=False',
  ],
  [
    /lmcache.*mooncake_lookup_client/,
    "LMCache's look-up in Mooncake",
    'start the engine without external_lookup_client (LMCACHE_EXTERNAL_LOOKUP_CLIENT)',
  ],
  [
    /lmcache.*lookup_client_bypass/,
    "LMCache's look-up without workers",
    'start the engine with LMCACHE_ENABLE_SCHEDULER_BYPASS_LOOKUP=False',
  ],
  [
    /lmcache.*hit_limit_lookup/,
    "LMCache's limit of hits",
    'start the engine without hit_miss_ratio (LMCACHE_HIT_MISS_RATIO)',
  ],
  [
    /lmcache.*chunk_statistics/,
    "LMCache's statistics of chunks",
    'start the engine with LMCACHE_ENABLE_CHUNK_STATISTICS=False',
  ],
  [
    /lmcache.*p2p_backend/,
    "LMCache's sharing between engines",
    'start the engines with LMCACHE_ENABLE_P2P=False',
  ],
  [
    /lmcache.*(?:\/pd_backend|storage_backend\/nixl_backend|connector\/nixl_connector)/,
    "LMCache's transfer between prefill and decode engines",
    'pair both roles by "kv_connector":"NixlConnector" in --kv-transfer-config, the connector of vLLM itself',
  ],
  [
    /lmcache.*nixl_storage_backend/,
    "LMCache's storage behind NIXL",
    'take enable_nixl_storage out of extra_config',
  ],
  [
    /lmcache.*weka_gds/,
    "LMCache's storage on WekaFS",
    'start the engine without weka_path (LMCACHE_WEKA_PATH)',
  ],
  [
    /lmcache.*(?:gds_backend|hipfile)/,
    "LMCache's storage by GPUDirect",
    'start the engine without gds_path (LMCACHE_GDS_PATH)',
  ],
  [
    /lmcache.*(?:local_disk_backend|path_sharder)/,
    "LMCache's storage on the local disk",
    'start the engine without local_disk (LMCACHE_LOCAL_DISK)',
  ],
  [
    /lmcache.*(?:\bserde\b|naive_serde|cachegen|torchac)/,
    "LMCache's packing of blocks for its store",
    'start the engine with LMCACHE_REMOTE_SERDE=naive',
  ],
  [
    /lmcache.*storage_backend\/(?:plugins|dax|maru|raw_block)/,
    'A storage plugin of LMCache',
    'take it out of storage_plugins (external_backends before 0.3.11)',
  ],
  [
    /lmcache.*storage_backend\/connector\/(?:lm|lmcache)_connector/,
    "LMCache's connection to its server",
    'restart that server in the release of the engines (its log says why it closed), else start the engine without remote_url (LMCACHE_REMOTE_URL)',
  ],
  [
    /lmcache.*(?:remote_backend|storage_backend\/(?:connector|native_clients|valkey|resp_client))/,
    "LMCache's connection to its remote store",
    'start the engine without remote_url (LMCACHE_REMOTE_URL)',
  ],
  [
    /lmcache.*internal_api_server/,
    "LMCache's own API server",
    'start the engine with LMCACHE_INTERNAL_API_SERVER_ENABLED=False',
  ],
  [
    /lmcache.*usage_(?:context|telemetry)/,
    "LMCache's report of its usage",
    'start the engine with LMCACHE_TRACK_USAGE=false',
  ],
  [
    /lmcache.*lazy_memory_allocator/,
    "LMCache's memory that grows",
    'start the engine with LMCACHE_ENABLE_LAZY_MEMORY_ALLOCATOR=False (lmcache server with --no-l1-use-lazy)',
  ],
  [
    /lmcache.*system_detection/,
    "LMCache's placement by NUMA node",
    'start the engine without numa_mode (LMCACHE_NUMA_MODE)',
  ],
  [
    /lmcache\/v1\/plugin\//,
    'A runtime plugin of LMCache',
    'start the engine without runtime_plugin_locations (plugin_locations before 0.3.11)',
  ],
  [
    /lmcache.*distributed\/l2_adapters/,
    "A second tier of LMCache's server",
    'start lmcache server without the --l2-adapter of this file',
  ],
];

/** Parts of LMCache with what switches each of them off. */
export const LMCACHE_PARTS: readonly PlacedPart[] = [
  ...OPTIONAL.map(([pattern, name, wayOut]) => optional(pattern, name, wayOut)),
  // The generator of a transfer by layer, which the adapter moves on once too often.
  {
    ...optional(
      /lmcache.*vllm_v1_adapter\.py in wait_for_save/,
      "LMCache's transfer by layer",
      'start the engine with LMCACHE_USE_LAYERWISE=False',
    ),
    says: /^StopIteration|raised StopIteration/,
  },
  {
    pattern: /lmcache.*(?:multi_process_adapter|lmcache_mp_connector|v1\/multiprocess\/)/,
    name: "LMCache's multiprocess mode",
    program: 'LMCache, one for the engines and their lmcache server',
    packages: 'lmcache',
    wayOut: (_, { path }) =>
      /sglang/.test(path)
        ? 'start SGLang without --enable-lmcache'
        : 'write "kv_connector":"LMCacheConnectorV1" in place of LMCacheMPConnector into --kv-transfer-config, which needs no server',
    why: 'Engine and server speak by messages of one release, and the connector that vLLM brings is made for some releases of LMCache: one that calls by other names or arguments fails as it starts. "kv_connector_module_path":"lmcache.integration.vllm.lmcache_mp_connector" takes the connector that LMCache brings.',
  },
];

/** The module at the end of a line that LMCache wrote: "(gds_backend.py:291:lmcache.v1.storage_backend.gds_backend)". */
const WRITER = /\(\w+\.py:\d+:(lmcache(?:\.\w+)+)\)\s*$/;
const CONTROLLER: (typeof OPTIONAL)[number] = [
  /lmcache\/v1\/cache_controller\/(?:worker|full_sync_sender)/,
  "LMCache's reports to its controller",
  'start the engines with LMCACHE_ENABLE_CONTROLLER=False',
];

/** How to do without the part of LMCache that wrote a line; undefined for one that it needs. */
export function withoutWriterOf(line: string): string | undefined {
  const path = WRITER.exec(line)?.[1]?.replaceAll('.', '/');
  const part = path === undefined ? undefined : partOf(path);
  return part === undefined
    ? undefined
    : `to do without what wrote it, ${part[1].replace(/^A /, 'a ')}: ${part[2]}`;
}

/** An instruction for doing without a file of LMCache, `distributed/l2_adapters/fs_l2_adapter`, or without LMCache. */
export function withoutPart(file: string): string {
  const part = partOf(`lmcache/v1/${file}`);
  if (part !== undefined) return part[2];
  return /^integration\/sglang/.test(file)
    ? 'start SGLang without --enable-lmcache'
    : /^(?:multiprocess|distributed|integration\/vllm\/(?:lmcache_mp|vllm_multi))/.test(file)
      ? 'write "kv_connector":"LMCacheConnectorV1" in place of LMCacheMPConnector into --kv-transfer-config, which needs no lmcache server'
      : 'start vLLM without LMCache in --kv-transfer-config';
}

/** The optional part that a file belongs to. */
function partOf(path: string): (typeof OPTIONAL)[number] | undefined {
  return [...OPTIONAL, CONTROLLER].find(([pattern]) => pattern.test(`${path}.py`));
}

function optional(pattern: RegExp, name: string, wayOut: string): PlacedPart {
  return {
    pattern,
    name,
    program: 'LMCache',
    packages: 'lmcache',
    wayOut: () => wayOut,
  };
}
