import { describe, expect, it } from 'vitest';
import { recordedLog, settingsOf, signalsOf, sizesOf, summaryOf } from '../summaries.js';

const read = (...lines: string[]) => summaryOf(lines.join('\n'));

describe('the log of vLLM', () => {
  it('has its arguments, its capacity and how its cache did: recorded', async () => {
    const summary = await summaryOf(await recordedLog('vllm-0.32.0.prefix-caching-32.txt'));
    expect(sizesOf(summary)).toEqual(['worker 32 configured']);
    expect(settingsOf(summary)).toEqual(
      expect.arrayContaining([
        'prefix_caching=true',
        'max_model_len=2048',
        'kv_cache_bytes=268435456',
        'publishes_kv_events=true',
        'backend=vllm',
        'engine_version=0.32.0',
        'tensor_parallel_size=1',
        'kv_cache_dtype=auto',
        'kv_cache_tokens=524288',
      ]),
    );
    expect(signalsOf(summary)).toEqual({ started: 1 });
    expect(summary.engine?.prefixHitRate).toMatchObject({ count: 21, last: 0.853 });
    expect(summary.engine?.kvCacheUsage).toMatchObject({ count: 21, max: 0 });
    expect(summary.programs.get('vllm')).toBeGreaterThan(40);
    expect(summary.notes).toEqual([
      'Times of it have no zone and were taken as UTC.',
      'Times of it have no year; the last one that fits was taken.',
    ]);
  });

  it('takes KV events for off where none of its arguments names them, and only of a whole line', async () => {
    const args = "(APIServer pid=1) INFO 11-21 17:32:16 [api_utils.py:286] non-default args: {'model': 'm'";
    const { settings } = await read(`${args}, 'block_size': 32}`);
    expect(settings).toContainEqual(
      expect.objectContaining({ name: 'publishes_kv_events', value: 'false', isDefault: true }),
    );
    expect(settingsOf(await read(`${args}, 'block_`))).toEqual(['model=m']);
    const off = ", 'kv_events_config': KVEventsConfig(enable_kv_cache_events=False, publisher='null')}";
    expect(settingsOf(await read(args + off))).toContain('publishes_kv_events=false');
  });

  it('has statistics of all versions, and preemptions as they are counted', async () => {
    const { engine, signals } = await read(
      'INFO 11-21 01:02:03 [loggers.py:111] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: 3 reqs, Waiting: 40 reqs, Preemptions: 2, GPU KV cache usage: 98.1%, Prefix cache hit rate: 0.0%, External prefix cache hit rate: 50.0%',
      'INFO 01-02 01:02:03 metrics.py:455] Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 50.0%, CPU KV cache usage: 0.0%.',
      'WARNING 01-02 01:02:04 scheduler.py:1057] Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.',
    );
    expect(engine).toMatchObject({
      kvCacheUsage: { count: 2, max: 0.981, last: 0.5 },
      prefixHitRate: { count: 1, max: 0 },
      runningRequests: { max: 3 },
      waitingRequests: { max: 40 },
    });
    expect(signals.get('preemption')?.count).toBe(3);
  });

  it('reports block sizes that the engine changed', async () => {
    const summary = await read(
      'INFO x: Setting attention block size to 528 tokens to ensure that attention page size is >= mamba page size.',
      'INFO x: Setting kv cache block size to 64 for FLASHMLA backend(s).',
      'WARNING x: CPU MLA backend requires block_size=16, overriding user-specified block_size=64.',
    );
    expect(summary.signals.get('block_size_changed_by_engine')).toMatchObject({
      count: 3,
      values: new Map([
        ['528', 1],
        ['64', 1],
        ['64 -> 16', 1],
      ]),
    });
    expect(sizesOf(summary)).toEqual([
      'worker 528 in_use',
      'worker 64 in_use',
      'worker 16 in_use',
      'worker 64 configured',
    ]);
  });

  it('reports block sizes that vllm-ascend changed', async () => {
    const summary = await read(
      'INFO 11-21 01:02:03 [utils.py:1197] Block size is set to 128 if prefix cache or chunked prefill is enabled.',
      'WARNING 11-21 01:02:03 [utils.py:1183] For deepseek_v4 model, block size should be 32, 64 or 128. Setting block size to 32 for better performance.',
      'WARNING 11-21 01:02:03 [utils.py:1206] Setting block size for xlite compatibility. original_block_size=256, new_block_size=64. xlite_graph_config requires block_size <= 128.',
    );
    expect(summary.signals.get('block_size_changed_by_engine')?.count).toBe(3);
    expect(sizesOf(summary)).toEqual(['worker 128 in_use', 'worker 32 in_use', 'worker 64 in_use']);
  });

  it('has what it loaded and what is left for its cache, of all versions', async () => {
    const of = async (text: string) => settingsOf(await read(text));
    const gib = (size: number) => Math.round(size * 2 ** 30);
    expect(
      await of(
        'INFO 07-09 21:28:26 [gpu_model_runner.py:5255] Model loading took 14.37 GiB memory and 13.38 seconds',
      ),
    ).toEqual([`weight_bytes=${gib(14.37)}`]);
    expect(
      await of('INFO 02-01 10:00:00 model_runner.py:1110] Loading model weights took 14.9888 GB'),
    ).toEqual([`weight_bytes=${gib(14.9888)}`]);
    expect(await of('INFO 07-09 21:29:51 [gpu_worker.py:508] Available KV cache memory: 11.92 GiB')).toEqual([
      `kv_cache_bytes=${gib(11.92)}`,
    ]);
    const old =
      'model weights take 7.51GiB; PyTorch activation peak memory takes 2.53GiB; the rest of the memory reserved for KV Cache is 3.76GiB.';
    expect(await of(`INFO 12-20 20:25:46 worker.py:241] ${old}`)).toEqual([
      `kv_cache_bytes=${gib(3.76)}`,
      `weight_bytes=${gib(7.51)}`,
    ]);
    // Nothing is left, and another program's line has no size.
    expect(await of('INFO 07-09 21:29:51 [gpu_worker.py:508] Available KV cache memory: -1.20 GiB')).toEqual(
      [],
    );
    expect(await of('INFO Model loading took 13.381314 seconds')).toEqual([]);
    expect(
      await of("INFO 10-01 10:00:00 [attention.py:90] Using DeepSeek's fp8_ds_mla KV cache format. To use"),
    ).toEqual(['kv_cache_format=fp8_ds_mla']);
  });

  it('reads the blocks of older versions, and resets of the cache', async () => {
    const summary = await read(
      'INFO 01-02 01:02:03 x] # GPU blocks: 27000, # CPU blocks: 2048',
      'INFO 01-02 01:02:03 x] Successfully reset prefix cache',
    );
    expect(settingsOf(summary)).toEqual(['total_kv_blocks=27000']);
    expect(signalsOf(summary)).toEqual({ cache_reset: 1 });
  });
});

