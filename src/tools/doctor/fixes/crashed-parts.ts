import { capitalised } from '../../../core/text/capitalised.js';
import type { ProposedFix } from '../diagnosis.js';
import { type Crash, crashPlace } from '../logs/crash-text.js';
import { CONNECTOR_CALLS } from '../logs/general/source-files.js';
import type { Measurements } from '../measurements/measurements.js';
import type { CrashedPart, PlacedPart } from './crashed-part.js';
import { LMCACHE_PARTS, LMCACHE_RELEASE } from './lmcache-parts.js';

const SPECULATION = /specul|draft|eagle|\bmtp\b|dflash|dspark|medusa|n_?gram/i;

function hasSpeculation({ settings }: Measurements, { path, place, sentence }: Crash): boolean {
  return settings('speculation').length > 0 || SPECULATION.test(`${path} ${place} ${sentence}`);
}

/** What SGLang had for each kind of model up to September 2026: pull request 30468 routes to one tree for all, and 40313 removes the others. */
const OLD_TREES = /srt\/mem_cache\/(?:(?:swa|mamba|hi_?mamba|hi)_?radix_cache)\.py/;
const ONE_TREE = {
  program: 'SGLang with the unified radix tree (July 2026 and later, pull request 30468)',
  why: 'SGLang kept a tree of its own for models with sliding windows, for those with Mamba states and for the hierarchical cache. Their assertions end the engine where locks, pages and tombstones do not add up. Since July 2026 one tree serves them all, and these files are gone.',
};

/**
 * What TensorRT-LLM's `kvCacheManager.cpp` asserts of blocks that it copies to the host and back. There are none without
 * `host_cache_size`, whose default is none: `getFreeBlock` offloads only where the secondary pool has a block.
 */
const OF_HOST_BLOCKS = /mFreePrimaryBlocks|\bGPU blocks?\b|secondary|offload|onboard/i;
const WITHOUT_HOST_BLOCKS =
  'leave host_cache_size out of kv_cache_config in the engine file (kv_cache_host_memory_bytes out of config.pbtxt of Triton), so that no block goes to the host';
/** Without reuse a sequence gets free blocks alone: the tree, its locks and its evictions are not walked (`addSequence` has two forms). */
const WITHOUT_REUSE =
  'write kv_cache_config: { enable_block_reuse: false } into the engine file (enable_kv_cache_reuse: false in config.pbtxt of Triton), which costs all hits, and where host_cache_size is set leave that out first';

function usesNixl({ settings, signal }: Measurements): boolean {
  return (
    settings('kv_connector').some(({ value }) => value.startsWith('Nixl')) ||
    signal('transfer_expired')?.first.text.includes('nixl') === true
  );
}

