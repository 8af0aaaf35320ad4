import { describe, expect, it } from 'vitest';
import type { SettingName } from '../../../../src/engines/diagnosis/sighting-words.js';
import { joinEvidence, type ModelShape } from '../../../../src/tools/doctor/evidence.js';
import { readModelShape } from '../../../../src/tools/doctor/gather/model.js';
import { computeMemory } from '../../../../src/tools/doctor/memory/compute-memory.js';
import type { MemoryArithmetic } from '../../../../src/tools/doctor/memory/memory-arithmetic.js';

const ORIGIN = { place: 'w.log:1', text: '' };
const GIB = 2 ** 30;

const LLAMA_70B = {
  model_type: 'llama',
  hidden_size: 8192,
  intermediate_size: 28672,
  num_hidden_layers: 80,
  num_attention_heads: 64,
  num_key_value_heads: 8,
  head_dim: 128,
  vocab_size: 128256,
  torch_dtype: 'bfloat16',
};
const QWEN3_235B = {
  model_type: 'qwen3_moe',
  hidden_size: 4096,
  num_hidden_layers: 94,
  num_attention_heads: 64,
  num_key_value_heads: 4,
  head_dim: 128,
  num_experts: 128,
  torch_dtype: 'bfloat16',
};
const DEEPSEEK_V3 = {
  model_type: 'deepseek_v3',
  hidden_size: 7168,
  num_hidden_layers: 61,
  num_attention_heads: 128,
  num_key_value_heads: 128,
  kv_lora_rank: 512,
  qk_rope_head_dim: 64,
  torch_dtype: 'bfloat16',
};
const DEEPSEEK_V32 = { ...DEEPSEEK_V3, model_type: 'deepseek_v32', index_head_dim: 128 };

function shapeOf(config: object, quantText?: string): ModelShape {
  const shape = readModelShape('config.json', JSON.stringify(config), quantText);
  if (typeof shape === 'string') throw new Error(shape);
  return shape;
}

type Settings = Partial<Record<SettingName, string | number>>;

function memoryOf(model: ModelShape, settings: Settings, gpuBytes?: number): MemoryArithmetic {
  const source = { kind: 'log', name: 'w.log', status: 'read', detail: '' } as const;
  const evidence = joinEvidence([
    {
      source,
      models: [model],
      settings: Object.entries(settings).map(([name, value]) => ({
        side: 'worker' as const,
        who: 'w0',
        name: name as SettingName,
        value: String(value),
        isDefault: false,
        origin: ORIGIN,
      })),
      gpus:
        gpuBytes === undefined
          ? []
          : [{ who: '', index: 0, product: '', totalBytes: gpuBytes, usedBytes: undefined, origin: ORIGIN }],
    },
  ]);
  const [only, ...more] = computeMemory(evidence);
  if (only === undefined || more.length > 0) throw new Error('not one arithmetic');
  return only;
}

const bytesOf = (config: object, settings: Settings): number | undefined =>
  memoryOf(shapeOf(config), { tensor_parallel_size: 1, ...settings }).bytesPerToken;

