import { SIGN_VALUES } from '../../../../engines/diagnosis/sign-values.js';
import { placeOf, type Traceback } from '../traceback-reader.js';
import { DISK_FULL } from './disk-full.js';
import { environmentKindOf } from './environment-kinds.js';
import { errorKindOf } from './error-kinds.js';
import { type Fault, faultOf, plain } from './fault-classes.js';
import { askedAndFree } from './gpu-memory.js';
import { otherReleaseSays } from './other-release.js';
import { pairFaultOf } from './pair-differences.js';
import { refusalOf } from './refused-settings.js';
import { NO_HOST_MEMORY, NO_LMCACHE_MEMORY, NO_OFFLOAD_MEMORY, ROOM } from './room-faults.js';
import { refusedArguments } from './sglang-checks.js';

/** Where the KV caches of a model's layers are brought to one size of pages, in all versions of vLLM that do so. */
const UNIFIES = /^(?:_?unify_\w*kv_cache_spec\w*|unify_hybrid_kv_cache_specs)$/;
const VALIDATES = /validate|_post_init\b|__post_init__/;
/** What LMCache asserts of its own messages and memory, which nobody sets. */
const LMCACHE_INNER =
  /^lmcache\/v1\/(?:platform|memory\w*|kv_codec|distributed\/(?:internal_)?api\b|mp_coordinator\/(?:cache_events|schemas|views|persistence)|multiprocess\/(?:custom_types|transport))/;
/** Where LMCache reads settings of its stores, of its server and of their adapters. */
const LMCACHE_READS =
  /^lmcache\/(?:v1\/distributed\/(?:l2_adapters|serde)\/\S+ (?:from_dict|_?(?:parse|normalize|create)_\w+)|v1\/storage_backend\/(?:connector|plugins)\/\S+ (?:create_connector|_?parse_\w+|from_\w+config|_get_positive_\w+)|v1\/multiprocess\/(?:http_)?server\.py (?:_build_\w+|run_\w+)|v1\/mp_coordinator\/\S+ parse_\w+|v1\/lookup_client\/factory\.py \w+|integration\/vllm\/mp_server_launcher\.py \w+)$/;
/** `assert self.p2p_host is not None`, `assert config.enable_controller, "…"`. */
const ASSERTION =
  /^assert (not )?(?:self|config|cfg)\.([a-z]\w{2,60})(?: is not None| is (False|True)| (?:==|in|>=?|!=) [^,]{1,60})?(?:,.*)?$/;
/** `assert offloaded_block_size_int % gpu_block_size == 0`, without words of its own. */
const WHOLE_SIZES =
  /^assert (?:self\.)?(\w*(?:block_size|page_size|tokens_per_(?:block|chunk)))(?:_int)? % (?:self\.)?(\w*(?:block_size|page_size|tokens_per_block)) == 0$/;
const NO_ANSWER = /NoneType/;
/** What a decode engine asks the bootstrap server of a prefill engine for. */
const ASKED_OF_PEER = /prefill_\w*(?:size|rank|info|tp|dp)|bootstrap|parallel_info|_info\b/;

/** What a traceback says is wrong, by its last line first, then by the places that it goes through; undefined where no class fits. */
export function faultOfTraceback(traceback: Traceback): Fault | undefined {
  const { frames, sentence } = traceback;
  const name = /^[\w.]+(?:: )?/.exec(sentence ?? '')?.[0] ?? '';
  const words = sentence?.slice(name.length) ?? '';
  const said = words === '' ? undefined : (faultOf(words) ?? pairFaultOf(words));
  return (
    hostMemoryOf(traceback) ??
    cacheItselfOf(traceback) ??
    fullPoolOf(traceback) ??
    folderOf(traceback) ??
    noNumber(traceback) ??
    said ??
    refusedArguments(traceback) ??
    refusedSetting(traceback, words) ??
    unevenSizes(traceback) ??
    (words === '' || isInner(traceback) ? undefined : refusalOf(words)) ??
    pagesOf(frames) ??
    unansweredPeer(traceback) ??
    unknownPeer(traceback) ??
    otherRelease(traceback) ??
    refusedAtStart(traceback, words)
  );
}

/** Where SGLang takes pages for a batch: it raises there for want of them alone, in words that an excerpt may have cut off. */
function fullPoolOf({ frames, sentence = '' }: Traceback): Fault | undefined {
  const { path = '', place = '', source = '' } = frames.at(-1) ?? {};
  const isFull =
    sentence === '' &&
    /mem_cache\/(?:common|allocation)\.py$/.test(path) &&
    /^alloc_(?:paged_)?token_slots/.test(place) &&
    source.startsWith('raise ');
  return isFull ? { signal: 'cache_memory_missing', value: `${ROOM.batch} (of SGLang)` } : undefined;
}