describe('the log of SGLang', () => {
  it('has its arguments, its capacity and what prompts found: recorded', async () => {
    const summary = await summaryOf(await recordedLog('sglang-0.5.23.cpu.txt'));
    expect(sizesOf(summary)).toEqual(['worker 32 configured']);
    expect(settingsOf(summary)).toEqual(
      expect.arrayContaining([
        'backend=sglang',
        'model=tiny',
        'tensor_parallel_size=1',
        'gpu_memory_utilization=0.716',
        'prefix_caching=true',
        'publishes_kv_events=true',
        'kv_cache_tokens=65536',
        'max_num_seqs=4096',
        'max_model_len=8192',
      ]),
    );
    expect(summary.engine?.promptTokens).toBeGreaterThan(80);
    expect(summary.programs.get('sglang')).toBeGreaterThan(10);
    expect(summary.notes).toEqual(['Times of it have no zone and were taken as UTC.']);
  });

  it('adds up what was cached, and what was retracted', async () => {
    const summary = await read(
      '[2026-11-21 14:57:46 TP0] Prefill batch, #new-seq: 1, #new-token: 12, #cached-token: 4032, token usage: 0.25, #running-req: 2, #queue-req: 9',
      '[2026-11-21 14:57:47 TP0] Decode batch, #running-req: 3, #token: 21, token usage: 0.75, gen throughput (token/s): 5.0, #queue-req: 1',
      '[2026-11-21 14:57:47] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 10',
      '[2026-11-21 14:57:48] Testing retraction. #retracted_reqs: 2, #new_tokens_gained: 10',
      '[2026-11-21 14:57:49] Cache flushed successfully!',
      '[2026-11-21 14:57:49] Setting page size to 64 for DeepSeek DSA.',
    );
    expect(summary.engine).toMatchObject({
      promptTokens: 4_044,
      cachedTokens: 4_032,
      kvCacheUsage: { count: 2, max: 0.75 },
      waitingRequests: { max: 9 },
    });
    expect(signalsOf(summary)).toEqual({ preemption: 2, cache_reset: 1, block_size_changed_by_engine: 1 });
    expect(sizesOf(summary)).toEqual(['worker 64 in_use']);
  });

  it('has what it loaded, and the dtype that its cache has', async () => {
    const of = async (text: string) => settingsOf(await read(`[2026-10-02 10:00:00 TP0] ${text}`));
    expect(
      await of(
        'Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=62.98 GB, mem usage=14.98 GB.',
      ),
    ).toEqual([`weight_bytes=${Math.round(14.98 * 2 ** 30)}`]);
    expect(await of('Using KV cache dtype: torch.float8_e4m3fn')).toEqual([
      'kv_cache_format=torch.float8_e4m3fn',
    ]);
    expect(await of('Setting KV cache dtype to fp8_e4m3 for DeepSeek DSA on SM10 device.')).toEqual([
      'kv_cache_format=fp8_e4m3',
    ]);
    expect(
      await of('KV Cache is allocated. dtype: torch.bfloat16, #tokens: 21824, KV size: 1.33 GB'),
    ).toContain('kv_cache_format=torch.bfloat16');
  });

  it('reads arguments as older versions write them', async () => {
    const summary = await read(
      "[2025-01-02 01:02:03] server_args=ServerArgs(model_path='m', page_size=1, disable_radix_cache=True, kv_events_config=None, tp_size=8)",
    );
    expect(sizesOf(summary)).toEqual(['worker 1 configured']);
    expect(settingsOf(summary)).toEqual([
      'backend=sglang',
      'model=m',
      'tensor_parallel_size=8',
      'prefix_caching=false',
      'publishes_kv_events=false',
    ]);
  });
});