/** The first that fits counts: the particular before the general. */
const PARTS: readonly PlacedPart[] = [
  {
    pattern: /^UCX/,
    name: 'UCX',
    program: 'NIXL with the UCX that came with it',
    packages: 'nixl|ucx',
    wayOut: () => undefined,
  },
  {
    pattern: /^Mooncake\b/,
    name: 'Mooncake',
    program: 'Mooncake, the same on all engines, clients and the master',
    packages: 'mooncake',
    wayOut: () => undefined,
  },
  {
    pattern: /kvbm|(?:trtllm|vllm)_integration\/connector/,
    name: "KVBM's connector",
    program: 'the engine and of KVBM that belong together',
    packages: 'kvbm|nixl',
    wayOut: () => "start the engine without KVBM's connector",
  },
  {
    pattern: /lmcache\/v1\/cache_controller/,
    name: "LMCache's controller",
    program: 'LMCache, for controller and engines those that belong together',
    packages: 'lmcache',
    wayOut: (_, { path }) =>
      /\/(?:worker|full_sync_sender)\.py/.test(path)
        ? 'start the engines with LMCACHE_ENABLE_CONTROLLER=False'
        : undefined,
  },
  ...LMCACHE_PARTS,
  {
    pattern: /lmcache/i,
    name: 'LMCache',
    program: LMCACHE_RELEASE,
    packages: 'lmcache',
    wayOut: (_, { path }) =>
      /sglang/.test(path)
        ? 'start SGLang without --enable-lmcache'
        : "start the engine without LMCache's connector in --kv-transfer-config",
    why: 'LMCache reaches into the engine: each of its releases is made for some versions of it, and its exceptions are of one that it does not know, or are repaired in the next release. Its issues have the sentence and the place, and name that release.',
  },
  {
    pattern: /(?:^|\/)kvcached\//,
    name: 'kvcached',
    program: 'kvcached',
    packages: 'kvcached',
    wayOut: () => 'start the engine without kvcached (ENABLE_KVCACHED=false and KVCACHED_AUTOPATCH=0)',
  },
  {
    pattern: /(?:^|\/)ucm\/sparse\//,
    name: "UCM's sparse attention",
    program: 'UCM',
    packages: 'uc-manager|ucm',
    wayOut: () => "take ucm_sparse_config out of UCM's configuration (UCM_CONFIG_FILE)",
  },
  ...[
    caches('ucm', 'UCM', 'uc-manager|ucm', 'UCMConnector'),
    caches('pegaflow', 'PegaFlow', 'pegaflow', 'PegaKVConnector'),
    caches('flexkv', 'FlexKV', 'flexkv', 'FlexKVConnectorV1'),
    caches('aibrix_kvcache', "AIBrix's KVCache", 'aibrix', 'AIBrixOffloadingConnector'),
  ],
  {
    pattern: /(?:^|\/)(?:llmd_fs_backend|llmd_nixl)\//,
    name: "llm-d's storage of blocks",
    program: "llm-d's filesystem backend",
    packages: 'llmd|nixl',
    wayOut: () => 'start vLLM without OffloadingConnector of llmd_fs_backend in --kv-transfer-config',
  },
  {
    pattern: /vllm_ascend\//,
    name: "vLLM Ascend's KV connector",
    program: 'vLLM and of vLLM Ascend that belong together',
    packages: 'ascend|mooncake',
    wayOut: () => 'send whole requests to engines without --kv-transfer-config',
  },
  {
    pattern:
      /(?:simple_)?kv_offload\/|kv_connector\/v1\/(?:offloading|simple_cpu_offload)|offloading_connector/,
    name: "vLLM's KV offloading",
    program: 'vLLM',
    packages: 'torch',
    wayOut: (measurements, crash) =>
      `start vLLM without --kv-offloading-size or OffloadingConnector${hasSpeculation(measurements, crash) ? ', or without --speculative-config' : ''}`,
  },
  {
    pattern: /distributed\/ec_transfer\//,
    name: "vLLM's connector of encoder caches",
    program: 'vLLM, the same for encoders and engines',
    packages: 'nixl|mooncake',
    wayOut: () => 'start vLLM without --ec-transfer-config, so that each engine encodes by itself',
  },
  {
    pattern: /_update_from_kv_xfer_finish/,
    name: "vLLM's handling of finished KV transfers",
    program: 'vLLM',
    packages: 'nixl|lmcache|mooncake',
    wayOut: (measurements) =>
      `keep requests from being aborted by longer time limits at clients and proxy${usesNixl(measurements) ? ' and VLLM_NIXL_ABORT_REQUEST_TIMEOUT=480 on prefill engines' : ''}`,
    why: 'A connector reports the transfer of a request as finished that the scheduler no longer has: its client went away, a time limit aborted it, or its blocks expired. The engine ends on it, with all its requests. Since pull request 25067 (end of 2025) the scheduler passes over such requests.',
  },
  {
    pattern: /\/v1\/core\//,
    name: "vLLM's own KV cache manager",
    program: 'vLLM',
    packages: 'torch',
    wayOut: (measurements, crash) => {
      if (hasSpeculation(measurements, crash)) return 'start vLLM without --speculative-config';
      if (measurements.settings('kv_connector').length > 0) return 'start vLLM without --kv-transfer-config';
      return 'start vLLM with --no-enable-prefix-caching, which costs all hits';
    },
  },
  {
    pattern: new RegExp(`kv_connector|kv_transfer|_connector\\.py| in (?:${CONNECTOR_CALLS.join('|')})$`),
    name: 'A KV connector',
    program: 'the engine and of its connector that belong together',
    packages: 'nixl|lmcache|mooncake',
    wayOut: ({ seen }) =>
      `send whole requests to engines without it${seen.engines.some(({ word }) => word === 'vllm') ? ' (--kv-transfer-config left out)' : ''}`,
  },
  {
    pattern: /srt\/disaggregation\//,
    name: "SGLang's transfer between prefill and decode engines",
    program: 'SGLang and of its transfer library, the same for both roles',
    packages: 'sgl|mooncake|nixl',
    wayOut: (measurements, crash) =>
      `${hasSpeculation(measurements, crash) ? 'start both roles without --speculative-algorithm, or ' : ''}send whole requests to engines without --disaggregation-mode`,
  },
  {
    pattern: new RegExp(`${OLD_TREES.source}|_mamba_radix_cache_v2`),
    name: "SGLang's radix tree for this kind of model",
    packages: 'sgl',
    ...ONE_TREE,
    wayOut: (_, { path }) =>
      `set SGLANG_ENABLE_UNIFIED_RADIX_TREE=1, which releases since April 2026 know; on older ones start SGLang ${/\/hi/.test(path) ? 'without --enable-hierarchical-cache' : 'with --disable-radix-cache, which costs all hits'}`,
  },
  {
    pattern:
      /hi\w*radix|hi_?cache|hi_mamba|memory_pool_host|pool_host|mem_cache\/storage|load_back|write_backup|host_(?:pool|cache)|cache_controller\.py/i,
    name: "SGLang's hierarchical cache",
    program: 'SGLang',
    packages: 'sgl|mooncake',
    wayOut: (_, { path }) =>
      /storage|cache_controller/.test(path)
        ? 'start SGLang without --hicache-storage-backend'
        : 'start SGLang without --enable-hierarchical-cache',
  },
  {
    pattern: /srt\/mem_cache\/|leak detected/,
    name: "SGLang's own KV cache",
    program: 'SGLang',
    packages: 'sgl',
    wayOut: (measurements, crash) => {
      if (/unified_(?:radix_)?cache/.test(crash.path))
        return 'start SGLang without --enable-hierarchical-cache where that is set, then with --disable-radix-cache, which costs all hits';
      if (measurements.settings('host_cache').some(({ value }) => value !== 'false'))
        return 'start SGLang without --enable-hierarchical-cache';
      return hasSpeculation(measurements, crash)
        ? 'start SGLang without --speculative-algorithm'
        : 'start SGLang with --disable-overlap-schedule, then with --disable-radix-cache, which costs all hits';
    },
  },
  {
    pattern:
      /cacheTrans|cacheFormatter|dataTransceiver|kv_cache_transceiver|mlaCache|_torch\/disaggregation\//,
    name: "TensorRT-LLM's cache transceiver",
    program: 'TensorRT-LLM, the same for both roles',
    packages: 'nixl|ucx',
    wayOut: () => 'send whole requests to engines without cache_transceiver_config',
  },
  {
    pattern: /batch_manager\/|pyexecutor\/(?:kv_cache\/|resource_manager)|kv_cache_manager_v2/,
    name: "TensorRT-LLM's own KV cache manager",
    program: 'TensorRT-LLM',
    packages: 'cuda',
    wayOut: (_, { path, sentence }) => {
      if (path.includes('kv_cache_manager_v2'))
        return 'write kv_cache_config: { use_kv_cache_manager_v2: false } into the engine file, or, for a model that needs it, leave speculative_config and enable_chunked_prefill out';
      return OF_HOST_BLOCKS.test(sentence) ? WITHOUT_HOST_BLOCKS : WITHOUT_REUSE;
    },
  },
];

