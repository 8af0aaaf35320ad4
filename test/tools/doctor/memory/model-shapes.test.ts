import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ModelShape } from '../../../../src/tools/doctor/evidence.js';
import { readModelShape } from '../../../../src/tools/doctor/gather/model.js';
import { bytesPerToken } from '../../../../src/tools/doctor/memory/bytes-per-token.js';

const FILE = new URL('../../../fixtures/model-configs/configs.json', import.meta.url);
const CONFIGS = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, object>>;

/** Bytes of one token over all GPUs: in layers that keep everything, and in layers with a window. */
const EXPECTED: readonly (readonly [model: string, full: number, windowed?: number])[] = [
  ['meta-llama/Llama-3.1-8B', 32 * 8 * 2 * 128 * 2],
  ['meta-llama/Llama-3.1-70B', 80 * 8 * 2 * 128 * 2],
  ['nvidia/Llama-3.1-70B-Instruct-FP8', 80 * 8 * 2 * 128 * 2],
  ['mistralai/Mixtral-8x7B-v0.1', 32 * 8 * 2 * 128 * 2],
  ['mistralai/Mistral-7B-v0.1', 0, 32 * 8 * 2 * 128 * 2],
  ['Qwen/Qwen3-32B', 64 * 8 * 2 * 128 * 2],
  ['Qwen/Qwen3-235B-A22B', 94 * 4 * 2 * 128 * 2],
  ['Qwen/Qwen2.5-VL-7B-Instruct', 28 * 4 * 2 * 128 * 2],
  ['Qwen/Qwen3-VL-2B-Instruct', 28 * 8 * 2 * 128 * 2],
  // Hybrids: three of four layers are linear, all but every eighth, all but the stars of a pattern.
  ['Qwen/Qwen3-Next-80B-A3B-Instruct', 12 * 2 * 2 * 256 * 2],
  ['Qwen/Qwen3.5-27B', 16 * 4 * 2 * 256 * 2],
  ['ai21labs/AI21-Jamba-1.5-Mini', 4 * 8 * 2 * 128 * 2],
  ['MiniMaxAI/MiniMax-Text-01', 10 * 8 * 2 * 128 * 2],
  ['nvidia/Nemotron-H-56B-Base-8K', 10 * 8 * 2 * 128 * 2],
  ['nvidia/NVIDIA-Nemotron-Nano-12B-v2-Base', 6 * 8 * 2 * 128 * 2],
  ['nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8', 8 * 2 * 2 * 128 * 2],
  ['nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16', 12 * 2 * 2 * 128 * 2],
  // Attention taken out of 31 of 80 layers, and of cross attention to pictures.
  ['nvidia/Llama-3_3-Nemotron-Super-49B-v1', 49 * 8 * 2 * 128 * 2],
  ['meta-llama/Llama-3.2-11B-Vision', 32 * 8 * 2 * 128 * 2],
  // One latent vector for keys and values; with an indexer beside, of all layers or of some.
  ['deepseek-ai/DeepSeek-V3', 61 * 576 * 2],
  ['deepseek-ai/DeepSeek-V3.2', 61 * (576 * 2 + 132)],
  ['zai-org/GLM-5.2', 78 * 576 * 2 + 21 * 132],
  ['moonshotai/Kimi-K2.5', 61 * 576 * 2],
  ['moonshotai/Kimi-K3', 24 * 576 * 2],
  ['moonshotai/Kimi-Linear-48B-A3B-Instruct', 7 * 576 * 2],
  ['openbmb/MiniCPM3-4B', 62 * 40 * 2 * 96 * 2],
  // Windows: every second layer, all but every sixth, fourth, or as a list says, also with other heads.
  ['openai/gpt-oss-20b', 12 * 8 * 2 * 64 * 2, 12 * 8 * 2 * 64 * 2],
  ['openai/gpt-oss-120b', 18 * 8 * 2 * 64 * 2, 18 * 8 * 2 * 64 * 2],
  ['google/gemma-2-9b', 21 * 8 * 2 * 256 * 2, 21 * 8 * 2 * 256 * 2],
  ['google/gemma-3-1b-it', 4 * 1 * 2 * 256 * 2, 22 * 1 * 2 * 256 * 2],
  ['google/gemma-3-27b-it', 10 * 16 * 2 * 128 * 2, 52 * 16 * 2 * 128 * 2],
  ['google/gemma-4-26B-A4B', 5 * 2 * 2 * 512 * 2, 25 * 8 * 2 * 256 * 2],
  ['meta-llama/Llama-4-Scout-17B-16E-Instruct', 12 * 8 * 2 * 128 * 2, 36 * 8 * 2 * 128 * 2],
  ['XiaomiMiMo/MiMo-V2-Flash', 9 * 4 * (192 + 128) * 2, 39 * 8 * (192 + 128) * 2],
  ['stepfun-ai/Step-3.7-Flash', 12 * 8 * 2 * 128 * 2, 33 * 8 * 2 * 128 * 2],
  ['MiniMaxAI/MiniMax-M2.5', 62 * 8 * 2 * 128 * 2],
  // Other names for the same.
  ['THUDM/chatglm3-6b', 28 * 2 * 2 * 128 * 2],
  ['databricks/dbrx-base', 48 * 12 * 2 * 128 * 2],
];

