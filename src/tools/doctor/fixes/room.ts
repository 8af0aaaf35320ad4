import { SIGN_VALUES } from '../../../engines/diagnosis/sign-values.js';
import type { ProposedFix } from '../diagnosis.js';
import { ROOM } from '../logs/general/room-faults.js';
import type { Measurements } from '../measurements/measurements.js';
import { partOfGpu } from './gpu-memory-repair.js';
import { argumentsOf, environmentOf } from './lines.js';
import {
  AFTER_CACHE,
  emptyRank,
  fewerRequests,
  freeableRoom,
  largerWindowPool,
  moreMambaSlots,
  shorterRequests,
  smallerBatches,
  smallerGraphsOfSglang,
  type Way,
  WHO_HAS_IT,
} from './room-sglang.js';
import { executorRoom, tensorrtLength, tensorrtRest } from './room-tensorrt.js';
import { lineOf, onlyEngine } from './tuning.js';

const VERIFY = [
  'kubectl logs WORKER --since=10m | grep -m2 -iE "KV cache size|#tokens|max_total_num_tokens"    # tokens of the cache',
];

/** How an engine gets room, by the beginning of what it lacks. The more exact ones come first. */
const WAYS: readonly (readonly [string, (fault: string, measurements: Measurements) => Way])[] = [
  [ROOM.longestOfTensorrt, tensorrtLength],
  [SIGN_VALUES.littleForTensorrt, tensorrtRest],
  [ROOM.longest, shorterLongest],
  [ROOM.nothing, smallerRest],
  [ROOM.occupiedRank, emptyRank],
  [ROOM.occupied, emptyGpu],
  [ROOM.weights, dividedWeights],
  [ROOM.notLess, laterCheck],
  [ROOM.freed, quietStart],
  [ROOM.ofNode, smallerNodePart],
  [ROOM.warmUp, smallerWarmUp],
  [ROOM.graphs, smallerGraphs],
  [ROOM.graphsOfSglang, smallerGraphsOfSglang],
  [ROOM.cacheItself, smallerCache],
  [ROOM.executor, executorRoom],
  [ROOM.mambaSlots, moreMambaSlots],
  [ROOM.mambaBlocks, fewerMambaStates],
  [ROOM.requests, fewerRequests],
  [ROOM.oneRequest, shorterRequests],
  [ROOM.window, largerWindowPool],
  [ROOM.locked, freeableRoom],
  // With the numbers that SGLang gives.
  [`${ROOM.batch} (`, smallerBatches],
];

/** What vLLM keeps for CUDA graphs is all that the cache lacks. */
const GRAPHS = /as ([\d.]+) GiB are kept for CUDA graphs/;

/** Gives the KV cache room, or asks less of it. */
export function roomForCache(measurements: Measurements, fault: string): ProposedFix {
  const [, wayFor = moreRoom] = GRAPHS.test(fault)
    ? [fault, graphsWithoutEstimate]
    : (WAYS.find(([beginning]) => fault.startsWith(beginning)) ?? []);
  const { says, why, commands = [], isSafe = false } = wayFor(fault, measurements);
  // Without the numbers of a program's own sentence it is not known which program it is.
  const engine = onlyEngine(measurements.seen);
  const isOf = (line: string): boolean =>
    fault.includes('(') ||
    (engine !== undefined &&
      (line.includes(engine.engine.displayName) ||
        (line.startsWith('# YAML of the engine') && engine.tuning.memory.more.where === 'yaml')));
  return {
    says,
    why,
    disturbs: isSafe ? 'nothing' : 'one_worker_at_a_time',
    files: [],
    commands: commands.filter((line) => !line.startsWith('# ') || isOf(line)),
    verify: VERIFY,
  };
}

/** vLLM 0.21 and later: its estimate adds the second graph's memory for each further one, though graphs share one pool. */
function graphsWithoutEstimate(fault: string): Way {
  const [, graphs = ''] = GRAPHS.exec(fault) ?? [];
  return {
    says: `Start vLLM with VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0, which leaves the ${graphs} GiB for graphs to the cache, and with a --gpu-memory-utilization that is 0.02 to 0.05 lower; or with fewer graphs (--max-cudagraph-capture-size 64)`,
    why: 'Since 0.21 vLLM estimates the memory of all CUDA graphs before it sizes the cache, in proportion to their number. Graphs share one pool, so that the estimate can be many times what they take; they then need a little beside the part of the GPU.',
    commands: [
      environmentOf('vLLM', 'VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0'),
      argumentsOf('vLLM', '--max-cudagraph-capture-size 64', 'instead: larger batches run without graphs'),
    ],
  };
}

