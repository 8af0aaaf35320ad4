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
  // An indexer of blocks with whole keys (57 of 60 layers), one that has a key for 16 tokens, and two latent vectors a layer.
  ['MiniMaxAI/MiniMax-M3', 60 * 4 * 2 * 128 * 2 + 57 * 128 * 2],
  ['zai-org/GLM-5.3-Flash', 11 * (512 * 2 + 132 / 16)],
  ['Qwen/Qwen3.8-Flash-Next', 12 * (2 * 2 * 256 * 2 + (128 * 2) / 4)],
  ['meituan-longcat/LongCat-Flash-Chat', 2 * 28 * 576 * 2],
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

const WHOLE = { tensor: 1, pipeline: 1, context: 1, isKnown: true };

describe('what a token of a public model takes', () => {
  const cases = EXPECTED.map(([model, full, windowed = 0]) => ({ model, full, windowed }));

  it.each(cases)('$model', ({ model, full, windowed }) => {
    const shape = shapeOf(CONFIGS[model] ?? {});
    const token = bytesPerToken(shape, WHOLE, {
      valueBytes: shape.dtypeBytes,
      headBytes: 0,
      latentBytes: undefined,
    });
    expect({ full: token.everywhere, windowed: token.windowed }).toEqual({ full: Math.ceil(full), windowed });
    expect(token.steps.reduce((sum, { value }) => sum + value, 0)).toBe(Math.ceil(full) + windowed);
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
    expect(shapeOf({ ...CONFIGS['Qwen/Qwen3-32B'], quantization_config })).toMatchObject({ cacheBits: 8 });
  });

  it('fills in what the part of a published configuration leaves to the defaults of its class', () => {
    const rest = { model_type: 'gemma3_text', sliding_window: 1024 };
    const twelve = {
      ...rest,
      hidden_size: 3840,
      num_attention_heads: 16,
      num_hidden_layers: 48,
      num_key_value_heads: 8,
    };
    const four = { ...rest, hidden_size: 2560, num_hidden_layers: 34 };
    const shapes = [twelve, four].map((text_config) =>
      shapeOf({ model_type: 'gemma3', torch_dtype: 'bfloat16', text_config }),
    );
    expect(shapes).toMatchObject([
      { layers: 48, kvHeads: 8, headSize: 256, slidingWindow: { tokens: 1024, layers: 40 } },
      { layers: 34, kvHeads: 4, headSize: 256, slidingWindow: { tokens: 1024, layers: 29 } },
    ]);
    expect(shapes[1]?.origin.text).toContain(
      'by the defaults of gemma3_text: num_attention_heads 8, num_key_value_heads 4, head_dim 256',
    );
    // LLaVA 1.5 says of Vicuna no more than this.
    const llava = { model_type: 'llava', text_config: { model_type: 'llama', torch_dtype: 'float16' } };
    expect(shapeOf(llava)).toMatchObject({ layers: 32, kvHeads: 32, headSize: 128 });
  });

  it('takes no default for the layers of a whole configuration, which is not the whole of it then', () => {
    expect(readModelShape('config.json', '{"model_type": "llama", "hidden_size": 4096}')).toBe(
      'has no num_hidden_layers; give the config.json of the model as its publisher has it; where that leaves it to the default of llama, add it',
    );
  });

  it('counts the layers of PLaMo 2 that attend, which keep all tokens in vLLM', () => {
    const plamo = {
      model_type: 'plamo2',
      hidden_size: 4096,
      hidden_size_per_head: 128,
      num_hidden_layers: 32,
      num_attention_heads: 32,
      num_key_value_heads: 4,
      mamba_enabled: true,
      mamba_step: 2,
      attention_window_size: 2048,
      max_position_embeddings: 10_485_760,
    };
    expect(shapeOf(plamo)).toMatchObject({ layers: 16, stateLayers: 16, slidingWindow: undefined });
    expect(shapeOf({ ...plamo, num_hidden_layers: 8, mamba_step: 16 })).toMatchObject({ layers: 1 });
  });

  it('knows of layers that attend and have a state beside', () => {
    const falcon = {
      model_type: 'falcon_h1',
      hidden_size: 2048,
      num_hidden_layers: 24,
      num_attention_heads: 8,
      num_key_value_heads: 2,
      head_dim: 128,
      mamba_d_ssm: 3072,
    };
    expect(shapeOf(falcon)).toMatchObject({ layers: 24, kvHeads: 2, stateLayers: 24 });
  });

  const PLAIN = {
    hidden_size: 2560,
    num_hidden_layers: 32,
    num_attention_heads: 40,
    num_key_value_heads: 20,
  };

  it.each([
    [
      'has layers that use the keys and values of others (use_cla), which engines cache in different ways',
      { model_type: 'hunyuan', use_cla: true, cla_share_factor: 2 },
    ],
    [
      'has layers that use the keys and values of others (mb_per_layer), which engines cache in different ways',
      { model_type: 'phi4flash', mb_per_layer: 2, sliding_window: 512 },
    ],
    [
      'has layers with a state (mamba_d_state), and which of them attend is not known here',
      { model_type: 'new_hybrid', mamba_d_state: 16 },
    ],
    [
      'has layers with a state (linear_attn_config), and which of them attend is not known here',
      { model_type: 'new_hybrid', sliding_window: 512, linear_attn_config: { heads: 4 } },
    ],
    [
      'goes through its layers more than once (total_ut_steps), and what is cached of that is not counted here',
      { model_type: 'ouro', total_ut_steps: 4 },
    ],
    [
      'has attention with compressed keys (compress_rates), whose cache is not counted here',
      { model_type: 'deepseek_v4', compress_rates: { compressed_sparse_attention: 4 } },
    ],
    [
      'has layers of a kind whose cache is not known here (layer_types: heavily_compressed_attention)',
      { model_type: 'another', layer_types: Array(32).fill('heavily_compressed_attention') },
    ],
    [
      'has layers of a kind whose cache is not known here (layer_types: hopfield)',
      { model_type: 'another', layer_types: Array(32).fill('hopfield') },
    ],
    ['is of a model without attention, which has no KV cache', { model_type: 'xlstm' }],
    ['is of an encoder, which engines run without a KV cache', { model_type: 'xlm-roberta' }],
    ['is of an encoder, which engines run without a KV cache', { model_type: 'modernbert' }],
    ['is of an encoder, which engines run without a KV cache', { model_type: 'llama', is_causal: false }],
    [
      'is of an encoder, which engines run without a KV cache',
      { model_type: 'gemma3_text', use_bidirectional_attention: true },
    ],
    [
      'is of an encoder-decoder, whose cache of what the encoder made is not counted here',
      { model_type: 't5', d_model: 1024, d_kv: 128, num_heads: 128, num_layers: 24 },
    ],
    [
      'is of an encoder-decoder, whose cache of what the encoder made is not counted here',
      { model_type: 'another', is_encoder_decoder: true },
    ],
    [
      'is of an encoder-decoder, whose cache of what the encoder made is not counted here',
      { model_type: 'another', encoder_layers: 12, decoder_layers: 12 },
    ],
  ])('is not counted: %s', (reason, fields) => {
    expect(readModelShape('config.json', JSON.stringify({ ...PLAIN, ...fields }))).toBe(reason);
  });

  it.each([
    ['a sharing that is switched off', { use_cla: false, cla_share_factor: 2 }],
    ['experts that all tokens share', { n_shared_experts: 2, shared_expert_intermediate_size: 512 }],
    ['a state that is switched off', { mamba_enabled: false, linear_attn_config: null }],
    [
      'names of layers, whatever else there is',
      { layer_types: Array(32).fill('full_attention'), ssm_cfg: {} },
    ],
    ['marks of layers that all attend', { attn_type_list: Array(32).fill(1), linear_attn_beta: 1 }],
    ['no encoder', { is_encoder_decoder: false }],
    ['attention that looks back alone', { is_causal: true }],
    ['a prefix that is read both ways', { model_type: 'gemma', use_bidirectional_attention: true }],
    ['a BERT that writes', { model_type: 'bert', is_decoder: true }],
    [
      'an embedding model that was made of one that writes',
      { model_type: 'qwen2', architectures: ['Qwen2Model'] },
    ],
    ['a convolution of another part', { conv_bias: true, vision_config: { mamba_step: 2 } }],
  ])('is counted with %s', (_, fields) => {
    expect(shapeOf({ model_type: 'another', ...PLAIN, ...fields })).toMatchObject({
      layers: 32,
      kvHeads: 20,
    });
  });

  it.each([
    ['none of them shares', {}, 61],
    [
      'a list',
      { indexer_types: Array.from({ length: 61 }, (_, at) => (at % 4 === 0 ? 'full' : 'shared')) },
      16,
    ],
    ['letters', { index_topk_pattern: `${'FS'.repeat(30)}F` }, 31],
    ['the first two, and every fourth from there', { index_topk_freq: 4 }, 16],
    ['every fourth', { index_topk_freq: 4, index_skip_topk_offset: 0 }, 15],
  ])('counts the indexers of layers that have one of their own: %s', (_, fields, layers) => {
    const shape = shapeOf({ ...CONFIGS['deepseek-ai/DeepSeek-V3.2'], ...fields });
    const indexed = shape.groups.filter(({ indexBytes }) => indexBytes === 132);
    expect(indexed.reduce((sum, group) => sum + group.layers, 0)).toBe(layers);
  });

  it('knows every how many layers attend where a configuration leaves it to its class', () => {
    const text_config = { model_type: 'qwen3_5_moe_text', hidden_size: 2048, num_hidden_layers: 40 };
    const config = { model_type: 'qwen3_5_moe', text_config: { ...text_config, linear_num_value_heads: 32 } };
    expect(shapeOf(config)).toMatchObject({ layers: 10, stateLayers: 30, kvHeads: 2, headSize: 256 });
  });

  it('leaves out the last layers that use the keys of earlier ones', () => {
    const config = { ...CONFIGS['google/gemma-3-1b-it'], num_kv_shared_layers: 6 };
    expect(shapeOf(config)).toMatchObject({ layers: 20, slidingWindow: { tokens: 512, layers: 17 } });
  });
});
