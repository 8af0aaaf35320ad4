import { describe, expect, it } from 'vitest';
import { settingsOf, sizesOf, summaryOf } from './summaries.js';

const ARGS = (size: number): string =>
  `(APIServer pid=1) INFO 10-02 09:58:00 [utils.py:253] non-default args: {'model': 'm', 'block_size': ${size}, 'max_num_seqs': ${size}}\n`;
const SERVED =
  '(APIServer pid=1) INFO 10-02 10:00:10 [loggers.py:248] Engine 000: Avg prompt throughput: 3120.4 tokens/s, Avg generation throughput: 410.2 tokens/s, Running: 8 reqs, Waiting: 0 reqs, GPU KV cache usage: 40.0%, Prefix cache hit rate: 10.0%\n';

describe('a log of several starts', () => {
  it('has the numbers of the last one', async () => {
    const summary = await summaryOf(ARGS(16) + SERVED + ARGS(64) + SERVED);
    expect(sizesOf(summary)).toEqual(['worker 64 configured']);
    expect(settingsOf(summary).filter((text) => text.startsWith('max_num_seqs'))).toEqual([
      'max_num_seqs=64',
    ]);
  });

  it('keeps those of processes that start together, and of other workers', async () => {
    const together = await summaryOf(ARGS(16) + ARGS(64) + SERVED);
    expect(sizesOf(together)).toEqual(['worker 16 configured', 'worker 64 configured']);
    const named = (who: string, text: string): string => `[pod/${who}/main] ${text}`;
    const pods = [named('a', ARGS(16)), named('a', SERVED), named('b', ARGS(64)), named('b', SERVED)];
    expect(sizesOf(await summaryOf(pods.join('')))).toHaveLength(2);
  });
});

describe('several caches of one engine', () => {
  const trt = (window: number, blocks: number, length: number): string =>
    `[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 288 [window size=${window}], tokens per block=32, primary blocks=${blocks}, secondary blocks=0, max sequence length=${length}\n`;
  const allocated = (gibibytes: string, tokens: number): string =>
    `[TensorRT-LLM][INFO] [MemUsageChange] Allocated ${gibibytes} GiB for max tokens in paged KV cache (${tokens}).\n`;
  const memory = (texts: readonly string[]): readonly string[] =>
    texts.filter((text) => /^(?:total_kv_blocks|kv_cache_)/.test(text)).sort();

  it('is the one after the measuring run of TensorRT-LLM', async () => {
    const log =
      trt(8_224, 257, 9_193) +
      allocated('0.56', 8_224) +
      trt(9_193, 15_610, 9_193) +
      allocated('60.97', 499_520);
    expect(memory(settingsOf(await summaryOf(log)))).toEqual([
      `kv_cache_bytes=${Math.round(60.97 * 2 ** 30)}`,
      'kv_cache_tokens=499520',
      'total_kv_blocks=15610',
    ]);
  });

  it('has the blocks of the pool that keeps whole sequences', async () => {
    const pools = trt(128, 4_225, 131_072) + trt(131_072, 42_300, 131_072);
    expect(memory(settingsOf(await summaryOf(pools)))).toEqual(['total_kv_blocks=42300']);
    // A pool that is smaller than the longest sequence bounds it.
    expect(memory(settingsOf(await summaryOf(trt(8_224, 257, 9_193))))).toEqual(['total_kv_blocks=257']);
  });

  it("has the bytes of both pools and the tokens of the whole, with SGLang's windows", async () => {
    const pool = (rank: number, tokens: number, gigabytes: string): string =>
      `[2026-10-02 10:00:20 TP${rank}] KV Cache is allocated. #tokens: ${tokens}, K size: ${gigabytes} GB, V size: ${gigabytes} GB\n`;
    const start =
      '[2026-10-02 10:00:20 TP0] Use sliding window memory pool. full_layer_tokens=900000, swa_layer_tokens=720000\n';
    const pools = [0, 1].map((rank) => pool(rank, 720_000, '12.36') + pool(rank, 900_000, '15.45')).join('');
    expect(memory(settingsOf(await summaryOf(start + pools)))).toEqual([
      `kv_cache_bytes=${Math.round(24.72 * 2 ** 30) + Math.round(30.9 * 2 ** 30)}`,
      'kv_cache_tokens=900000',
    ]);
    // A draft model has as many tokens, and its own bytes.
    const drafted = pool(0, 900_000, '15.45') + pool(0, 900_000, '0.48');
    expect(memory(settingsOf(await summaryOf(drafted)))).toEqual([
      `kv_cache_bytes=${Math.round(30.9 * 2 ** 30)}`,
      'kv_cache_tokens=900000',
    ]);
  });

  it('has the bytes of both pools where they have as many tokens, as SGLang adds them up', async () => {
    // MiMo-V2-Flash on four GPUs: pull request 15464 of sgl-project/sglang.
    const pool = (keys: string, values: string): string =>
      `[2025-12-19 07:42:57 TP2] KV Cache is allocated. #tokens: 1496958, K size: ${keys} GB, V size: ${values} GB\n`;
    const both =
      '[2025-12-19 07:42:57 TP2] SWAKVPool mem usage: 77.63 GB, swa size: 1496958, full size: 1496958\n';
    const log = pool('41.76', '27.84') + pool('4.82', '3.21') + both;
    expect(memory(settingsOf(await summaryOf(log)))).toEqual([
      `kv_cache_bytes=${Math.round(77.63 * 2 ** 30)}`,
      'kv_cache_tokens=1496958',
    ]);
  });

  it('has the tokens of sequences at their longest, where vLLM divides its blocks among groups of layers', async () => {
    const said = (tokens: string, longest: string, times: string): string =>
      `(EngineCore_DP0 pid=7) INFO 11-06 10:51:48 [kv_cache_utils.py:1229] GPU KV cache size: ${tokens} tokens\n` +
      `(EngineCore_DP0 pid=7) INFO 11-06 10:51:48 [kv_cache_utils.py:1234] Maximum concurrency for ${longest} tokens per request: ${times}x\n`;
    const tokensOf = async (log: string): Promise<readonly string[]> =>
      memory(settingsOf(await summaryOf(log)));
    // Kimi Linear in 0.11, Qwen3.6-35B-A3B in 0.19 (four groups), gpt-oss in 0.22, which counts so itself, and Llama 3.
    expect(await tokensOf(said('75,840', '120,000', '2.48'))).toEqual(['kv_cache_tokens=297000']);
    expect(await tokensOf(said('623,040', '131,072', '18.44'))).toEqual(['kv_cache_tokens=2416312']);
    expect(await tokensOf(said('6,131,120', '2,068', '2964.76'))).toEqual(['kv_cache_tokens=6131120']);
    expect(await tokensOf(said('430,944', '32,768', '13.15'))).toEqual(['kv_cache_tokens=430944']);
    const line =
      '(EngineCore pid=7) INFO 08-02 09:00:31 [kv_cache_utils.py:2327] GPU KV cache size: 1,823,372 tokens, Maximum concurrency for 1,048,576 tokens per request: 1.74x\n';
    expect(await tokensOf(line)).toEqual(['kv_cache_tokens=1823372']);
  });
});