/** What the system says of a folder or of its disk, through Python or a library. */
const OF_FOLDER =
  /^(?:OSError|PermissionError|NotADirectoryError): .{0,20}(?:Errno (?:13|20|30)|Permission denied|Read-only file system)/;
const MAKES_FOLDER = /\b(?:makedirs|mkdir)\(/;

/** A connector or an offloading tier of vLLM that keeps blocks in files: its folder cannot be made or written, or its disk is full. */
function folderOf({ frames, sentence = '' }: Traceback): Fault | undefined {
  const { path = '', source = '' } = frames.findLast(({ isOfCache }) => isOfCache) ?? {};
  if (!/^vllm\/(?:distributed\/kv_transfer|v1\/(?:simple_)?kv_offload)\//.test(path)) return undefined;
  if (DISK_FULL.test(sentence))
    return { signal: 'offload_failed', value: "vLLM's disk cache has no room on its disk" };
  const isUnusable =
    OF_FOLDER.test(sentence) || (MAKES_FOLDER.test(source) && sentence.startsWith('FileNotFoundError: '));
  const folder = /'(\/[^'\n]{1,160})'/.exec(sentence)?.[1];
  return isUnusable
    ? {
        signal: 'offload_failed',
        value: `vLLM cannot use its folder on disk${folder === undefined ? '' : ` (${folder})`}`,
      }
    : undefined;
}

/** "ValueError: invalid literal for int() with base 10: '1GB'". */
const NO_NUMBER =
  /^ValueError: (?:invalid literal for int\(\) with base 10|could not convert string to float): ('[^'\n]{0,60}')$/;