/** A cache behind an engine, in a package of its own. */
function caches(folder: string, name: string, packages: string, connector: string): PlacedPart {
  return {
    pattern: new RegExp(`(?:^|/)${folder}/`),
    name,
    program: name,
    packages,
    wayOut: () => `start the engine without ${connector} in --kv-transfer-config`,
  };
}

/** Packages of engines, where they have another name. */
const PACKAGES: Readonly<Record<string, string>> = { trtllm: 'tensorrt' };

const UNKNOWN: CrashedPart = {
  name: 'The part of an engine that moves or keeps KV blocks',
  program: 'the engine and of its connector that belong together',
  packages: 'nixl|lmcache|mooncake',
  wayOut: () => undefined,
};

/** Whose exception it is, by its place. */
export function partOf({ path, place, sentence }: Crash): CrashedPart {
  const words = path === '' ? sentence : `${path} in ${place}`;
  return (
    PARTS.find(({ pattern, says }) => pattern.test(words) && (says === undefined || says.test(sentence))) ??
    UNKNOWN
  );
}

/** The two sides of a transfer list other numbers of blocks for one request. */
const UNEQUAL =
  /could not be broadcast together|len of local .{0,40}not equal to the len of remote|dst_num_blocks\[|len\((?:local|remote|src)\w*\) == len\((?:local|remote|dst)\w*\)/;

/** A key that a connector reads out of what another program sent it; names of requests and of engines are none. */
const LACKS = /^KeyError: '([a-z]+(?:_[a-z]+)*)'$/;
/** Parts whose two sides send each other what they are: connectors, and SGLang's transfer. */
const SPEAKS =
  /kv_connector|kv_transfer|_connector\.py|srt\/disaggregation\/|vllm_ascend\/|lmcache\/integration/;

/** What the other side sends has not what this one reads. */
function oneRelease(key: string, { path }: Crash): ProposedFix {
  const program = path.startsWith('sglang/') ? 'SGLang' : 'the engine';
  return {
    says: `Run one image of ${program} in both roles, and the proxy or router of the same release between them: what one of them sends to another has no "${key}"`,
    why: `The connector reads "${key}" out of the metadata of the other engine, or out of what the proxy passes on from it, and it is not there: the sender is of another version, was started without the connector, or a proxy keeps only a part of kv_transfer_params.`,
    disturbs: 'all_workers',
    files: [],
    commands: [
      'kubectl get pods -o jsonpath=\'{range .items[*]}{.metadata.name} {.spec.containers[*].image}{"\\n"}{end}\'    # one image in both roles',
      'kubectl exec POD -- pip list | grep -iE "vllm|sglang|lmcache|mooncake|nixl"    # in both pods',
    ],
    verify: ['kubectl logs POD --since=10m | grep -c "KeyError"    # should be 0'],
  };
}

/** As a connector is made, nothing was sent yet: it reads what it was given. */
function givenKey(key: string): ProposedFix {
  return {
    says: `Write "${key}" into kv_connector_extra_config of --kv-transfer-config, as the documentation of the connector has it for this version`,
    why: `The connector reads "${key}" of its own configuration as it is made, and has no value for it where none is given. Other versions may do without.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: ['kubectl get pod POD -o yaml | grep -A3 kv-transfer-config    # what it is given'],
    verify: [`kubectl logs POD --since=10m | grep -c "KeyError: '${key}'"    # should be 0`],
  };
}

/** A later version, and what to leave out until it is there. */
export function repairPart(measurements: Measurements, crash: Crash): ProposedFix {
  const lacked = LACKS.exec(crash.sentence)?.[1];
  if (lacked !== undefined && crash.place === '__init__' && SPEAKS.test(crash.path)) return givenKey(lacked);
  if (lacked !== undefined && SPEAKS.test(crash.path)) return oneRelease(lacked, crash);
  const part = partOf(crash);
  const wayOut = part.wayOut(measurements, crash);
  const isUnequal = UNEQUAL.test(crash.sentence);
  const place = crashPlace(crash).trim();
  const packages = [...measurements.seen.engines.map(({ word }) => PACKAGES[word] ?? word), part.packages];
  return {
    says: isUnequal
      ? `Start both roles with the same version, block size, prefix caching and speculative settings; where they have them, run a later version of ${part.program} (kubectl get pods shows the images)`
      : part.why !== undefined && wayOut !== undefined
        ? `Run a later version of ${part.program} (kubectl get pods shows the images); until then ${wayOut}`
        : wayOut === undefined
          ? `Run a later version of ${part.program}: kubectl get pods shows the images`
          : `${capitalised(wayOut)}, until a later version of ${part.program} is there (kubectl get pods shows the images)`,
    why: isUnequal
      ? 'The two engines list different numbers of blocks for one request. They are of different settings, or one of them counts blocks that it found in its own cache; what was answered meanwhile can be wrong.'
      : (part.why ??
        `The exception is of ${part.name.replace(/^(?:The|A) /, (word) => word.toLowerCase())}. The issues of the project have its sentence and its place${place === '' ? '' : ` ${place}`}, and name the version in which it does not come any more.`),
    disturbs: 'all_workers',
    files: [],
    commands: [
      `kubectl exec POD -- pip list | grep -iE "${packages.join('|')}"    # the versions that are there`,
      'kubectl logs POD --previous | tail -n 60    # the whole traceback, with its last line',
    ],
    verify: ['kubectl logs POD --since=10m | grep -cE "Traceback|Assertion failed"    # should be 0'],
  };
}