describe('the log of TensorRT-LLM', () => {
  it('has the block size, the capacity and the limits', async () => {
    const summary = await read(
      '[TensorRT-LLM] TensorRT-LLM version: 1.2.0rc6',
      '[TensorRT-LLM][INFO] TRTGptModel maxBatchSize: 64',
      '[TensorRT-LLM][INFO] TRTGptModel maxSequenceLen: 384',
      '[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 512 [window size=16384], tokens per block=32, primary blocks=116617, secondary blocks=0, max sequence length=16384',
      '[TensorRT-LLM][INFO] Number of tokens per block: 32.',
      '[TensorRT-LLM][INFO] [MemUsageChange] Allocated 78.30 GiB for max tokens in paged KV cache (3731744).',
      '[12/20/2025-03:40:47] [TRT-LLM] [I] starting',
    );
    expect(sizesOf(summary)).toEqual(['worker 32 in_use']);
    expect(settingsOf(summary)).toEqual([
      'backend=trtllm',
      'engine_version=1.2.0rc6',
      'max_batch_size=64',
      'max_model_len=384',
      'total_kv_blocks=116617',
      'max_model_len=16384',
      'kv_cache_bytes=84073984819',
      'kv_cache_tokens=3731744',
    ]);
    expect(summary.programs).toEqual(new Map([['trtllm', 7]]));
  });

  it('has what a step says of the cache, alone and in a list; a share of zero says nothing', async () => {
    const stats = '{"maxNumBlocks":200,"usedNumBlocks":50,"tokensPerBlock":32,"cacheHitRate":0.5}';
    const one = await read(`{"iter":1,"kvCacheStats":${stats}}`);
    const list = await read(
      `[{"iter":1,"kvCacheStats":${stats}},{"iter":2,"kvCacheStats":${stats.replace('0.5', '0.0')}}]`,
    );
    for (const summary of [one, list]) {
      expect(sizesOf(summary)).toEqual(['worker 32 in_use']);
      expect(settingsOf(summary)).toEqual(['total_kv_blocks=200']);
      expect(summary.engine?.kvCacheUsage?.max).toBe(0.25);
      expect(summary.engine?.prefixHitRate?.last).toBe(0.5);
    }
  });

  it('reads the configuration of the cache, and that it publishes nothing', async () => {
    const summary = await read(
      '[TRT-LLM] [I] args: kv_cache_config=KvCacheConfig(enable_block_reuse=False, max_tokens=None, free_gpu_memory_fraction=0.85, event_buffer_max_size=0, tokens_per_block=64), max_batch_size=128',
    );
    expect(sizesOf(summary)).toEqual(['worker 64 configured']);
    expect(settingsOf(summary)).toEqual([
      'prefix_caching=false',
      'free_gpu_memory_fraction=0.85',
      'kv_event_buffer_events=0',
      'max_batch_size=128',
      'publishes_kv_events=false',
    ]);
  });
});

