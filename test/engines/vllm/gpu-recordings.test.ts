import { describe, expect, it } from 'vitest';
import { vllmMetrics } from '../../../src/engines/vllm/metrics.js';
import { fieldValues, runProbe, sizeLines } from '../probing/probe-run.js';
import { recording, serveRecordings } from '../probing/recorded-engine.js';

const MODELS = recording('vllm-0.32.0/models.b32.json');

describe('the metrics of vLLM 0.26 on an H100', () => {
  const whole = (size: number): readonly string[] => [`scheduler ${size} engine_metrics contract`];
  it.each([
    ['llama-8b-killed', whole(16), 29_803, 476_848, /one full-attention group/],
    ['llama-8b-fp8', whole(16), 59_574, 953_184, /one full-attention group/],
    ['deepseek-v2-lite', whole(16), 92_082, 1_473_312, /one full-attention group/],
    ['deepseek-v2-lite-flashmla', whole(64), 23_020, 1_473_280, /one full-attention group/],
    [
      'gemma-3-12b',
      ['scheduler 16 engine_metrics'],
      51_835,
      226_682,
      /is not block_size 16 x num_gpu_blocks/,
    ],
    [
      'gpt-oss-20b',
      ['scheduler 16 engine_metrics'],
      287_931,
      3_062_292,
      /is not block_size 16 x num_gpu_blocks/,
    ],
    ['nemotron-nano-12b', ['scheduler 1408 engine_metrics'], 1_558, 354_531, /mamba_block_size is 16/],
    ['qwen3-600-blocks', whole(16), 600, 9_600, /one full-attention group/],
  ] as const)('of %s', async (name, sizes, blocks, tokens, warning) => {
    const metrics = recording(`vllm-0.26.0-h100/${name}.metrics.txt`);
    await using engine = await serveRecordings({ '/v1/models': MODELS, '/metrics': metrics });
    const { facts, warnings } = await runProbe(vllmMetrics, { httpBaseUrl: engine.url });
    expect(sizeLines(facts)).toEqual(sizes);
    expect(fieldValues(facts, 'capacity.total_kv_blocks')).toEqual([blocks]);
    expect(fieldValues(facts, 'capacity.kv_cache_size_tokens')).toEqual([tokens]);
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });
});
