import type { ProposedFix } from '../diagnosis.js';
import { engineYaml } from './lines.js';

type Way = Pick<ProposedFix, 'says' | 'why' | 'commands'>;

/** What each part of TensorRT-LLM's executor takes its memory by, as its own message advises. */
const PARTS: readonly (readonly [RegExp, string, string])[] = [
  [/temporary|executor resources|created during usage/i, 'a smaller max_num_tokens', 'max_num_tokens: 4096'],
  [
    /KV cache/i,
    'a smaller kv_cache_config.free_gpu_memory_fraction',
    'kv_cache_config: {free_gpu_memory_fraction: 0.8}',
  ],
  [/sampler/i, 'a smaller max_seq_len', 'max_seq_len: 32768'],
  [/drafter/i, 'a smaller max_seq_len or max_draft_len', 'max_seq_len: 32768'],
  [/speculative decoding resources/i, 'a smaller max_seq_len or max_batch_size', 'max_batch_size: 64'],
  [
    /model/i,
    'its weights divided over more GPUs (tensor_parallel_size, pipeline_parallel_size), or a smaller max_num_tokens',
    'tensor_parallel_size: 2',
  ],
];

/** Lets the executor of TensorRT-LLM have what it asks for, by the part that got no memory. */
export function executorRoom(fault: string): Way {
  const component = / for "([^"]{1,60})"/.exec(fault)?.[1] ?? '';
  const found = PARTS.find(([pattern]) => component !== '' && pattern.test(component));
  const [, smaller, line] = found ?? [
    undefined,
    'a smaller kv_cache_config.free_gpu_memory_fraction (kv_cache_free_gpu_mem_fraction in the config.pbtxt of Triton), a smaller max_batch_size and max_num_tokens, or more GPUs',
    'kv_cache_config: {free_gpu_memory_fraction: 0.8}',
  ];
  return {
    says: `Start TensorRT-LLM with ${smaller}; nvidia-smi first: a process of an earlier start may have the memory still`,
    why: 'The parts of the executor are made one after the other, and its message names the first that got no memory. Where a smaller fraction changes nothing, the size comes from max_tokens or from the warm-up: then max_batch_size and max_num_tokens count.',
    commands: [
      'nvidia-smi --query-compute-apps=pid,used_memory --format=csv    # who has it',
      engineYaml(line),
      'kubectl logs WORKER | grep -A25 -m1 "could not be created"    # what each part took before',
    ],
  };
}

/** Lets the cache hold one longest sequence. */
export function tensorrtLength(fault: string): Way {
  const [, needed, has] = /\(needs (\d+) tokens, has (\d+)/.exec(fault) ?? [];
  return {
    says: `Give the cache of TensorRT-LLM ${needed === undefined ? 'as many tokens as one longest sequence has' : `at least ${needed} tokens`} (a larger free_gpu_memory_fraction, or max_tokens, of kv_cache_config; kv_cache_free_gpu_mem_fraction and max_tokens_in_paged_kv_cache in the config.pbtxt of Triton), or start it with ${has === undefined ? 'a smaller max_seq_len' : `max_seq_len ${has} or less`}`,
    why: 'One sequence of max_seq_len, times the width of beams, has to fit into the cache in whole blocks. An engine that is built has its longest length from trtllm-build: then it is built again, or max_seq_len is given as it starts.',
    commands: [
      engineYaml(`max_seq_len: ${has ?? 'LENGTH'}`),
      engineYaml(`kv_cache_config: {free_gpu_memory_fraction: 0.95}`),
    ],
  };
}

/** Leaves the cache more of the GPU than a handful of blocks. */
export function tensorrtRest(): Way {
  return {
    says: 'Leave the cache of TensorRT-LLM more of its GPU: stop other processes and instances on it (nvidia-smi), build or start the engine with a smaller max_batch_size and max_num_tokens, or divide its weights over more GPUs (tensor_parallel_size)',
    why: 'The cache gets free_gpu_memory_fraction of what weights, activations and other processes leave. A larger fraction of next to nothing is next to nothing.',
    commands: [
      'nvidia-smi --query-compute-apps=pid,used_memory --format=csv    # who has it',
      engineYaml('max_batch_size: 16'),
    ],
  };
}