function shapeOf(config: object): ModelShape {
  const shape = readModelShape('config.json', JSON.stringify(config));
  if (typeof shape === 'string') throw new Error(shape);
  return shape;
}

const WHOLE = { tensor: 1, pipeline: 1, isKnown: true };

describe('what a token of a public model takes', () => {
  const cases = EXPECTED.map(([model, full, windowed = 0]) => ({ model, full, windowed }));

  it.each(cases)('$model', ({ model, full, windowed }) => {
    const shape = shapeOf(CONFIGS[model] ?? {});
    const token = bytesPerToken(shape, { ...WHOLE, dtypeBytes: shape.dtypeBytes });
    expect({ full: token.everywhere, windowed: token.windowed }).toEqual({ full, windowed });
    expect(token.steps.reduce((sum, { value }) => sum + value, 0)).toBe(full + windowed);
  });

  it('is not counted where the cache is of another making, or there is none', () => {
    const reasons = ['deepseek-ai/DeepSeek-V4-Pro', 'state-spaces/mamba-2.8b-hf'].map((model) =>
      readModelShape('config.json', JSON.stringify(CONFIGS[model])),
    );
    expect(reasons).toEqual([
      'has attention with compressed keys (compress_ratios), whose cache is not counted here',
      'is of a model without attention, which has no KV cache',
    ]);
  });

  it('counts the layers of a hybrid that keep a state of one size, and names the field that says so', () => {
    const shape = shapeOf(CONFIGS['Qwen/Qwen3-Next-80B-A3B-Instruct'] ?? {});
    expect(shape).toMatchObject({ layers: 12, stateLayers: 36 });
    expect(shape.origin.text).toBe(
      'num_hidden_layers 48, their kinds by full_attention_interval, 12 layers, 2 KV heads of 256, bfloat16',
    );
  });

  it('reads what Python writes for numbers that JSON does not have', () => {
    const { time_step_limit: _, ...rest } = CONFIGS['nvidia/Nemotron-H-56B-Base-8K'] as Record<
      string,
      unknown
    >;
    const json = JSON.stringify(rest).replace('{', '{"time_step_limit": [0.0, Infinity], "x": NaN, ');
    expect(readModelShape('config.json', json)).toMatchObject({ layers: 10, kvHeads: 8 });
  });

  it('takes the 8 bits of a checkpoint whose cache is quantised', () => {
    const quantization_config = { quant_method: 'modelopt', kv_cache_scheme: { num_bits: 8, type: 'float' } };
    expect(shapeOf({ ...CONFIGS['Qwen/Qwen3-32B'], quantization_config })).toMatchObject({ dtypeBytes: 1 });
  });

  it('leaves out the last layers that use the keys of earlier ones', () => {
    const config = { ...CONFIGS['google/gemma-3-1b-it'], num_kv_shared_layers: 6 };
    expect(shapeOf(config)).toMatchObject({ layers: 20, slidingWindow: { tokens: 512, layers: 17 } });
  });
});