/** vLLM and what builds on it: the longest that fits is in the sentence, or follows from the two sizes. */
function shorterLongest(fault: string, { settings }: Measurements): Way {
  const [, fits] = /up to (\d+)/.exec(fault) ?? [];
  const [, length = '', needed, has] =
    /\((\d+) tokens need ([\d.]+) GiB, has (-?[\d.]+) GiB/.exec(fault) ?? [];
  const share = Math.floor((Number(length) * Number(has)) / Number(needed) / 16) * 16;
  const most = fits ?? (share > 0 ? String(share) : undefined);
  const value = most ?? 'LENGTH';
  const lacks =
    needed === undefined || has === undefined ? undefined : (Number(needed) - Number(has)).toFixed(2);
  if (fault.includes('on a CPU') && needed !== undefined) {
    // Whole GiB: a sequence of a small model needs less than one, and 0 stands for no number.
    const space = Math.max(1, Math.ceil(Number(needed)));
    return {
      says: `Give the cache more memory of the host: VLLM_CPU_KVCACHE_SPACE=${space} (GiB, of each rank), or start vLLM with --max-model-len ${value} or less`,
      why: 'Without the variable older versions take 4 GiB, and later ones the part of --gpu-memory-utilization of a memory node. The longest sequence has to fit into it once.',
      commands: [
        environmentOf('vLLM', `VLLM_CPU_KVCACHE_SPACE=${space}`, 'the pod needs as much beside the weights'),
        argumentsOf('vLLM', `--max-model-len ${value}`),
      ],
    };
  }
  const [, hybridOffBy] = /, as (.+) turned the hybrid KV cache manager off/.exec(fault) ?? [];
  if (hybridOffBy !== undefined) return hybridOn(hybridOffBy, value);
  const [given] = settings('kv_cache_given');
  if (given !== undefined) return largerGiven(given.value, needed, value);
  return {
    says: `Start the engine with --max-model-len ${value}${most === undefined ? ', as long as prompts and answers really are' : ' or less, which fits'}, or give it what it lacks${lacks === undefined ? '' : ` (${lacks} GiB on each GPU)`}: a larger --gpu-memory-utilization, or --tensor-parallel-size over more GPUs`,
    why: `One sequence of the longest length has to fit into what weights, activations and CUDA graphs leave. A shorter longest sequence costs nothing where none comes near it; a cache of 8 bits needs half.${fits === undefined && most !== undefined ? ' The length is in proportion to the two sizes: with layers that have a window less may fit.' : ''}`,
    commands: [
      argumentsOf('vLLM', `--max-model-len ${value}`),
      argumentsOf(
        'vLLM',
        '--kv-cache-dtype fp8',
        'half of the bytes per token, where model and GPU allow it',
      ),
    ],
  };
}

/** vLLM with a cache of a size that was given, which the part of the GPU says nothing of. */
function largerGiven(given: string, needed: string | undefined, length: string): Way {
  const least = needed === undefined ? `more than its ${given} GiB` : `at least ${needed} GiB`;
  return {
    says: `Start vLLM with a larger --kv-cache-memory-bytes (${least}; it takes 8G as well as bytes), or without it, so that the cache is what --gpu-memory-utilization leaves; or with --max-model-len ${length}${/\d/.test(length) ? ' or less' : ', a little shorter than now where little is missing'}`,
    why: `The size of the cache was given (${given} GiB), and vLLM measured nothing: --gpu-memory-utilization changes nothing beside it. One sequence of the longest length has to fit into it.`,
    commands: [argumentsOf('vLLM', '--kv-cache-memory-bytes BYTES', 'or without it')],
  };
}

/** A hybrid model whose layers with a window or a state get caches as large as those with full attention. */
function hybridOn(turnedOffBy: string, length: string): Way {
  const isEvents = turnedOffBy === SIGN_VALUES.kvEvents;
  const beside = isEvents
    ? 'in a later vLLM, which takes it beside KV events'
    : `and a connector that supports it (a subclass of SupportsHMA, with LMCache LMCacheMPConnector), in a later vLLM where this one has none`;
  return {
    says: `Start the engine with --no-disable-hybrid-kv-cache-manager ${beside}; until then --max-model-len ${length}${/\d/.test(length) ? ' or less' : ''}, or without ${isEvents ? '--kv-events-config' : '--kv-transfer-config'}`,
    why: 'With that manager a layer with a sliding window or a state keeps a small part of a long sequence. Without it each of them gets a cache as large as one with full attention, and the model needs several times the memory.',
    commands: [argumentsOf('vLLM', '--no-disable-hybrid-kv-cache-manager')],
  };
}

function smallerRest(fault: string, measurements: Measurements): Way {
  const part = /--mem-fraction-static is (0?\.\d+)/.exec(fault)?.[1];
  if (fault.includes('mem-fraction-static')) {
    const next = part === undefined ? undefined : nextPart(Number(part));
    return {
      says: `Start SGLang with a larger --mem-fraction-static${part === undefined ? '' : ` (${next === undefined ? `it is ${part} already: take more GPUs` : `${next}; it is ${part}`})`}, or over more GPUs (--tp-size), or with weights of fewer bits`,
      why: 'The part is of the whole GPU, and weights come out of it first: a smaller part makes it worse. What it leaves is for activations and CUDA graphs, which need --chunked-prefill-size and --cuda-graph-max-bs to be smaller as it grows.',
      commands: [argumentsOf('SGLang', `--mem-fraction-static ${next ?? 0.9}`), WHO_HAS_IT],
    };
  }
  if (fault.includes('on a CPU'))
    return {
      says: 'Give the cache of the CPU engine room: VLLM_CPU_KVCACHE_SPACE=40 (GiB, of each rank), or a larger --gpu-memory-utilization, which is the part of the host there',
      why: 'Weights and activations take the part of the memory node first.',
      commands: [environmentOf('vLLM', 'VLLM_CPU_KVCACHE_SPACE=40')],
    };
  const lacks = /\(-([\d.]+) GiB are left\)/.exec(fault)?.[1];
  const engine = onlyEngine(measurements.seen);
  return {
    says: `Give the engine a larger part of the GPU (${engine?.tuning.memory.words ?? '--gpu-memory-utilization'})${lacks === undefined ? '' : `: ${lacks} GiB are missing before the first block`}, fewer tokens in a batch (--max-num-batched-tokens, --max-num-seqs), or divide the weights over more GPUs (--tensor-parallel-size)`,
    why: 'Weights and the activations of the largest batch take all of the part that the engine may have; no block is left. A shorter --max-model-len alone brings nothing here.',
    commands: [
      argumentsOf('vLLM', '--gpu-memory-utilization 0.95 --max-num-seqs 64 --max-num-batched-tokens 4096'),
      WHO_HAS_IT,
    ],
  };
}

/** A step that is worth a start; undefined above what engines live through. */
function nextPart(part: number): number | undefined {
  const next = Math.min(0.95, Math.round((part + 0.05) * 100) / 100);
  return next > part ? next : undefined;
}

/** Cut, so that the part is below what is free. */
function partOf(free: string | undefined, total: string | undefined): string | undefined {
  const part = Math.floor((Number(free) / Number(total)) * 100) / 100;
  return part > 0 && part < 1 ? part.toFixed(2) : undefined;
}

function emptyGpu(fault: string): Way {
  const [, free, total] = /\(([\d.]+) of ([\d.]+) GiB are free/.exec(fault) ?? [];
  const part = partOf(free, total);
  return {
    says: `Move other processes off the GPU (nvidia-smi shows them), or start the engine with ${part === undefined ? 'a smaller part of it: --gpu-memory-utilization below the free part' : `--gpu-memory-utilization ${part} or less, which is what is free now`}`,
    why: 'The part is of the whole GPU. What another engine, or a process that has not ended, holds of it is missing at the start; where memory is shared with the host, what the host uses is missing too.',
    isSafe: true,
    commands: [
      WHO_HAS_IT,
      ...(part === undefined
        ? []
        : [argumentsOf('vLLM', `--gpu-memory-utilization ${part}`, 'weights and cache have to fit into it')]),
    ],
  };
}

function quietStart(): Way {
  return {
    says: 'Start the engine again once no other process on its GPU starts or ends: engines that share a GPU one after the other, and a new one when the old one has left it (nvidia-smi)',
    why: 'vLLM measures what its largest batch takes as the difference of free memory before and after. Where another process gives memory back between the two, the difference is no measure, and the engine ends. With a size that is given (--kv-cache-memory-bytes) it does not measure.',
    commands: [
      WHO_HAS_IT,
      argumentsOf('vLLM', '--kv-cache-memory-bytes BYTES', 'a cache of a given size, from 0.11 on'),
    ],
  };
}

function dividedWeights(): Way {
  return {
    says: 'Divide the weights over more GPUs (a larger --tensor-parallel-size, which each GPU of the engine counts to), or run weights of fewer bits (FP8, AWQ, GPTQ of the same model)',
    why: 'The engine ended while it loaded the model, before a cache was made: settings of the cache and a shorter --max-model-len change nothing there.',
    commands: ['nvidia-smi    # what the GPUs have, and that nothing else is on them'],
  };
}

function laterCheck(): Way {
  return {
    says: 'Run vLLM 0.16 or later, or start this one with a cache of a given size (--kv-cache-memory-bytes BYTES), which skips the check',
    why: 'Versions before it want less memory to be free after the trial run than before it. On some devices (XPU) the driver shows as much, and nothing is wrong.',
    commands: [argumentsOf('vLLM', '--kv-cache-memory-bytes BYTES', 'a cache of a given size, from 0.11 on')],
  };
}

function smallerNodePart(fault: string): Way {
  const [, free, total] = /\(([\d.]+) of ([\d.]+) GiB are free/.exec(fault) ?? [];
  const part = partOf(free, total) ?? '0.5';
  if (fault.includes('--kv-cache-memory-bytes'))
    return {
      says: `Start vLLM with a --kv-cache-memory-bytes or VLLM_CPU_KVCACHE_SPACE (GiB) below the ${free} GiB that its memory node has free, or free memory of the node`,
      why: 'A cache of a given size is taken from one memory node (NUMA), beside the weights; page caches and other processes of the node count against it.',
      commands: [
        'kubectl exec POD -- sh -c "numactl -H; free -g; cat /sys/fs/cgroup/memory.max"    # free memory of each node, limit of the pod',
      ],
    };
  return {
    says: `Start vLLM on CPUs with --gpu-memory-utilization ${part} or less (it is the part of the memory node there), or with a smaller VLLM_CPU_KVCACHE_SPACE, or free memory of the node`,
    why: 'A CPU engine takes its part of one memory node (NUMA) before weights are loaded; page caches and other processes of the node count against it.',
    commands: [
      'kubectl exec POD -- sh -c "numactl -H; free -g; cat /sys/fs/cgroup/memory.max"    # free memory of each node, limit of the pod',
      argumentsOf('vLLM', `--gpu-memory-utilization ${part}`),
    ],
  };
}

function smallerWarmUp(fault: string): Way {
  const count = Number(/\((\d+) at a time/.exec(fault)?.[1]);
  const fewer = count > 1 ? String(Math.floor(count / 2)) : 'FEWER';
  return {
    says: `Start the engine with --max-num-seqs ${fewer}${count > 1 ? ` (now ${count})` : ''}, or with a smaller --gpu-memory-utilization, which leaves the warm-up more`,
    why: 'The cache has its part by then; logits of as many sequences as may run at a time, over the whole vocabulary, come on top of it. Fewer sequences cost throughput only where as many would run.',
    commands: [
      argumentsOf('vLLM', `--max-num-seqs ${fewer}`),
      argumentsOf('vLLM', '--gpu-memory-utilization 0.85', 'the cache gets smaller'),
    ],
  };
}

function smallerGraphs(): Way {
  return {
    says: 'Start vLLM with a smaller --gpu-memory-utilization (0.05 less at a time), or with a smaller --max-num-seqs, which captures fewer graphs; without graphs: --enforce-eager',
    why: AFTER_CACHE,
    commands: [argumentsOf('vLLM', '--gpu-memory-utilization 0.85 --max-num-seqs 128')],
  };
}

function smallerCache(): Way {
  return {
    says: 'Start vLLM with a smaller --gpu-memory-utilization (0.05 less at a time), and without a size of the cache that was given (--kv-cache-memory-bytes, --num-gpu-blocks-override); nvidia-smi (npu-smi info) shows whether another process has the rest',
    why: 'The engine asked for a cache that its GPU does not have: by a size that was given, or because another process took memory after it had measured.',
    commands: [WHO_HAS_IT],
  };
}

function fewerMambaStates(fault: string): Way {
  const fit = /(\d+) fit/.exec(fault)?.[1];
  return {
    says: `Start the engine with --max-num-seqs ${fit ?? 'FEWER'}${fit === undefined ? '' : ' or less'}, or with a larger --gpu-memory-utilization`,
    why: 'Each sequence that runs needs one state of the mamba (linear attention) layers, whatever its length, and the pool has fewer than may run.',
    commands: [argumentsOf('vLLM', `--max-num-seqs ${fit ?? 'FEWER'}`)],
  };
}

/** Of an engine that is not known, or of a batch in it. */
function moreRoom(_fault: string, { seen }: Measurements): Way {
  const engine = onlyEngine(seen);
  return {
    says: `Give the cache a larger part of the GPU (${partOfGpu(engine?.tuning)}), or ask less of it: a shorter longest sequence, more GPUs per worker, fewer sequences`,
    why: 'Length of the longest sequence by bytes per token has to fit into what weights leave. A shorter longest sequence costs nothing where none comes near it; more GPUs for one engine divide weights and cache; a cache of 8 bits needs half.',
    commands:
      engine === undefined
        ? []
        : [lineOf(engine, engine.tuning.memory.more), lineOf(engine, engine.tuning.retention)],
  };
}
