import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import { readModelShape } from '../../../../src/tools/doctor/gather/model.js';
import { computeMemory } from '../../../../src/tools/doctor/memory/compute-memory.js';
import type { MemoryArithmetic } from '../../../../src/tools/doctor/memory/memory-arithmetic.js';

const FILE = new URL('../../../fixtures/model-configs/configs.json', import.meta.url);
const CONFIGS = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, object>>;
const ORIGIN = { place: 'w.log:1', text: '' };
const GIB = 2 ** 30;

type Settings = Readonly<Record<string, string | number>>;

function memoryOf(model: string, settings: Settings): MemoryArithmetic {
  const shape = readModelShape('config.json', JSON.stringify(CONFIGS[model] ?? {}));
  if (typeof shape === 'string') throw new Error(shape);
  const evidence = joinEvidence([
    {
      source: { kind: 'log', name: 'w.log', status: 'read', detail: '' },
      models: [shape],
      settings: Object.entries({ tensor_parallel_size: 1, ...settings }).map(([name, value]) => ({
        side: 'worker' as const,
        who: 'w0',
        name: name as never,
        value: String(value),
        isDefault: false,
        origin: ORIGIN,
      })),
    },
  ]);
  const [only] = computeMemory(evidence);
  if (only === undefined) throw new Error('no arithmetic');
  return only;
}

const VLLM = { backend: 'vllm' };
const SGLANG = { backend: 'sglang' };
const TRTLLM = { backend: 'trtllm' };
const tp = (tensor_parallel_size: number): Settings => ({ tensor_parallel_size });
const groups = (gpus: number, data_parallel_size: number): Settings => ({
  tensor_parallel_size: gpus,
  data_parallel_size,
  attention_data_parallel: 'true',
});

/**
 * What an engine had for its KV cache on each GPU and how many tokens that were, by its own log: "Available KV cache memory" and
 * "GPU KV cache size" or "GiB KV cache is needed" for so long a sequence of vLLM, "KV Cache is allocated" of SGLang (keys and values
 * together), "Allocated … GiB for max tokens in paged KV cache" of TensorRT-LLM.
 */