/** `int(cpu_bytes_to_use)`, `float(self.config.max_local_cpu_size)`, `int(extra_config["num_workers"])`. */
const CONVERTED = /\b(?:int|float)\((?:[\w.]{1,60}\.)?(?:get\(|\w{1,60}\[)?["']?([a-z]\w{3,60})["']?[,)\]]/;

/** A setting that is to be a number and has other words, by its name in the source that converts it. */
function noNumber({ frames, sentence = '' }: Traceback): Fault | undefined {
  const given = NO_NUMBER.exec(sentence)?.[1];
  const { path = '', place = '', source = '' } = frames.at(-1) ?? {};
  const setting = CONVERTED.exec(source)?.[1];
  return given === undefined || setting === undefined
    ? undefined
    : {
        signal: 'settings_refused',
        value: plain(`${setting} must be a number, and is ${given} (${path} in ${place})`),
      };
}

/** What vLLM's KV cache manager asserts of its own blocks while it serves: no setting is refused. */
function isInner({ frames, sentence = '' }: Traceback): boolean {
  const { path = '', place = '' } = frames.at(-1) ?? {};
  return (
    /\/v1\/core\/(?:block_pool|kv_cache_manager|single_type_kv_cache_manager)\.py$/.test(path) &&
    place !== '__init__' &&
    !/--[a-z]|support/.test(sentence)
  );
}

/** A configuration that is checked by assertions, which have the setting in their source and mostly no words. */
function refusedSetting(traceback: Traceback, words: string): Fault | undefined {
  // Python's own words for a value that is not there say nothing of a setting.
  if (/^(?:Type|Attribute|Index|Name|UnboundLocal)Error\b.*'?NoneType/.test(traceback.sentence ?? ''))
    return undefined;
  const frame = placeOf(traceback);
  if (frame === undefined) return undefined;
  const isConfig =
    (VALIDATES.test(frame.place) && !LMCACHE_INNER.test(frame.path)) ||
    /(?:^|\/)config\.py$/.test(frame.path) ||
    (/^(?:Value|Type)Error\b/.test(traceback.sentence ?? '') &&
      LMCACHE_READS.test(`${frame.path} ${frame.place}`));
  if (!isConfig) return undefined;
  const at = `(${frame.path} in ${frame.place})`;
  if (words !== '') return { signal: 'settings_refused', value: plain(`${words} ${at}`) };
  const [, not, setting, value] = ASSERTION.exec(frame.source) ?? [];
  if (setting === undefined) return undefined;
  const isOff = not !== undefined || value === 'False';
  return { signal: 'settings_refused', value: `${setting} must be ${isOff ? 'off' : 'set'} ${at}` };
}

/** Where parts are made, before anything is served. */
const MAKES =
  /^(?:__init__|__post_init__|_{0,2}(?:init|create|validate|parse|make|setup|build|verify|check|load|initialize|register|resolve)_?\w*|from_\w+|get_\w*(?:config|connector|spec|adapter|manager|backend)\w*)$/;
/** What a part says of what it was given. */
const REFUSES =
  /\b(?:only supports?|supports? only|(?:is|are) only (?:supported|valid|implemented)|(?:not|n't) (?:yet |currently )*(?:support(?:ed)?|compatible|implemented|valid|verified|allowed|enabled)|unsupported|incompatible|must|requires?|required|needs? to be|should (?:not )?(?:be|set)|too small for|at least one|cannot (?:both )?be|unknown|invalid|conflicting|duplicate|not set|exclusive|already registered|Only one|Multiple|missing (?:required )?keys?|assumption)\b/i;

/** A part that moves or keeps KV blocks does not take what it is made with. Its own state is no setting. */
function refusedAtStart({ frames, sentence = '' }: Traceback, words: string): Fault | undefined {
  const { path = '', place = '' } = frames.findLast(({ isOfCache }) => isOfCache) ?? {};
  const isMade = MAKES.test(place);
  if (isMade && TO_INSTALL.test(words)) return { signal: 'library_missing', value: plain(words) };
  const isRefusal = /^(?:[\w.]{1,120}\.)?(?:Value|NotImplemented|Assertion|Runtime|MoRIIO)Error: ./.test(
    sentence,
  );
  // What a connector has not implemented is so wherever it comes up. Methods of its own are no setting.
  const isUnsupported =
    /kv_(?:connector|transfer|offload)/.test(path) &&
    /^NotImplementedError: .{0,200}?\b(?:only supports?|(?:not|n't) supported|(?:not|n't) (?:yet )?support)\b(?! [a-z]+_\w{1,60}$)/.test(
      sentence,
    );
  if (!isRefusal || !(isMade || isUnsupported) || !REFUSES.test(words) || IS_STATE.test(words))
    return undefined;
  if (environmentKindOf(words) !== undefined) return undefined;
  return errorKindOf(words) === undefined ? { signal: 'settings_refused', value: plain(words) } : undefined;
}
/** What is not there at all: "RESPClient requires the C++ Redis extension. Build with: pip install -e .". */
const TO_INSTALL =
  /\bpip install \S|\b(?:extension|package|module|library|SDK)\b.{0,60}\b(?:is |are )?(?:not (?:installed|available|built|found)|unavailable)|\b[Pp]lease install \w/;
/** Memory, connections and what other engines sent. */
const IS_STATE =
  /\b(?:memory|connect\w*|time[ds]? ?out|remote|peer|handshake|NoneType|null pointer|allocat\w+|cu(?:da|Mem)\w*|request|prefill|decode|tensors?|shape)\b/i;

/** Two sizes of blocks of which one has to be a multiple of the other; the assertion has them in its source alone. */
function unevenSizes({ frames, sentence = '' }: Traceback): Fault | undefined {
  const frame = frames.at(-1);
  const [, size, unit] = WHOLE_SIZES.exec(frame?.source ?? '') ?? [];
  if (frame === undefined || size === undefined || !/^AssertionError:? *$/.test(sentence)) return undefined;
  return {
    signal: 'settings_refused',
    value: `${size} must be a multiple of ${unit} (${frame.path} in ${frame.place})`,
  };
}

function pagesOf(frames: Traceback['frames']): Fault | undefined {
  const frame = frames.find(
    ({ place, source }) => UNIFIES.test(place) || /\bunify_\w*kv_cache_spec\w*\(/.test(source),
  );
  if (frame === undefined) return undefined;
  const isHybridOff = `${frame.place} ${frame.source}`.includes('unify_hybrid_kv_cache_specs');
  return {
    signal: 'settings_refused',
    value: isHybridOff
      ? "the hybrid KV cache manager is disabled, and the KV caches of the model's layers cannot be one"
      : "the KV caches of the model's layers cannot be brought to one page size",
  };
}

const TAKES_MEMORY = /^(?:__init__|_?init_\w+|_?alloc\w*|\w*pin\w*|\w*register\w*)$/;
/** Where caches take their host memory: of SGLang 0.4.7 to 0.5.23, of LMCache 0.2 to 0.5, and of vLLM 0.11 to 0.33. */
const HOST_CACHES: readonly (readonly [path: RegExp, value: string])[] = [
  [/srt\/mem_cache\/(?:memory_pool_host\.py$|pool_host\/)/, NO_HOST_MEMORY],
  [
    /lmcache\/v1\/(?:memory_management|lazy_memory_allocator)\.py$|lmcache\/v1\/memory_allocators\//,
    NO_LMCACHE_MEMORY,
  ],
  [/^(?:vllm\/v1|vllm_ascend\/.{1,80})\/(?:simple_)?kv_offload\//, NO_OFFLOAD_MEMORY],
];

/** An error of the GPU's runtime as the host memory of a cache is taken and pinned. No kernel failed, and no GPU is full. */
function hostMemoryOf({ frames, sentence = '' }: Traceback): Fault | undefined {
  if (
    !/(?:CUDA|HIP) error|out of memory|(?:cuda|hip)Host|MemoryError|cudaError|DefaultCPUAllocator/.test(
      sentence,
    )
  )
    return undefined;
  // A kernel that fails, and memory of the GPU itself, with what it has.
  if (/illegal|device-side|launch failure|kernel image|Tried to allocate .{0,40} GPU \d/.test(sentence))
    return undefined;
  const taken = HOST_CACHES.find(([path]) =>
    frames.some((frame) => path.test(frame.path) && TAKES_MEMORY.test(frame.place)),
  );
  return taken === undefined ? undefined : { signal: 'cache_memory_missing', value: taken[1] };
}

/** An engine that takes the memory of its cache, and gets less. */
function cacheItselfOf({ frames, sentence = '' }: Traceback): Fault | undefined {
  const isTaken = frames.some(
    ({ path, place }) =>
      /srt\/mem_cache\/memory_pool\w*\.py$/.test(path) && /^_?create_\w*buffers?$/.test(place),
  );
  if (!isTaken || !/out of memory/.test(sentence)) return undefined;
  const numbers = askedAndFree(sentence);
  return {
    signal: 'cache_memory_missing',
    value: numbers === undefined ? ROOM.cacheItself : `${ROOM.cacheItself} (${numbers})`,
  };
}

/** SGLang: a decode engine goes on without the answer of the prefill engine's bootstrap server. */
function unansweredPeer({ frames, sentence = '' }: Traceback): Fault | undefined {
  const isAsked = frames.some(
    ({ path, source, place }) =>
      /srt\/disaggregation\/.*conn\.py$/.test(path) && ASKED_OF_PEER.test(`${source} ${place}`),
  );
  return isAsked && NO_ANSWER.test(sentence)
    ? { signal: 'transfer_unreachable', value: 'no answer of the bootstrap server' }
    : undefined;
}

/** What NIXL's connector keeps of each engine with which it had a handshake. */
const OF_ENGINES = /\bself\.\w+\[(?:remote_|dst_|meta\.\w{0,20})?engine_id\]/;

/** vLLM: a decode engine reads from an engine that it had no handshake with: "KeyError: 'f35e9d1d-f7fb-46cd-925b-d7478aa2b04a_dp1'". */
function unknownPeer({ frames, sentence = '' }: Traceback): Fault | undefined {
  const [, engine, rank] = /^KeyError: '([\w-]{1,80}?)(?:_dp(\d{1,4}))?'$/.exec(sentence) ?? [];
  const frame = frames.at(-1);
  if (engine === undefined || frame === undefined) return undefined;
  const isOfEngines = /_from_engine_id$/.test(frame.place) || OF_ENGINES.test(frame.source);
  if (!isOfEngines || !/kv_connector|nixl/.test(frame.path)) return undefined;
  const of = rank === undefined ? '' : `, data-parallel rank ${rank}`;
  return {
    signal: 'transfer_unreachable',
    value: `${SIGN_VALUES.noHandshake}${engine.slice(0, 8)}…${of}`,
  };
}

/** What a call says of an engine that has other names and arguments; of values such as None it says nothing. */
const OTHER_NAMES =
  /^(?:TypeError: .{0,160}(?:\) (?:got an unexpected keyword argument|missing \d+ required|takes (?:from )?\d+ )|object is not callable)|AttributeError: (?!'(?:NoneType|dict|list|str|tuple|int|float|bool|bytes|set|coroutine|generator)').{1,120} has no attribute '|ImportError: cannot import name '|ModuleNotFoundError: No module named '(?:vllm|sglang|tensorrt_llm)\.)/;

/** A worker of Dynamo calls its engine by names or with arguments that this engine does not have. */
function otherRelease({ frames, sentence = '' }: Traceback): Fault | undefined {
  const folder = /^dynamo\/(\w+)\//.exec(frames.at(-1)?.path ?? '')?.[1] ?? '';
  if (!OTHER_NAMES.test(sentence)) return undefined;
  const says = otherReleaseSays(folder, sentence.slice(sentence.indexOf(': ') + 2));
  return says === undefined ? undefined : { signal: 'library_missing', value: plain(says) };
}
