import type { KnownFault } from '../known-fault.js';

/** Memory of vLLM's engines after their start: sleep mode (`device_allocator/cumem.py`), preemptions (`core/scheduler.py` of V0). */
export const VLLM_MEMORY: readonly KnownFault[] = [
  {
    id: 'sleep_mode_out_of_memory',
    cause: 'cache_memory_missing',
    needles: ['cumem_allocator.cpp:'],
    pattern: /(?:out of memory|OOM|error code 2\b).{0,60}cumem_allocator\.cpp:/,
    says: 'The GPU has less free memory than vLLM with sleep mode has to map again (wake_up) or takes at its start',
    why: 'Asleep, an engine gives its weights and its KV cache back, and wake_up maps both again at their full size. What a trainer or another engine on the same GPU holds by then, PyTorch caches included, is missing.',
    cure: 'Before wake_up have the other process on the GPU give memory back (offload the trainer, then torch.cuda.empty_cache()) and wake in two steps (wake_up(tags=["weights"]), then tags=["kv_cache"]); where it is still too much, start vLLM with a lower --gpu-memory-utilization',
    commands: ['nvidia-smi --query-compute-apps=pid,used_memory --format=csv    # who has it before wake_up'],
  },
  {
    id: 'preempted_again_and_again',
    cause: 'cache_memory_missing',
    needles: ['total_num_cumulative_preemption='],
    pattern: /total_num_cumulative_preemption=(\d{2,9})/,
    says: 'The KV cache is too small for the sequences that run: requests were preempted $1 times and more',
    why: 'When blocks run out, the engine drops those of a running request and computes them again later. The line comes with every fiftieth time.',
    cure: 'Start the engine with a lower --max-num-seqs (half of what runs now), or give it more KV cache: --gpu-memory-utilization 0.95, --kv-cache-dtype fp8, or a larger --tensor-parallel-size',
    commands: [
      'curl -s http://ENGINE:PORT/metrics | grep -E "num_preemptions|cache_usage_perc"    # preemptions stand still afterwards',
    ],
  },
  {
    id: 'cache_below_one_sequence',
    cause: 'cache_memory_missing',
    needles: ['tokens per request: 0.'],
    pattern: /Maximum concurrency for ([\d,]{1,20}) tokens per request: (0\.\d{1,4})x/,
    // vLLM checks the size that it measures itself; 0.8 then counts layers with a window as if they kept all tokens.
    below: ['with num_gpu_blocks_override=', 'as specified by kv_cache_memory_bytes'],
    isSign: true,
    // Tests of caches behind it make it as small.
    mayBeMeant: true,
    says: 'The KV cache holds $2 of one sequence of $1 tokens: longer requests are never scheduled',
    why: 'Such a request waits for ever, and those behind it with it. --num-gpu-blocks-override and --kv-cache-memory-bytes set the size of the cache without that check.',
    cure: 'Start the engine without --num-gpu-blocks-override and --kv-cache-memory-bytes, or with a --max-model-len that the line "KV cache size" has room for',
  },
  {
    id: 'prompt_beyond_batch',
    cause: 'settings_refused',
    needles: ['is too long and exceeds limit of '],
    pattern: /Input prompt \((\d{1,9}) tokens\) is too long and exceeds limit of (512|2048|2560)\b/,
    says: 'Prompts of more than $2 tokens get empty answers: --max-num-batched-tokens is $2, and one of $1 tokens came',
    why: 'Without chunked prefill a whole prompt is one step. For a longest sequence above 32768 vLLM (V0) sets the step to $2 tokens, also where the model or --enable-chunked-prefill=False does without chunks.',
    cure: 'Start the engine with --max-num-batched-tokens as large as --max-model-len (32768 and 32768), or with --enable-chunked-prefill where the model has it',
  },
  {
    id: 'prompt_beyond_cache',
    cause: 'cache_memory_missing',
    needles: ['is too long and exceeds the capacity of block_manager'],
    pattern: /Input prompt \((\d{1,9}) tokens\) is too long/,
    says: 'The KV cache is smaller than a prompt of $1 tokens, which gets an empty answer',
    why: 'Weights and activations leave the cache fewer blocks (16 tokens each) than the prompt needs; the line "# GPU blocks" of the start has their number.',
    cure: 'Give the engine more KV cache: a larger --tensor-parallel-size, weights of fewer bits, --kv-cache-dtype fp8, --enforce-eager; and set --max-model-len to 16 times "# GPU blocks", so that it refuses longer prompts itself',
    commands: ['kubectl logs WORKER | grep -m1 -E "# (GPU|cuda) blocks"    # times 16: tokens of the cache'],
  },
  // 0.25 on: `v1/worker/gpu_worker.py`.
  {
    id: 'video_decoding_fills_cache',
    cause: 'cache_memory_missing',
    needles: ['frontend multimodal GPU decoding reserves '],
    pattern: /decoding reserves ([\d.]{1,12}) GiB .{0,120}but only (-?[\d.]{1,12}) GiB is/,
    says: 'Decoding of videos on the GPU takes $1 GiB, and $2 GiB are there for the KV cache',
    why: 'Frames of requests share the memory that is left for the cache.',
    cure: 'Start vLLM with a smaller --mm-ipc-gpu-memory-gb, with a video backend that decodes on the CPU, or with a larger --gpu-memory-utilization',
  },
];