const REPORTED: readonly (readonly [model: string, settings: Settings, gib: number, tokens: number])[] = [
  // Plain attention: CPU, one GPU, heads divided, one head on more GPUs than heads.
  ['facebook/opt-125m', VLLM, 4, 116_480],
  ['openai-community/gpt2', SGLANG, 38.02, 1_107_402],
  ['meta-llama/Llama-2-13b-chat-hf', VLLM, 10.32, 13_520],
  ['meta-llama/Llama-3.1-8B', VLLM, 105.97, 868_080],
  ['meta-llama/Llama-3.1-8B', { ...VLLM, ...tp(4) }, 62.52, 2_048_704],
  ['meta-llama/Llama-3.1-8B', TRTLLM, 109.96, 900_800],
  ['meta-llama/Llama-3.1-70B', VLLM, 38.71, 126_832],
  ['meta-llama/Llama-3.1-70B', { ...SGLANG, ...tp(8) }, 106.62, 2_795_207],
  ['meta-llama/Llama-3.2-3B', SGLANG, 2.68, 25_169],
  ['TinyLlama/TinyLlama-1.1B-Chat-v1.0', TRTLLM, 39.26, 1_871_136],
  ['Qwen/Qwen2.5-0.5B-Instruct', VLLM, 58.41, 5_103_664],
  ['Qwen/Qwen2.5-1.5B-Instruct', VLLM, 52.65, 1_971_632],
  ['Qwen/Qwen2.5-7B-Instruct', { ...VLLM, quantization: 'gptq' }, 4.21, 78_848],
  ['Qwen/Qwen2.5-14B-Instruct', VLLM, 27.95, 152_624],
  ['Qwen/Qwen3-0.6B', VLLM, 15.87, 148_560],
  ['Qwen/Qwen3-32B', { ...SGLANG, ...tp(8) }, 35.78, 1_172_096],
  ['Qwen/Qwen3-32B', { ...SGLANG, ...tp(16) }, 39.64, 1_298_816],
  ['Qwen/Qwen3-30B-A3B', VLLM, 8.68, 94_784],
  ['Qwen/Qwen3-235B-A22B', { ...VLLM, ...tp(4) }, 8.11, 178_880],
  ['Qwen/Qwen3-235B-A22B', { ...SGLANG, ...tp(4) }, 16.46, 367_404],
  ['Qwen/Qwen3-VL-2B-Instruct', VLLM, 8.21, 76_848],
  ['MiniMaxAI/MiniMax-M2.5', { ...VLLM, ...tp(4) }, 23.62, 399_424],
  ['MiniMaxAI/MiniMax-M2.7', { ...VLLM, ...tp(2) }, 23.25, 196_608],
  // Groups of data parallel attention.
  ['Qwen/Qwen3-235B-A22B', { ...SGLANG, ...groups(32, 32) }, 34.26, 190_976],
  ['Qwen/Qwen3-Coder-480B-A35B-Instruct', { ...SGLANG, ...groups(16, 4) }, 9.28, 156_800],
  // Caches of other dtypes.
  ['Qwen/Qwen2.5-1.5B-Instruct', { ...SGLANG, kv_cache_dtype: 'fp8_e4m3' }, 41.58, 3_113_713],
  ['Qwen/Qwen3-0.6B', { ...VLLM, kv_cache_dtype: 'int8_per_token_head' }, 3.96, 71_872],
  ['Qwen/Qwen3-14B', { ...VLLM, kv_cache_dtype: 'fp8' }, 4.12, 54_016],
  ['zai-org/GLM-4.7', { ...VLLM, ...tp(4), kv_cache_dtype: 'fp8' }, 31.99, 729_248],
  // Latent vectors, whole on each GPU, divided by tokens alone; with an indexer beside.
  ['deepseek-ai/DeepSeek-V3', { ...SGLANG, ...tp(8) }, 33.32, 509_157],
  ['moonshotai/Kimi-K2-Thinking', { ...VLLM, ...tp(8) }, 46.8, 715_072],
  ['moonshotai/Kimi-K2-Thinking', { ...VLLM, ...tp(8), context_parallel_size: 8 }, 46.8, 5_721_088],
  ['moonshotai/Kimi-K2.5', { ...SGLANG, ...tp(8), kv_cache_dtype: 'bfloat16' }, 160.63, 2_454_421],
  ['mistralai/Mistral-Small-4-119B-2603', VLLM, 22.5, 1_048_576],
  ['zai-org/GLM-5', { ...SGLANG, ...tp(8), kv_cache_dtype: 'bfloat16' }, 29.32, 314_304],
  // Layers that attend among others, in pools of SGLang that hold nothing else.
  ['Qwen/Qwen3.5-9B', { ...SGLANG, ...tp(2) }, 20.74, 1_359_146],
  ['Qwen/Qwen3.5-27B', { ...SGLANG, kv_cache_dtype: 'fp8_e4m3' }, 6.98, 228_520],
  // Windows: vLLM keeps all of Llama 4's chunks, SGLang has as many tokens in both pools where the ratio is 1.
  ['meta-llama/Llama-4-Scout-17B-16E-Instruct', { ...VLLM, ...tp(8) }, 16.83, 735_440],
  ['XiaomiMiMo/MiMo-V2-Flash', { ...SGLANG, ...tp(4) }, 77.63, 1_496_958],
];

describe('what a token takes, by the engine itself', () => {
  const cases = REPORTED.map(([model, settings, gib, tokens]) => ({
    name: `${model} in ${Object.values(settings).join(', ')}`,
    model,
    settings,
    reported: (gib * GIB) / tokens,
  }));

  it.each(cases)('$name', ({ model, settings, reported }) => {
    const { bytesPerToken = 0 } = memoryOf(model, settings);
    expect(Math.abs(reported / bytesPerToken - 1)).toBeLessThan(0.012);
  });
});

describe('what a cache holds, by the engine itself', () => {
  it.each([
    // Three states of 10 layers for each group of 10 that attend: one block each of a sequence.
    ['Qwen/Qwen3.6-35B-A3B', VLLM, { gib: 47.55, longest: 131_072, tokens: 18.44 * 131_072 }],
    [
      'moonshotai/Kimi-Linear-48B-A3B-Instruct',
      { ...VLLM, ...tp(2) },
      { gib: 2.3, longest: 120_000, tokens: 2.48 * 120_000 },
    ],
    // Keys of the indexer for every four tokens.
    ['Qwen/Qwen3.8-Flash-Next', { ...VLLM, ...tp(4) }, { gib: 37.37, longest: 262_144, tokens: 3_046_184 }],
    // A window of 128 tokens in half of the layers.
    ['openai/gpt-oss-120b', VLLM, { gib: 4.54, longest: 131_072, tokens: 131_072 }],
  ])('%s', (model, settings, { gib, longest, tokens }) => {
    const all = { ...settings, kv_cache_bytes: Math.round(gib * GIB), max_model_len: longest };
    const { capacityTokens = 0 } = memoryOf(model, all);
    expect(Math.abs(capacityTokens / tokens - 1)).toBeLessThan(0.04);
  });
});
