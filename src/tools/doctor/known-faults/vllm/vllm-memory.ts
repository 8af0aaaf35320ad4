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
];