describe('how attention is divided', () => {
  const WHOLE = 2 * 94 * 4 * 128 * 2;

  it.each([
    ['SGLang with as many groups as GPUs', { backend: 'sglang', data_parallel_size: 8 }, WHOLE],
    ['SGLang with groups of two', { backend: 'sglang', data_parallel_size: 4 }, WHOLE / 2],
    ['SGLang without a second group', { backend: 'sglang', data_parallel_size: 1 }, WHOLE / 4],
    ['TensorRT-LLM, where each GPU is a group', { backend: 'trtllm' }, WHOLE],
  ])('is that of the groups of data parallel attention: %s', (_, settings, expected) => {
    const all = { tensor_parallel_size: 8, attention_data_parallel: 'true', ...settings };
    expect(bytesOf(QWEN3_235B, all)).toBe(expected);
  });

  it('is that of attn_dp_size, which SGLang has of late, and of nothing where it is switched off', () => {
    expect(bytesOf(QWEN3_235B, { tensor_parallel_size: 8, attention_data_parallel_size: 8 })).toBe(WHOLE);
    const off = { tensor_parallel_size: 8, data_parallel_size: 8, attention_data_parallel: 'false' };
    expect(bytesOf(QWEN3_235B, off)).toBe(WHOLE / 4);
  });

  it('spreads tokens over the GPUs of decode context parallelism, which keep more heads for it', () => {
    const eight = { tensor_parallel_size: 8, context_parallel_size: 8 };
    expect(bytesOf(DEEPSEEK_V3, eight)).toBe((61 * 576 * 2) / 8);
    expect(bytesOf(LLAMA_70B, { tensor_parallel_size: 8, context_parallel_size: 2 })).toBe(
      (2 * 80 * 2 * 128 * 2) / 2,
    );
    const blocks = memoryOf(shapeOf(DEEPSEEK_V3), { ...eight, total_kv_blocks: 1000 });
    expect(blocks.capacityTokens).toBeUndefined();
    expect(memoryOf(shapeOf(DEEPSEEK_V3), { ...eight, kv_cache_tokens: 900_000 }).capacityTokens).toBe(
      900_000,
    );
  });

  it('leaves no even share of the weights with data parallel attention, nor with experts over data parallel ranks', () => {
    const weights = { weightBytes: 470e9, weightOrigin: ORIGIN };
    const model = { ...shapeOf(QWEN3_235B), ...weights };
    const all = { tensor_parallel_size: 8, gpu_memory_utilization: 0.9 };
    const even = memoryOf(model, all, 141 * GIB);
    expect(even.budgetBytes).toBe(Math.floor(141 * GIB * 0.9) - 470e9 / 8);
    for (const settings of [{ attention_data_parallel: 'true' }, { data_parallel_size: 2 }]) {
      const { budgetBytes, capacityUnknown } = memoryOf(model, { ...all, ...settings }, 141 * GIB);
      expect(budgetBytes).toBeUndefined();
      expect(capacityUnknown).toContain('the weights of a GPU are no even share');
    }
  });
});

describe('the format of the cache', () => {
  const LLAMA_VALUES = 2 * 80 * 8 * 128;

  it.each([
    ['fp8', LLAMA_VALUES],
    ['torch.float8_e4m3fn', LLAMA_VALUES],
    ['nvfp4', (LLAMA_VALUES * 9) / 16],
    ['fp4_e2m1', (LLAMA_VALUES * 9) / 16],
    ['mxfp8', (LLAMA_VALUES * 33) / 32],
    ['fp8_per_token_head', LLAMA_VALUES + 80 * 8 * 8],
    ['float32', LLAMA_VALUES * 4],
    ['auto', LLAMA_VALUES * 2],
  ])('is known of %s', (kv_cache_dtype, expected) => {
    expect(bytesOf(LLAMA_70B, { kv_cache_dtype })).toBe(expected);
  });

  it('is not guessed of a dtype that nobody here knows', () => {
    const memory = memoryOf(shapeOf(LLAMA_70B), {
      kv_cache_dtype: 'turboquant_4bit_nc',
      kv_cache_tokens: 5000,
    });
    expect(memory.bytesPerToken).toBeUndefined();
    expect(memory.bytesUnknown).toContain('turboquant_4bit_nc');
    expect(memory.capacityTokens).toBe(5000);
  });

  it('is what the engine made of it, where its log says so', () => {
    expect(bytesOf(LLAMA_70B, { kv_cache_dtype: 'auto', kv_cache_format: 'torch.float8_e4m3fn' })).toBe(
      LLAMA_VALUES,
    );
    expect(bytesOf(LLAMA_70B, { dtype: 'torch.float32' })).toBe(LLAMA_VALUES * 4);
  });

  it('has scales and whole positions in the sparse form of FlashMLA, and is not known of 8 bits alone', () => {
    expect(bytesOf(DEEPSEEK_V32, { kv_cache_dtype: 'fp8', kv_cache_format: 'fp8_ds_mla' })).toBe(
      61 * (656 + 132),
    );
    expect(bytesOf(DEEPSEEK_V32, { kv_cache_dtype: 'bfloat16' })).toBe(61 * (576 * 2 + 132));
    for (const settings of [{ kv_cache_dtype: 'fp8' }, { backend: 'vllm' }])
      expect(bytesOf(DEEPSEEK_V32, settings)).toBeUndefined();
    expect(bytesOf(DEEPSEEK_V3, { kv_cache_dtype: 'fp8', backend: 'vllm' })).toBe(61 * 576);
  });

  it.each([
    ['FP8', LLAMA_VALUES],
    ['NVFP4', (LLAMA_VALUES * 9) / 16],
    ['', LLAMA_VALUES * 2],
  ])("is that of ModelOpt's file beside the configuration: %s", (kv_cache_quant_algo, expected) => {
    const text = JSON.stringify({ quantization: { quant_algo: 'NVFP4', kv_cache_quant_algo } });
    const model = shapeOf(LLAMA_70B, text);
    expect(model.isQuantised).toBe(true);
    expect(memoryOf(model, {}).bytesPerToken).toBe(expected);
  });

  it('of 4 bits in the checkpoint is not known of engines that may leave it, and goes after what they are given', () => {
    const quantization_config = { quant_method: 'modelopt', kv_cache_scheme: { num_bits: 4, type: 'float' } };
    const config = { ...LLAMA_70B, quantization_config };
    expect(bytesOf(config, {})).toBe((LLAMA_VALUES * 9) / 16);
    expect(bytesOf(config, { backend: 'trtllm' })).toBe((LLAMA_VALUES * 9) / 16);
    expect(bytesOf(config, { backend: 'sglang' })).toBeUndefined();
    expect(bytesOf(config, { backend: 'vllm', kv_cache_dtype: 'fp8' })).toBe(LLAMA_VALUES);
    expect(shapeOf(config, 'no JSON').cacheBits).toBe(4);
  });
});

