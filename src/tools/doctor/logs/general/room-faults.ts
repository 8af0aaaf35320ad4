import type { RoomFacts } from '../../../../engines/diagnosis/log-findings.js';
import { askedAndFree } from './gpu-memory.js';

/** What is missing where a hierarchical cache does not get its host memory. */
export const NO_HOST_MEMORY = 'its host gives no memory for the hierarchical cache';
/** The same of LMCache. */
export const NO_LMCACHE_MEMORY = 'its host gives no pinned memory for LMCache';
/** The same of vLLM's own offloading. */
export const NO_OFFLOAD_MEMORY = 'its host gives no pinned memory for offloaded KV blocks';
const NO_PINNED_MEMORY = 'its host gives no pinned memory for a cache';

/** What an engine lacks, as the beginning of a value of the sign `cache_memory_missing`. */
export const ROOM = {
  longest: 'the longest sequence needs more than the cache has',
  longestOfTensorrt: 'the longest sequence needs more than the cache of TensorRT-LLM has',
  nothing: 'nothing is left for the cache',
  occupied: 'other processes use the GPU',
  occupiedRank: 'other processes use a GPU of one rank',
  weights: 'the weights alone need more than its GPU has',
  notLess: 'its version takes memory that is as free after measuring as before for an error',
  freed: 'another process freed memory of the GPU while the engine measured it',
  ofNode: 'its memory node has less than a CPU engine asks for',
  warmUp: 'the warm-up of as many sequences as may run does not fit beside the cache',
  graphs: 'CUDA graphs do not fit beside the cache',
  graphsOfSglang: 'CUDA graphs of SGLang do not fit beside the cache',
  cacheItself: 'the cache is larger than what its GPU has free',
  executor: 'TensorRT-LLM gets no GPU memory',
  mambaSlots: 'its mamba cache has no free slot',
  mambaBlocks: 'fewer mamba states fit than sequences may run',
  indices: 'no slot is free for blocks that a cache behind the engine has',
  requests: 'no slot is free for a further request',
  oneRequest: 'one request alone needs more than the cache has',
  batch: 'a batch needs more than the cache has',
  window: 'a batch needs more than the pool of layers with a window has',
  locked: 'room that counts as free could not be freed for a batch',
} as const;

/** Whether memory of the host is missing, and not of a GPU. */
export function isOfHost(fault: string): boolean {
  return [NO_HOST_MEMORY, NO_LMCACHE_MEMORY, NO_OFFLOAD_MEMORY, NO_PINNED_MEMORY].some((one) =>
    fault.startsWith(one),
  );
}

/** A kind of sentence of an engine without room, and what it says with its numbers. */
interface RoomClass {
  readonly pattern: RegExp;
  readonly value: string;
  /** The numbers of the sentence, behind the value. */
  readonly numbers?: (sentence: string) => string | undefined;
}