describe("the log of kv-accord's own processes", () => {
  it('has the sizes, the decisions and the worker that dissents: recorded', async () => {
    const summary = await summaryOf(await recordedLog('kv-accord-0.1.0.frontend.two-sizes.txt'));
    expect(sizesOf(summary)).toEqual(expect.arrayContaining(['router 32 in_use', 'worker 64 in_use']));
    expect(summary.decisions).toMatchObject({ count: 30, reporting: 30 });
    expect(summary.signals.get('accord_mismatch')?.values.has('32 -> 64')).toBe(true);
    expect(signalsOf(summary)['started']).toBe(1);
    expect(summary.programs.get('kv-accord')).toBeGreaterThan(40);
  });

  it.each([
    [
      '{"level":"error","time":"2026-11-21T17:55:40.990Z","code":"block_size_mismatch","group":"mid","worker":"127.0.0.1:20757","msg":"Frontend KV block size (16) does not match worker block size (32).\\nSet DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend or configure tokens_per_block=16 on workers."}',
      { accord_mismatch: 1 },
      ['frontend 16 in_use', 'worker 32 in_use'],
    ],
    [
      '{"level":"error","time":"2026-11-21T20:12:14.533Z","code":"conflict","group":"tiny","msg":"Workers of \\"tiny\\" disagree on the KV block size (tokens_per_block); the gate stays shut."}',
      { accord_conflict: 1 },
      [],
    ],
    [
      '{"level":"error","time":"2026-11-21T20:12:14.533Z","code":"no_pair","group":"tiny","msg":"No prefill worker of \\"tiny\\" can hand its KV blocks to a decode worker; the gate stays shut.\\n  dtype: bfloat16 (prefill-0) against float16 (decode-0)"}',
      { transfer_refused: 1 },
      [],
    ],
    [
      '{"level":"warn","time":"2026-11-21T20:12:14.533Z","worker_id":"decode-1","msg":"Worker decode-1 can take KV blocks from no prefill worker of \\"tiny\\": dtype: bfloat16 (prefill-0) against float16 (decode-1). It is quarantined: it gets no requests."}',
      { transfer_refused: 1 },
      [],
    ],
    [
      '{"level":"warn","time":"2026-11-21T20:12:14.533Z","msg":"The pair prefill-0 → decode-1 is NVLink by topology and moved 0.4 GB/s in 50 transfers: is UCX using TCP?"}',
      { accord_transfer_slow: 1 },
      [],
    ],
    [
      '{"level":"info","time":"2026-11-21T20:19:38.832Z","worker_id":"w","msg":"Engine vLLM 0.32.0 at http://127.0.0.1:1 uses KV blocks of 32 tokens (engine_metrics: x)"}',
      {},
      ['worker 32 in_use'],
    ],
    [
      '{"level":"warn","time":"2026-11-21T20:32:46.067Z","worker_id":"sidecar-0","msg":"the engine uses a block size of 32 tokens (KV events of tcp://127.0.0.1:29447: BlockStored block_size=32 group_idx=0), but file /card (declared) says 16; correct it there"}',
      {},
      ['worker 32 observed', 'worker 16 declared'],
    ],
    [
      '{"level":"warn","time":"2026-11-21T20:32:46.067Z","worker_id":"sidecar-0","msg":"the engine cuts blocks of 32 tokens (KV events of tcp://127.0.0.1:29447: BlockStored block_size=32 group_idx=0), but file /card (declared) says 16; correct it there"}',
      {},
      ['worker 32 observed', 'worker 16 declared'],
    ],
    [
      '{"level":"info","time":"2026-11-21T20:19:40.016Z","code":"worker_lost","group":"m","worker":"w","msg":"The sidecar of worker w is lost: it ended."}',
      { worker_removed: 1 },
      [],
    ],
    [
      '{"level":"info","time":"2026-11-21T20:19:40.016Z","code":"worker_lost","group":"m","worker":"10.0.0.1:50061","msg":"The sidecar of worker w (10.0.0.1:50061) is lost: it ended."}',
      { worker_removed: 1 },
      [],
    ],
    [
      '{"level":"error","time":"2026-11-21T20:19:40.016Z","group":"m","worker":"10.0.0.1:50061","msg":"Worker w (10.0.0.1:50061) has KV block size (tokens_per_block) 64, the fleet agreed on 32 (x). It is quarantined"}',
      { accord_mismatch: 1 },
      ['worker 64 in_use'],
    ],
    ['INFO: Using KV block size 64 (from the explicit override)', {}, ['router 64 configured']],
  ])('has the meaning of %s', async (line, signals, sizes) => {
    const summary = await read(line);
    expect(signalsOf(summary)).toEqual(signals);
    expect(sizesOf(summary)).toEqual(sizes);
  });
});