describe('the weights on a GPU', () => {
  const GPU = 80 * GIB;
  const all = { tensor_parallel_size: 2, gpu_memory_utilization: 0.9 };
  const published = { ...shapeOf(LLAMA_70B), weightBytes: 141e9, weightOrigin: ORIGIN };

  it('are what the engine says that it loaded, before any share of what was published', () => {
    const memory = memoryOf(published, { ...all, quantization: 'fp8', weight_bytes: 36e9 }, GPU);
    expect(memory.budgetBytes).toBe(Math.floor(GPU * 0.9) - 36e9);
  });

  it('are not known where the engine quantises them as it loads them, unless they are published so', () => {
    const { budgetBytes, capacityUnknown } = memoryOf(published, { ...all, quantization: 'fp8' }, GPU);
    expect(budgetBytes).toBeUndefined();
    expect(capacityUnknown).toContain('quantises the weights as it loads them (quantization fp8)');
    const quantised = { ...published, weightBytes: 71e9, isQuantised: true };
    expect(memoryOf(quantised, { ...all, quantization: 'fp8' }, GPU).budgetBytes).toBe(
      Math.floor(GPU * 0.9) - 71e9 / 2,
    );
  });

  it('of 32 bits take the whole of it only in an engine that runs in 32 bits', () => {
    const model = {
      ...shapeOf({ ...LLAMA_70B, torch_dtype: 'float32' }),
      weightBytes: 40e9,
      weightOrigin: ORIGIN,
    };
    expect(memoryOf(model, all, GPU).budgetBytes).toBe(Math.floor(GPU * 0.9) - 20e9);
    expect(memoryOf(model, { ...all, dtype: 'float32' }, GPU).budgetBytes).toBe(Math.floor(GPU * 0.9) - 40e9);
  });
});

describe('numbers with units', () => {
  it.each([
    ['32k', 32_000],
    ['32K', 32_768],
    ['25.6k', 25_600],
    ['1M', 1_048_576],
    ['32768', 32_768],
    ['-1', undefined],
    ['auto', undefined],
    ['32 tokens', undefined],
  ])('of vLLM are read: %s', (max_model_len, expected) => {
    const memory = memoryOf(shapeOf(LLAMA_70B), { max_model_len, max_num_seqs: 2 });
    expect(memory.demandTokens).toBe(expected === undefined ? undefined : expected * 2);
  });

  it('are read of bytes', () => {
    expect(memoryOf(shapeOf(LLAMA_70B), { kv_cache_bytes: '20G' }).budgetBytes).toBe(20 * GIB);
  });
});
