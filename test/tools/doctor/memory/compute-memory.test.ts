import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SettingName } from '../../../../src/engines/diagnosis/sighting-words.js';
import { type Evidence, joinEvidence, type ModelShape } from '../../../../src/tools/doctor/evidence.js';
import { readModelShape } from '../../../../src/tools/doctor/gather/model.js';
import { computeMemory } from '../../../../src/tools/doctor/memory/compute-memory.js';
import type { MemoryArithmetic } from '../../../../src/tools/doctor/memory/memory-arithmetic.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const ORIGIN = { place: 'deploy/graph.yaml:1:1', text: '' };

const LLAMA_8B = {
  model_type: 'llama',
  hidden_size: 4096,
  intermediate_size: 14336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  torch_dtype: 'bfloat16',
  vocab_size: 128256,
};
const LLAMA_70B = {
  ...LLAMA_8B,
  hidden_size: 8192,
  intermediate_size: 28672,
  num_hidden_layers: 80,
  num_attention_heads: 64,
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
const GEMMA3_27B = {
  model_type: 'gemma3',
  text_config: {
    model_type: 'gemma3_text',
    hidden_size: 5376,
    num_hidden_layers: 62,
    num_attention_heads: 32,
    num_key_value_heads: 16,
    head_dim: 128,
    sliding_window: 1024,
  },
  torch_dtype: 'bfloat16',
};

function shapeOf(config: object): ModelShape {
  const shape = readModelShape('config.json', JSON.stringify(config));
  if (typeof shape === 'string') throw new Error(shape);
  return shape;
}

interface Worker {
  readonly who?: string;
  readonly settings?: Partial<Record<SettingName, string | number>>;
  readonly tokensPerBlock?: number;
}

function evidenceOf(config: object, workers: readonly Worker[] = [{}], gpuMib?: number): Evidence {
  const source = { kind: 'engine', name: 'x', status: 'read', detail: '' } as const;
  return joinEvidence([
    { source, models: [shapeOf(config)] },
    ...workers.map(({ who = 'worker-0', settings = {}, tokensPerBlock = 32 }) => ({
      source,
      sizes: [{ side: 'worker', who, tokensPerBlock, basis: 'in_use', origin: ORIGIN } as const],
      settings: Object.entries(settings).map(([name, value]) => ({
        side: 'worker' as const,
        who,
        name: name as SettingName,
        value: String(value),
        isDefault: false,
        origin: ORIGIN,
      })),
    })),
    ...(gpuMib === undefined
      ? []
      : [
          {
            source,
            gpus: [
              {
                who: '',
                index: 0,
                product: 'H100',
                totalBytes: gpuMib * MIB,
                usedBytes: undefined,
                origin: ORIGIN,
              },
            ],
          },
        ]),
  ]);
}

function memoryOf(...given: Parameters<typeof evidenceOf>): MemoryArithmetic {
  const [only, ...more] = computeMemory(evidenceOf(...given));
  if (only === undefined || more.length > 0) throw new Error('not one arithmetic');
  return only;
}

describe('what a token takes', () => {
  it('is 128 KiB of Llama 3 8B, and 4 MiB for a block of 32', () => {
    const { bytesPerToken, bytesPerBlock, steps } = memoryOf(LLAMA_8B);
    expect({ bytesPerToken, bytesPerBlock }).toEqual({ bytesPerToken: 128 * KIB, bytesPerBlock: 4 * MIB });
    expect(steps[0]?.expression).toBe('2 x 32 layers x 8 KV heads x 128 x 2 bytes');
  });

  it('is half of that in FP8', () => {
    const [fp8, auto] = ['fp8_e4m3', 'auto'].map((kv_cache_dtype) =>
      memoryOf(LLAMA_8B, [{ settings: { kv_cache_dtype } }]),
    );
    expect(fp8?.bytesPerToken).toBe(64 * KIB);
    expect(auto?.bytesPerToken).toBe(128 * KIB);
  });

  it('is divided among the GPUs of a tensor-parallel worker, which keep one head at the least', () => {
    const of = (tensor_parallel_size: number): number | undefined =>
      memoryOf(LLAMA_70B, [{ settings: { tensor_parallel_size } }]).bytesPerToken;
    expect([1, 4, 8, 16].map(of)).toEqual([320 * KIB, 80 * KIB, 40 * KIB, 40 * KIB]);
  });

  it('is divided among the stages of a pipeline by layers', () => {
    expect(memoryOf(LLAMA_70B, [{ settings: { pipeline_parallel_size: 3 } }]).bytesPerToken).toBe(
      27 * 2 * 8 * 128 * 2,
    );
  });

  it('is the latent vector of DeepSeek, whole on every GPU', () => {
    const { bytesPerToken, steps } = memoryOf(DEEPSEEK_V3, [{ settings: { tensor_parallel_size: 8 } }]);
    expect(bytesPerToken).toBe(61 * 576 * 2);
    expect(steps[0]?.expression).toBe('61 layers x 576 latent values x 2 bytes');
  });

  it('counts layers with a window apart from the others', () => {
    const { bytesPerToken, steps } = memoryOf(GEMMA3_27B);
    expect(bytesPerToken).toBe(62 * 2 * 16 * 128 * 2);
    expect(steps.map(({ expression }) => expression).slice(0, 2)).toEqual([
      '2 x 10 layers x 16 KV heads x 128 x 2 bytes',
      '2 x 52 layers x 16 KV heads x 128 x 2 bytes',
    ]);
  });
});

describe('what a cache holds', () => {
  it('uses the number of blocks that the engine reports', () => {
    const settings = { tensor_parallel_size: 1, total_kv_blocks: 10_000, free_gpu_memory_fraction: 0.9 };
    const memory = memoryOf(LLAMA_8B, [{ settings }], 81_559);
    expect(memory.capacityTokens).toBe(320_000);
    expect(memory.budgetBytes).toBe(10_000 * 4 * MIB);
  });

  it('is what vLLM 0.32 reported of a model of two layers: 524,288 tokens in 256 MiB', () => {
    const config = {
      model_type: 'llama',
      hidden_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 32,
      dtype: 'float32',
    };
    const settings = { kv_cache_bytes: 256 * MIB };
    expect(memoryOf(config, [{ settings }])).toMatchObject({ bytesPerToken: 512, capacityTokens: 524_288 });
  });

  it('uses the tokens that SGLang reports', () => {
    expect(memoryOf(LLAMA_8B, [{ settings: { kv_cache_tokens: 123_456 } }]).capacityTokens).toBe(123_456);
  });

  it('is the fraction of what the weights leave, for TensorRT-LLM', () => {
    const settings = { tensor_parallel_size: 4, free_gpu_memory_fraction: 0.85 };
    const memory = memoryOf(LLAMA_70B, [{ settings }], 81_559);
    const weights = 141_104_775_168 / 4;
    const budget = Math.floor((81_559 * MIB - weights) * 0.85);
    expect(memory.budgetBytes).toBe(budget);
    expect(memory.capacityTokens).toBe(Math.floor(budget / (80 * KIB)));
  });

  it('is the fraction of the whole GPU less the weights, for vLLM', () => {
    const settings = { tensor_parallel_size: 1, gpu_memory_utilization: 0.9 };
    const memory = memoryOf(LLAMA_8B, [{ settings }], 81_559);
    const weights = shapeOf(LLAMA_8B).weightBytes ?? 0;
    expect(weights).toBe(16_059_990_016);
    expect(memory.budgetBytes).toBe(Math.floor(81_559 * MIB * 0.9) - weights);
  });

  it('is not guessed where weights or GPUs are not known', () => {
    const settings = { tensor_parallel_size: 1, gpu_memory_utilization: 0.9 };
    expect(memoryOf(LLAMA_8B, [{ settings }]).capacityTokens).toBeUndefined();
    expect(memoryOf(DEEPSEEK_V3, [{ settings }], 81_559).budgetBytes).toBeUndefined();
    const quantised = { ...LLAMA_8B, quantization_config: { quant_method: 'awq' } };
    expect(memoryOf(quantised, [{ settings }], 81_559).capacityTokens).toBeUndefined();
  });

  it('is not claimed where nobody says how many GPUs a worker has', () => {
    const memory = memoryOf(LLAMA_70B, [{ settings: { gpu_memory_utilization: 0.9 } }], 81_559);
    expect(memory).toMatchObject({
      isOverAllGpus: true,
      bytesPerToken: 320 * KIB,
      budgetBytes: undefined,
      capacityTokens: undefined,
    });
    expect(memory.steps[0]?.says).toBe('One token takes, on all GPUs of a worker together');
    expect(memory.capacityUnknown).toMatch(
      /^over how many GPUs the model is divided was not seen \(tensor_parallel_size\)/,
    );
    // What the engine itself reports needs no division.
    const settings = { total_kv_blocks: 1_000, gpu_memory_utilization: 0.9 };
    expect(memoryOf(LLAMA_70B, [{ settings }], 81_559)).toMatchObject({
      budgetBytes: undefined,
      capacityTokens: 32_000,
    });
  });

  it('is not claimed where nobody says which share of a GPU the engine takes, and says so', () => {
    const memory = memoryOf(LLAMA_70B, [{ settings: { tensor_parallel_size: 4 } }], 81_559);
    expect(memory).toMatchObject({ budgetBytes: undefined, capacityTokens: undefined });
    expect(memory.capacityUnknown).toMatch(/gpu_memory_utilization/);
  });

  it.each([
    ['0.19.1', 0.9],
    ['0.11.2', 0.9],
    ['0.20.0', 0.92],
    ['0.20.1', 0.92],
    ['0.32.0+cu130', 0.92],
    ['0.21.0.post1', 0.92],
  ])('takes the share that vLLM %s takes by itself, and names it as that', (engine_version, share) => {
    const settings = { tensor_parallel_size: 1, backend: 'vllm', engine_version };
    const { budgetBytes, steps } = memoryOf(LLAMA_8B, [{ settings }], 81_559);
    expect(budgetBytes).toBe(Math.floor(81_559 * MIB * share) - 16_059_990_016);
    expect(steps.find(({ says }) => says.startsWith('For KV blocks'))?.expression).toContain(
      `x ${share}, the default of its release, - `,
    );
  });

  it.each([
    ['a build between two releases', { backend: 'vllm', engine_version: '0.19.2rc1.dev134+gfe9c3d6c5' }],
    ['a build without a release', { backend: 'vllm', engine_version: '0.1.dev1+gda1daf40b' }],
    ['SGLang, where more decides', { backend: 'sglang', engine_version: '0.5.23' }],
    ['a share that is none', { backend: 'vllm', engine_version: '0.32.0', gpu_memory_utilization: '90' }],
  ])('takes no share by default of %s', (_, more) => {
    const { budgetBytes, capacityUnknown } = memoryOf(
      LLAMA_8B,
      [{ settings: { tensor_parallel_size: 1, ...more } }],
      81_559,
    );
    expect(budgetBytes).toBeUndefined();
    expect(capacityUnknown).toMatch(/^which share of the GPU/);
  });

  it('is no number of tokens where an engine divides bytes between kinds of layers by its own settings', () => {
    const settings = { tensor_parallel_size: 1, kv_cache_bytes: 10 * 1024 * MIB, max_model_len: 8_192 };
    const of = (config: object, backend: string): MemoryArithmetic =>
      memoryOf(config, [{ settings: { ...settings, backend } }]);
    const hybrid = {
      ...LLAMA_8B,
      layer_types: Array.from({ length: 32 }, (_, at) =>
        at % 4 === 3 ? 'full_attention' : 'linear_attention',
      ),
    };
    expect(of(GEMMA3_27B, 'sglang').capacityUnknown).toMatch(/swa_full_tokens_ratio/);
    expect(of(GEMMA3_27B, 'trtllm').capacityUnknown).toMatch(/max_attention_window/);
    expect(of(hybrid, 'sglang').capacityUnknown).toMatch(/mamba_full_memory_ratio/);
    expect(of(hybrid, 'trtllm').capacityUnknown).toMatch(/max_batch_size/);
    expect(of(GEMMA3_27B, 'vllm').capacityTokens).toBeGreaterThan(0);
    expect(of(hybrid, 'vllm').steps.map(({ says }) => says)).toContain(
      'The cache holds, less what the states of sequences take',
    );
    expect(of(LLAMA_8B, 'sglang').capacityTokens).toBe(81_920);
  });

  it('is less what a model that drafts tokens takes, and counts the own layers that do', () => {
    const settings = { tensor_parallel_size: 1, kv_cache_bytes: 10 * 1024 * MIB };
    const of = (config: object, speculation: string): MemoryArithmetic =>
      memoryOf(config, [{ settings: { ...settings, speculation } }]);
    expect(of(LLAMA_8B, 'eagle3').steps.map(({ says }) => says)).toContain(
      'The cache holds, less what the model that drafts tokens takes',
    );
    const own = of({ ...DEEPSEEK_V3, num_nextn_predict_layers: 1 }, 'deepseek_mtp');
    expect(own).toMatchObject({ bytesPerToken: 62 * 576 * 2 });
    expect(own.steps.map(({ says }) => says)).toContain('The cache holds');
  });

  it('keeps all tokens of chunks, as vLLM does unless it is set otherwise', () => {
    const config = {
      model_type: 'llama4',
      text_config: {
        model_type: 'llama4_text',
        num_hidden_layers: 48,
        num_attention_heads: 40,
        num_key_value_heads: 8,
        head_dim: 128,
        attention_chunk_size: 8192,
        max_position_embeddings: 1048576,
      },
    };
    const settings = { tensor_parallel_size: 1, kv_cache_bytes: 192 * KIB * 1000, max_model_len: 430_000 };
    expect(memoryOf(config, [{ settings }]).capacityTokens).toBe(1000);
  });

  it('is not claimed where the weights do not fit, as then a number is of another worker', () => {
    const settings = { tensor_parallel_size: 1, gpu_memory_utilization: 0.9 };
    const memory = memoryOf(LLAMA_70B, [{ settings }], 81_559);
    expect(memory).toMatchObject({ budgetBytes: undefined, capacityTokens: undefined });
    expect(memory.capacityUnknown).toMatch(/^these weights do not fit on this GPU: /);
  });

  it('is not the number of blocks where layers of several kinds share them, unless the engine keeps them apart', () => {
    const settings = { tensor_parallel_size: 1, total_kv_blocks: 1_000 };
    const shared = memoryOf(GEMMA3_27B, [{ settings }]);
    expect(shared).toMatchObject({ budgetBytes: undefined, capacityTokens: undefined });
    expect(shared.capacityUnknown).toMatch(/"GPU KV cache size"/);
    expect(memoryOf(GEMMA3_27B, [{ settings: { ...settings, backend: 'sglang' } }]).capacityTokens).toBe(
      32_000,
    );
    const reported = memoryOf(GEMMA3_27B, [{ settings: { ...settings, kv_cache_tokens: 9_000 } }]);
    expect(reported).toMatchObject({ capacityTokens: 9_000, capacityUnknown: undefined });
  });

  it('is more of long sequences where layers have a window', () => {
    const settings = { kv_cache_bytes: 10 * 1024 * MIB };
    const short = memoryOf(GEMMA3_27B, [{ settings }]).capacityTokens ?? 0;
    const long =
      memoryOf(GEMMA3_27B, [{ settings: { ...settings, max_model_len: 32_768 } }]).capacityTokens ?? 0;
    expect(long).toBeGreaterThan(5 * short);
  });
});

describe('against what is asked of it', () => {
  it('stand the sequences that may run at a time, and the batch that leaves half of it', () => {
    const settings = { total_kv_blocks: 10_000, max_batch_size: 64, max_model_len: 8_192 };
    const memory = memoryOf(LLAMA_8B, [{ settings }]);
    expect(memory.demandTokens).toBe(64 * 8_192);
    expect(memory.largestBatch).toBe(Math.floor(160_000 / 8_192));
  });

  it('reports workers of the same numbers once, and others apart', () => {
    const settings = { tensor_parallel_size: 1, total_kv_blocks: 100 };
    const evidence = evidenceOf(LLAMA_8B, [
      { who: 'a', settings },
      { who: 'b', settings },
      { who: 'c', settings: { ...settings, total_kv_blocks: 50 } },
    ]);
    expect(computeMemory(evidence).map(({ who }) => who)).toEqual(['a, b', 'c']);
  });

  it('is nothing without a model', () => {
    const evidence = { ...evidenceOf(LLAMA_8B), models: [] };
    expect(computeMemory(evidence)).toEqual([]);
  });

  it('takes no number that is none', () => {
    const settings = {
      tensor_parallel_size: 'four',
      max_num_seqs: '-3',
      max_model_len: '',
      gpu_memory_utilization: '90',
      total_kv_blocks: '1e400',
    };
    const memory = memoryOf(LLAMA_8B, [{ settings }], 81_559);
    expect(memory).toMatchObject({
      bytesPerToken: 128 * KIB,
      budgetBytes: undefined,
      demandTokens: undefined,
    });
  });
});

describe('whatever the numbers are', () => {
  const names = [
    'tensor_parallel_size',
    'total_kv_blocks',
    'max_num_seqs',
    'max_model_len',
    'kv_cache_tokens',
  ];
  const more = ['free_gpu_memory_fraction', 'gpu_memory_utilization', 'kv_cache_dtype', 'kv_cache_bytes'];
  const value = fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constantFrom('fp8', 'nvfp4', '0.9', '4'));

  it('each step is a number that can be shown', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names, ...more), value),
        fc.constantFrom(LLAMA_8B, DEEPSEEK_V3, GEMMA3_27B),
        (settings, config) => {
          for (const { steps, capacityTokens } of computeMemory(evidenceOf(config, [{ settings }], 81_559))) {
            for (const step of steps) expect(Number.isFinite(step.value)).toBe(true);
            expect(capacityTokens ?? 0).toBeGreaterThanOrEqual(0);
          }
        },
      ),
    );
  });
});

describe('workers that a router names by its own ids', () => {
  const decided = { settings: { total_kv_blocks: 18_432 } };
  const of = (...workers: readonly Worker[]): readonly MemoryArithmetic[] =>
    computeMemory(evidenceOf(LLAMA_70B, workers));

  it('are those that files name, with the blocks that the router knows', () => {
    const named = { who: 'decode', settings: { tensor_parallel_size: 4 } };
    const all = of(named, { who: '5120938477162536', ...decided }, { who: '8841772635540019', ...decided });
    expect(all.map(({ who, bytesPerToken, capacityTokens }) => [who, bytesPerToken, capacityTokens])).toEqual(
      [['decode', 80 * KIB, 18_432 * 32]],
    );
  });

  it('are workers of their own where nobody else names any, and of no known one of several', () => {
    expect(of({ who: '5120938477162536', ...decided })[0]?.who).toBe('5120938477162536');
    const several = of(
      { who: 'prefill', settings: { tensor_parallel_size: 4 } },
      { who: 'decode', settings: { tensor_parallel_size: 8 } },
      { who: '5120938477162536', ...decided },
    );
    expect(several.map(({ capacityTokens }) => capacityTokens)).toEqual([undefined, undefined]);
  });
});