const CLASSES: readonly RoomClass[] = [
  // SGLang: "Not enough host memory available. Requesting 40.00 GB but only have 44.87 GB free. Please reduce the size of the hierarchical cache."
  {
    value: NO_HOST_MEMORY,
    pattern:
      /Not enough host memory (?:available\. Requesting|for )|cudaHostRegister failed \(rc=|hipHostMalloc of .{1,60}HiCache|Pinned host memory allocation of|size HiCache host memory/,
  },
  {
    value: NO_PINNED_MEMORY,
    pattern:
      /Failed to allocate pinned memory|(?:cuMemHostRegister|cuMemHostAlloc|cudaHostAlloc|cudaMallocHost)\b.{0,80}(?:fail|error|out of memory|invalid)|allocate .{0,20}pinned (?:host )?memory failed/i,
  },
  // vLLM on CPUs: "Available memory on node 0 (10.5/64.0 GiB) on startup is less than desired CPU memory utilization (0.92, 58.9 GiB)".
  {
    value: ROOM.ofNode,
    pattern:
      /Available memory on node \d+ .{0,80}is less than (?:desired CPU memory|requested memory for kv)/,
    numbers: (sentence) =>
      joinedNumbers(freeAndAsked(sentence), /Decrease (--kv-cache-memory-bytes)/.exec(sentence)?.[1]),
  },
  {
    value: ROOM.occupied,
    pattern: /Free memory on device .{0,120}less than desired GPU memory utilization/,
    numbers: (sentence) => freeAndAsked(sentence),
  },
  // SGLang, as an error: "The memory capacity is unbalanced. Some GPUs may be occupied by other processes. min_per_gpu_memory=16.28, local_gpu_memory=46.81".
  {
    value: ROOM.occupiedRank,
    pattern: /^\W*The memory capacity is unbalanced/,
    numbers: (sentence) => {
      const least =
        /(?:min_per_gpu_memory|pre_model_load_memory|min_available_device_memory)=([\d.]+\d)/.exec(
          sentence,
        )?.[1];
      const own = /local_(?:gpu|device)_memory=([\d.]+\d)/.exec(sentence)?.[1];
      return least === undefined || own === undefined
        ? undefined
        : `${least} GB are free there, ${own} GB here`;
    },
  },
  // XPU up to 0.15, where a trial run leaves nothing behind: "Initial free memory 30.3 GiB, current free memory 30.3 GiB."
  {
    value: ROOM.notLess,
    pattern: /Initial free memory ([\d.]+\d(?: GiB)?),\s+current free memory \1[. ]/,
  },
  {
    value: ROOM.freed,
    pattern: /Error in memory profiling\. Initial free memory/,
    numbers: (sentence) => {
      const [, before, after] =
        /Initial free memory ([\d.]+\d(?: GiB)?),\s+current free memory ([\d.]+\d(?: GiB)?)/.exec(sentence) ??
        [];
      return before === undefined ? undefined : `${inGib(before)} GiB were free, then ${inGib(after)} GiB`;
    },
  },
  {
    value: ROOM.longest,
    pattern:
      /(?:larger|greater|bigger|more) than the (?:available KV cache memory|maximum number of tokens that can be stored in (?:the )?KV cache)|To serve at least one request with the models?'s max/i,
    numbers: longestAndRoom,
  },
  // TensorRT-LLM: "maxTokensInPagedKvCache (4096) must be large enough to process at least 1 sequence to completion (i.e. must be larger than beam_width (1) * tokensPerBlock (64) * maxBlocksPerSeq (128))".
  {
    value: ROOM.longestOfTensorrt,
    pattern:
      /must be large enough to process at least 1 sequence|Impossible to fit .{0,40}(?:sequence|kvCache)/i,
    numbers: (sentence) => {
      const [, has, beams, size, blocks] =
        /maxTokensInPagedKvCache \((\d+)\).{0,160}beam_width \((\d+)\) \* tokensPerBlock \((\d+)\) \* maxBlocksPerSeq \((\d+)\)/.exec(
          sentence,
        ) ?? [];
      if (has === undefined) return undefined;
      return `needs ${Number(beams) * Number(size) * Number(blocks)} tokens, has ${has}`;
    },
  },
  // vLLM, models with states beside KV: "max_num_seqs (256) exceeds available Mamba cache blocks (108)."
  {
    value: ROOM.mambaBlocks,
    pattern: /max_num_seqs \(\d+\) exceeds available Mamba cache blocks/,
    numbers: (sentence) => {
      const [, may, fit] =
        /max_num_seqs \((\d+)\) exceeds available Mamba cache blocks \((\d+)\)/.exec(sentence) ?? [];
      return fit === undefined ? undefined : `${may} may run, ${fit} fit`;
    },
  },
  {
    value: ROOM.nothing,
    pattern:
      /No available memory for the cache blocks|leave no (?:GPU )?memory for the KV cache|Not enough memory[.,;] .{0,40}mem-fraction-static|Cannot auto-fit max_model_len|(?:not enough|insufficient|no) (?:GPU |device |free |available )*memory .{0,60}(?:KV|cache)|max_running_requests? is zero|KV ?cache (?:pool )?size .{0,40}(?:is )?too small/i,
    numbers: (sentence) => {
      const rest = /total_rest_memory=(-?[\d.]+\d)/.exec(sentence)?.[1];
      const part = /mem_fraction_static=([\d.]+\d)/.exec(sentence)?.[1];
      if (rest !== undefined) return `${rest} GB are left, of SGLang's --mem-fraction-static`;
      if (part !== undefined) return `--mem-fraction-static is ${part}`;
      return /mem-fraction-static|max_running_request/.test(sentence)
        ? "of SGLang's --mem-fraction-static"
        : undefined;
    },
  },
  // "CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization`".
  {
    value: ROOM.warmUp,
    pattern: /out of memory occurred when warming up/i,
    numbers: (sentence) => {
      const [, part, count] = /warming up (\w+).{0,60}? with (\d+) dummy requests/.exec(sentence) ?? [];
      return count === undefined ? undefined : `${count} at a time, ${part}`;
    },
  },
  // SGLang: "Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.52 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free."
  {
    value: ROOM.graphsOfSglang,
    pattern: /Capture cuda graph failed: .{0,80}out of memory/i,
    numbers: askedAndFree,
  },
  {
    value: ROOM.executor,
    pattern:
      /Executor creation failed .{0,60}insufficient GPU memory|CUDA runtime error in ::cudaMalloc\w*\((?!.*\): (?!out of memory))/,
  },
  // SGLang: "Not enough space for mamba ping pong idx, try to increase --mamba-full-memory-ratio.".
  {
    value: ROOM.mambaSlots,
    pattern: /Can ?not alloc(?:ate)? mamba (?:cache|slots?)|Not enough space for mamba /i,
  },
  {
    value: ROOM.indices,
    pattern: /Failed to allocate (?:\w+ ){0,4}(?:prealloc indices|token indices|kv (?:slots|indices))/i,
  },
  {
    value: ROOM.requests,
    pattern:
      /alloc_req_slots runs out of memory|Out of memory\. Please set a smaller number for `--max-running-requests`/,
    numbers: (sentence) => {
      const left = /available_size\(\)=(\d+)/.exec(sentence)?.[1];
      const asked = /num_reqs=(\d+)/.exec(sentence)?.[1];
      return left === undefined || asked === undefined
        ? undefined
        : `${asked} are asked for, ${left} are free`;
    },
  },
  { value: ROOM.oneRequest, pattern: /No space left for only one request/i },
  {
    value: ROOM.batch,
    pattern: /out of memory\. Try to lower your batch size|No free blocks? left|Can'?t allocate new blocks/i,
  },
];

/** What an engine without room says, as a value of the sign `cache_memory_missing`; undefined for other sentences. */
export function roomFaultOf(sentence: string): string | undefined {
  const found = CLASSES.find(({ pattern }) => pattern.test(sentence));
  if (found === undefined) return undefined;
  const numbers = found.numbers?.(sentence);
  return numbers === undefined ? found.value : `${found.value} (${numbers})`;
}

/** "41.19354248046875 GiB"; older versions write bytes. */
function inGib(size = ''): string {
  const value = Number.parseFloat(size);
  return (size.includes('GiB') ? value : value / 2 ** 30).toFixed(2);
}

/** "(10.52/79.11 GiB) … (0.9, 71.2 GiB)". */
function freeAndAsked(sentence: string): string | undefined {
  const [, free, total, asked] =
    /\(([\d.]+)\/([\d.]+) GiB\).{0,120}?\((?:[\d.]+(?:, |\/))?([\d.]+) GiB\)/.exec(sentence) ?? [];
  return free === undefined ? undefined : `${free} of ${total} GiB are free, ${asked} GiB are asked for`;
}

/** The same with the setting that asked for it. */
function joinedNumbers(numbers: string | undefined, setting: string | undefined): string | undefined {
  return numbers === undefined || setting === undefined ? numbers : `${numbers} by ${setting}`;
}

/** "max seq len (131072), (16.00 GiB KV cache is needed, … memory (7.61 GiB). … estimated maximum model length is 62336". */
function longestAndRoom(sentence: string): string | undefined {
  const length = /max(?:imum)? (?:seq|model) len(?:gth)? \((\d+)\)/.exec(sentence)?.[1];
  if (length === undefined) return undefined;
  const tokens = /stored in (?:the )?KV cache \((\d+)\)/.exec(sentence)?.[1];
  if (tokens !== undefined) return `${length} tokens, has ${tokens}; up to ${tokens} fit`;
  const needed = /([\d.]+) Gi?B KV\s+cache is needed/.exec(sentence)?.[1];
  const has = /available KV cache\s+memory \((-?[\d.]+) Gi?B\)/.exec(sentence)?.[1];
  if (needed === undefined) return `${length} tokens`;
  if (has === undefined) return `${length} tokens need ${needed} GiB`;
  const fits = /estimated\s+maximum model length is (\d+)/.exec(sentence)?.[1];
  return `${length} tokens need ${needed} GiB, has ${has} GiB${fits === undefined ? '' : `; up to ${fits} tokens fit`}`;
}

/** Tokens of the largest page: each sequence that runs takes a page of its own. */
const LARGEST_PAGE = 128;

/** Which of SGLang's pools a batch found full, with the numbers. */
function batchFault(facts: RoomFacts): string {
  const { needed, free, evictable = 0, windowFree, windowEvictable = 0, isDecode = false } = facts;
  if (needed === undefined || free === undefined) return ROOM.batch;
  if (windowFree !== undefined && windowFree + windowEvictable < needed)
    return `${ROOM.window} (needs ${needed} tokens, has ${windowFree + windowEvictable})`;
  const asks = isDecode ? needed * LARGEST_PAGE : needed;
  if (evictable >= asks && free < asks)
    return `${ROOM.locked} (needs ${needed} tokens, ${free} are free, ${evictable} count as evictable)`;
  // Each sequence asks for one token, and takes a page for it where its last one is full.
  if (isDecode && free + evictable >= needed)
    return `${ROOM.batch} (up to ${needed} pages for ${needed} tokens, has ${free + evictable} tokens)`;
  return `${ROOM.batch} (needs ${needed} tokens, has ${free + evictable})`;
}

/** GiB from which on an estimate for graphs is worth a look. */
const MUCH_FOR_GRAPHS_GIB = 2;

/** Whether what vLLM keeps for CUDA graphs is all that the cache lacks. */
function isTakenByGraphs(fault: string, graphsGib: string, missingGib: string | undefined): boolean {
  if (Number(graphsGib) < MUCH_FOR_GRAPHS_GIB) return false;
  if (fault === ROOM.nothing) return -Number(missingGib ?? 0) < Number(graphsGib);
  const [, needed, has] = /tokens need ([\d.]+) GiB, has (-?[\d.]+) GiB/.exec(fault) ?? [];
  return needed !== undefined && Number(needed) - Number(has) < Number(graphsGib);
}

/** A fault with what other lines of the same message, and those before it, say. */
export function roomValue(fault: string, facts: RoomFacts): string {
  const { component, freeGib, totalGib, missingGib, graphsGib, isOnCpu = false, hybridOffBy } = facts;
  if (fault === ROOM.batch) return batchFault(facts);
  if (facts.fittingTokens !== undefined && fault.startsWith(`${ROOM.longest} `) && !fault.includes('fit'))
    return roomValue(fault.replace(/\)$/, `; up to ${facts.fittingTokens} tokens fit)`), facts);
  if (fault === ROOM.executor) {
    const free =
      freeGib === undefined || totalGib === undefined ? '' : ` (${freeGib} of ${totalGib} GiB are free)`;
    return `${fault}${component === undefined ? '' : ` for "${component}"`}${free}`;
  }
  const byGraphs = graphsGib !== undefined && isTakenByGraphs(fault, graphsGib, missingGib);
  const graphs = byGraphs ? `, as ${graphsGib} GiB are kept for CUDA graphs` : '';
  if (fault === ROOM.nothing && missingGib !== undefined)
    return `${fault} (${missingGib} GiB are left)${graphs}`;
  if (byGraphs) return `${fault}${graphs}`;
  if (hybridOffBy !== undefined && fault.startsWith(`${ROOM.longest} `) && !isOnCpu)
    return `${fault}, as ${hybridOffBy} turned the hybrid KV cache manager off`;
  return isOnCpu ? `${fault}, on a CPU` : fault;
}
