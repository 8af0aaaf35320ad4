import { describe, expect, it } from 'vitest';
import { roomFaultOf } from '../../../../../src/tools/doctor/logs/general/room-faults.js';
import { summaryOf } from '../summaries.js';

describe('what an engine without room says', () => {
  it.each([
    [
      "To serve at least one request with the model's max seq len (131072), (24.00 GiB KV cache is needed, which is larger than the available KV cache memory (10.91 GiB). Based on the available memory, the estimated maximum model length is 59584. Try increasing",
      'the longest sequence needs more than the cache has (131072 tokens need 24.00 GiB, has 10.91 GiB; up to 59584 tokens fit)',
    ],
    [
      "To serve at least one request with the models's max seq len (32768), (4.00 GB KV cache is needed, which is larger than the available KV cache memory (2.89 GB). Try increasing",
      'the longest sequence needs more than the cache has (32768 tokens need 4.00 GiB, has 2.89 GiB)',
    ],
    [
      "The model's max seq len (8192) is larger than the maximum number of tokens that can be stored in KV cache (2400). Try increasing",
      'the longest sequence needs more than the cache has (8192 tokens, has 2400; up to 2400 fit)',
    ],
    [
      'Free memory on device cuda:0 (106.88/121.69 GiB) on startup is less than desired GPU memory utilization (0.89, 108.3 GiB).',
      'other processes use the GPU (106.88 of 121.69 GiB are free, 108.3 GiB are asked for)',
    ],
    [
      'Error in memory profiling. Initial free memory 85470478336, current free memory 85570478336. This happens when the GPU memory was not properly cleaned up',
      'another process freed memory of the GPU while the engine measured it (79.60 GiB were free, then 79.69 GiB)',
    ],
    [
      'Assertion failed: maxTokensInPagedKvCache (4096) must be large enough to process at least 1 sequence to completion (i.e. must be larger than beam_width (1) * tokensPerBlock (64) * maxBlocksPerSeq (128))',
      'the longest sequence needs more than the cache of TensorRT-LLM has (needs 8192 tokens, has 4096)',
    ],
    [
      'Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.8',
      'nothing is left for the cache (--mem-fraction-static is 0.8)',
    ],
    [
      "HPU out of memory occurred when warming up pooler (task='classify') with 64 dummy requests.",
      'the warm-up of as many sequences as may run does not fit beside the cache (64 at a time, pooler)',
    ],
    [
      'alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`. self.req_to_token_pool.available_size()=3, num_reqs=5, ',
      'no slot is free for a further request (5 are asked for, 3 are free)',
    ],
    [
      'CUDA runtime error in ::cudaMallocAsync(ptr, n, mCudaStream->get()): out of memory (/app/tllmBuffers.h:112)',
      'TensorRT-LLM gets no GPU memory',
    ],
  ])('has its numbers: %j', (sentence, value) => {
    expect(roomFaultOf(sentence)).toBe(value);
  });

  it.each([
    'Executor creation failed with NCCL error: Failed, NCCL error in: ncclCommInitRank',
    'CUDA runtime error in ::cudaMallocAsync(ptr, n, mCudaStream->get()): an illegal memory access was encountered',
    'Capture cuda graph failed: CUDA error: invalid argument',
    'cannot reshape tensor of 0 elements into shape [-1, 64, 1, 0]',
    'Rank 0: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.',
  ])('is not %j', (sentence) => {
    expect(roomFaultOf(sentence)).toBeUndefined();
  });
});

async function valuesOf(lines: readonly string[]): Promise<readonly (readonly [string, number])[]> {
  const { signals } = await summaryOf(lines.map((line) => `${line}\n`).join(''));
  return [...(signals.get('cache_memory_missing')?.values ?? [])];
}

const BATCH = '[2026-03-03 10:00:31 TP0] Prefill out of memory. Try to lower your batch size.';

describe('a lack of room over several lines', () => {
  it('is a full cache where what is free and evictable is less than a batch needs', async () => {
    const lines = [
      BATCH,
      'Try to allocate 4096 tokens.',
      'Available tokens: 300 (available_size=200 + evictable_size=100)',
    ];
    expect(await valuesOf(lines)).toEqual([
      ['a batch needs more than the cache has (needs 4096 tokens, has 300)', 1],
    ]);
  });

  it('is a fault of the version where enough counts as evictable', async () => {
    const lines = [
      BATCH,
      'Try to allocate 4096 tokens.',
      'Available full tokens: 320512 (full_available_size=192 + full_evictable_size_=320320)',
      'Available swa: 330496 (available_size=4864 + component_evictable_size_=325632)',
    ];
    expect(await valuesOf(lines)).toEqual([
      [
        'room that counts as free could not be freed for a batch (needs 4096 tokens, 192 are free, 320320 count as evictable)',
        1,
      ],
    ]);
  });

  it('is a full cache where each of the sequences that decode may need a page', async () => {
    const lines = [
      BATCH.replace('Prefill', 'Decode'),
      'Try to allocate 6 tokens.',
      'Available tokens: 64 (available_size=0 + evictable_size=64)',
    ];
    expect((await valuesOf(lines))[0]?.[0]).toBe(
      'a batch needs more than the cache has (up to 6 pages for 6 tokens, has 64 tokens)',
    );
  });

  it('is counted once for what the log and the exception repeat, and has its first numbers', async () => {
    const numbers = (has: number) => [
      'Try to allocate 4096 tokens.',
      `Available tokens: ${has} (available_size=${has} + evictable_size=0)`,
    ];
    const lines = [
      BATCH,
      ...numbers(7),
      'RuntimeError: Prefill out of memory. Try to lower your batch size.',
      ...numbers(9),
    ];
    expect(await valuesOf(lines)).toEqual([
      ['a batch needs more than the cache has (needs 4096 tokens, has 7)', 2],
    ]);
  });

  it('has the part of TensorRT-LLM that got no memory, in one record too', async () => {
    const text =
      'Executor creation failed due to insufficient GPU memory.\\n\\nThe following component could not be created: Sampler\\nTotal GPU memory (GiB): 95.00\\nFree GPU memory before component creation attempt (GiB): 16.95';
    expect(await valuesOf([`{"level":"ERROR","message":"${text}"}`])).toEqual([
      ['TensorRT-LLM gets no GPU memory for "Sampler" (16.95 of 95.00 GiB are free)', 1],
    ]);
  });

  it('is none where numbers come alone, and where graphs are captured', async () => {
    const lines = [
      'Available tokens: 300 (available_size=200 + evictable_size=100)',
      'Total GPU memory (GiB): 95.00',
      '  File "/opt/vllm/v1/worker/gpu_model_runner.py", line 3107, in capture_model',
      'INFO Graph capturing finished in 21 secs, took 0.61 GiB',
    ];
    expect(await valuesOf(lines)).toEqual([]);
  });
});
