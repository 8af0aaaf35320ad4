import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const LOGS: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'vLLM whose connector turned the hybrid manager off',
    'up to 39872 tokens fit), as the KV connector LMCacheConnectorV1 turned',
    '--no-disable-hybrid-kv-cache-manager',
    [
      'WARNING 05-06 10:00:00 [vllm.py:1471] Turning off hybrid kv cache manager because connector LMCacheConnectorV1 does not subclass `SupportsHMA`.',
      "ERROR 05-06 10:00:02 [core.py:1029] ValueError: To serve at least one request with the models's max seq len (128000), (38.87 GiB KV cache is needed, which is larger than the available KV cache memory (12.11 GiB). Based on the available memory, the estimated maximum model length is 39872.",
    ],
  ],
  [
    'vLLM that keeps more for CUDA graphs than the cache lacks',
    'as 118.65 GiB are kept for CUDA graphs',
    'VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0',
    [
      '(Worker_TP1 pid=35) INFO 08-19 05:56:57 [gpu_model_runner.py:6936] Estimated CUDA graph memory: 118.65 GiB total',
      '(Worker_TP1 pid=35) INFO 08-19 05:56:57 [gpu_worker.py:563] Available KV cache memory: -12.87 GiB',
      '(EngineCore pid=34) ERROR 08-19 05:56:57 [core.py:1346] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.',
    ],
  ],
  [
    'vLLM with a cache of a given size',
    '(100000 tokens need 4.26 GiB, has 4.25 GiB',
    'a larger --kv-cache-memory-bytes (at least 4.26 GiB',
    [
      '(EngineCore pid=316) INFO 08-21 18:37:44 [gpu_worker.py:492] Initial free memory 31.16 GiB, reserved 4.25 GiB memory for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling. This does not respect the gpu_memory_utilization config.',
      "(EngineCore pid=316) ERROR 08-21 18:37:44 [core.py:1344] ValueError: To serve at least one request with the model's max seq len (100000), (4.26 GiB KV cache is needed, which is larger than the available KV cache memory (4.25 GiB).",
    ],
  ],
  [
    'vLLM whose graphs are small beside what the cache lacks',
    'up to 39872 tokens fit)',
    '--max-model-len 39872',
    [
      '(Worker_TP0 pid=44) INFO 08-14 14:07:20 [gpu_model_runner.py:6806] Estimated CUDA graph memory: 2.36 GiB total',
      "ERROR 08-14 14:07:22 [core.py:1029] ValueError: To serve at least one request with the models's max seq len (128000), (38.87 GiB KV cache is needed, which is larger than the available KV cache memory (12.11 GiB). Based on the available memory, the estimated maximum model length is 39872.",
    ],
  ],
  [
    'vLLM whose KV events turned the hybrid manager off',
    'as KV events turned the hybrid KV cache manager off',
    'without --kv-events-config',
    [
      'WARNING 05-06 10:00:00 [config.py:1297] Turning off hybrid kv cache manager because `--kv-events-config` is set.',
      "ERROR 05-06 10:00:02 [core.py:1029] ValueError: To serve at least one request with the models's max seq len (128000), (38.87 GiB KV cache is needed, which is larger than the available KV cache memory (12.11 GiB). Based on the available memory, the estimated maximum model length is 39872.",
    ],
  ],
  [
    'SGLang with a full pool of layers with a window',
    'the pool of layers with a window',
    '--swa-full-tokens-ratio',
    [
      '[2026-03-03 10:00:31 TP0] Out of memory. Try to lower your batch size.',
      'Try to allocate 2318 tokens.',
      'Available full tokens: 7949 (full_available_size=4137 + full_evictable_size_=3812)',
      'Available swa: 2270 (available_size=2270 + component_evictable_size_=0)',
    ],
  ],
  [
    'TensorRT-LLM that has a handful of blocks',
    'next to nothing of its GPU is left for the cache of TensorRT-LLM (0.11 of 22.19 GiB)',
    'smaller max_batch_size and max_num_tokens',
    [
      '[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 22.19 GiB, available: 0.11 GiB',
      '[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 18',
    ],
  ],
  [
    'SGLang that captures graphs',
    '1.52 GiB are asked for, 1.02 GiB are free',
    'smaller --mem-fraction-static',
    [
      '[2026-03-03 10:00:31 TP0] Scheduler hit an exception: Traceback (most recent call last):',
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.52 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free.',
      'Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.52 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free.',
      'Possible solutions:',
      '1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)',
    ],
  ],
  [
    'SGLang beside another process',
    '16.28 GB are free there',
    'GPUs of all ranks',
    [
      '[2026-03-03 10:00:31 TP0] Scheduler hit an exception: Traceback (most recent call last):',
      'RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. min_per_gpu_memory=16.28, local_gpu_memory=46.81, local_gpu_memory * 0.9=42.13',
    ],
  ],
  [
    'vLLM that captures graphs',
    '594.00 MiB are asked for',
    'smaller --gpu-memory-utilization',
    [
      '(EngineCore_0 pid=7) ERROR 08-12 10:12:31 [core.py:708] EngineCore failed to start.',
      '(EngineCore_0 pid=7) ERROR 08-12 10:12:31 [core.py:708] Traceback (most recent call last):',
      '(EngineCore_0 pid=7) ERROR 08-12 10:12:31 [core.py:708]   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_worker.py", line 402, in compile_or_warm_up_model',
      '(EngineCore_0 pid=7) ERROR 08-12 10:12:31 [core.py:708]     self.model_runner.capture_model()',
      '(EngineCore_0 pid=7) ERROR 08-12 10:12:31 [core.py:708]   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py", line 3107, in capture_model',
      '(EngineCore_0 pid=7) ERROR 08-12 10:12:31 [core.py:708]     self._capture_cudagraphs(',
      '(EngineCore_0 pid=7) ERROR 08-12 10:12:31 [core.py:708] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 361.00 MiB is free.',
    ],
  ],
  [
    'vLLM beside a process that ends',
    '41.19 GiB were free, then 41.64 GiB',
    'one after the other',
    [
      '(EngineCore_0 pid=7) ERROR 08-12 10:12:31 [core.py:708] AssertionError: Error in memory profiling. Initial free memory 41.19354248046875 GiB, current free memory 41.640380859375 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization. To fix this, ensure consistent GPU memory allocation or isolate vLLM in its own container.',
    ],
  ],
  [
    'vLLM without a block',
    '-1.23 GiB are left',
    '1.23 GiB are missing',
    [
      'INFO 03-03 10:01:10 [gpu_worker.py:298] Available KV cache memory: -1.23 GiB',
      'ERROR 03-03 10:01:10 [core.py:842] EngineCore failed to start.',
      'ERROR 03-03 10:01:10 [core.py:842] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.',
    ],
  ],
  [
    'vLLM on a CPU',
    '131072 tokens need 16.00 GiB, has 4.00 GiB',
    'VLLM_CPU_KVCACHE_SPACE=16',
    [
      "INFO 03-03 10:00:00 [core.py:93] Initializing a V1 LLM engine (v0.13.0) with config: model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, device_config=cpu",
      "ERROR 03-03 10:01:10 [core.py:842] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (4.00 GiB). Based on the available memory, the estimated maximum model length is 32768. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
    ],
  ],
  [
    'vLLM on a memory node that is in use',
    '10.5 of 64.0 GiB are free',
    '--gpu-memory-utilization 0.16',
    [
      'ERROR 03-03 10:01:10 [core.py:842] ValueError: Available memory on node 0 (10.5/64.0 GiB) on startup is less than desired CPU memory utilization (0.92, 58.9 GiB). On the CPU backend, the `--gpu-memory-utilization` flag controls the fraction of CPU memory reserved (despite its name).',
    ],
  ],
];

describe('an engine without room', () => {
  it.each(LOGS)('%s: its numbers and its flag', async (_name, numbers, cure, lines) => {
    const log = await summaryOf(lines.map((line) => `${line}\n`).join(''));
    const [first] = diagnose(joined({ logs: [log] })).assessments;
    expect(first?.cause).toBe('cache_memory_missing');
    expect(first?.headline).toContain(numbers);
    expect(first?.fixes[0]?.says).toContain(cure);
  });
});
