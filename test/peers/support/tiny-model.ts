import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolder } from './scratch.js';

/** Tokens 0 to 15; the words follow. */
const SPECIAL_TOKENS = [
  '<pad>',
  '<bos>',
  '<eos>',
  '<unk>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|end|>',
];
const RESERVED = 16;
const WORDS = 2032;
const MAX_LENGTH = 8192;

/** Of the tiny Llama: its layers, the width of its hidden state, and that of all heads together. */
export const LAYERS = 2;
export const HIDDEN_WIDTH = 64;
const HEADS = 4;
const HEAD_WIDTH = 32;
export const HEADS_WIDTH: number = HEADS * HEAD_WIDTH;

const CHAT_TEMPLATE =
  "{{ '<bos>' }}{% for m in messages %}{{ '<|' + m['role'] + '|> ' + m['content'] + ' <|end|> ' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}";

/** Fields that both architectures share. */
const COMMON = {
  vocab_size: RESERVED + WORDS,
  hidden_act: 'silu',
  max_position_embeddings: MAX_LENGTH,
  rms_norm_eps: 1e-5,
  attention_bias: false,
  bos_token_id: 1,
  eos_token_id: 2,
  pad_token_id: 0,
  dtype: 'float32',
};

/**
 * `llama` is a plain decoder. Its head size of 32 is the smallest that vLLM's
 * CPU attention takes.
 */
const LLAMA = {
  ...COMMON,
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: HIDDEN_WIDTH,
  intermediate_size: 256,
  num_hidden_layers: LAYERS,
  num_attention_heads: HEADS,
  num_key_value_heads: 2,
  head_dim: HEAD_WIDTH,
  tie_word_embeddings: true,
};

/** As slow as a model has to be for a prompt to be felt: 1,500 tokens take seconds on one core. */
const MID = {
  ...LLAMA,
  hidden_size: 768,
  intermediate_size: 2048,
  num_hidden_layers: 12,
  num_attention_heads: 12,
  num_key_value_heads: 4,
  head_dim: 64,
};

/**
 * `mla` is a dense DeepSeek-V2. Without AMX, vLLM's CPU backend for multi-head
 * latent attention runs blocks of 16 tokens, whatever it is asked for.
 */
const MLA = {
  ...COMMON,
  architectures: ['DeepseekV2ForCausalLM'],
  model_type: 'deepseek_v2',
  hidden_size: 128,
  intermediate_size: 256,
  moe_intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 4,
  n_shared_experts: 1,
  n_routed_experts: 4,
  num_experts_per_tok: 2,
  first_k_dense_replace: 2,
  moe_layer_freq: 1,
  n_group: 1,
  topk_group: 1,
  topk_method: 'greedy',
  scoring_func: 'softmax',
  norm_topk_prob: false,
  kv_lora_rank: 512,
  q_lora_rank: null,
  qk_rope_head_dim: 64,
  qk_nope_head_dim: 128,
  v_head_dim: 128,
  rope_scaling: null,
  tie_word_embeddings: false,
};

/** Layers that see the last 128 tokens, and layers that see everything, in turns. */
const WINDOW_TOKENS = 128;
const ALTERNATING = {
  num_hidden_layers: 4,
  sliding_window: WINDOW_TOKENS,
  layer_types: ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'],
};

/** As wide as the smallest that runs with each of the kinds of layers below. */
const SMALL = {
  ...COMMON,
  hidden_size: 128,
  intermediate_size: 256,
  num_attention_heads: HEADS,
  num_key_value_heads: 2,
  head_dim: HEAD_WIDTH,
  tie_word_embeddings: true,
};

const GEMMA3 = {
  ...SMALL,
  ...ALTERNATING,
  architectures: ['Gemma3ForCausalLM'],
  model_type: 'gemma3_text',
  hidden_activation: 'gelu_pytorch_tanh',
  query_pre_attn_scalar: HEAD_WIDTH,
  rope_theta: 10_000,
  rope_local_base_freq: 10_000,
};

const GPT_OSS = {
  ...SMALL,
  ...ALTERNATING,
  architectures: ['GptOssForCausalLM'],
  model_type: 'gpt_oss',
  num_local_experts: 4,
  num_experts_per_tok: 2,
  rope_theta: 150_000,
  attention_bias: true,
  swiglu_limit: 7.5,
  tie_word_embeddings: false,
};

/** Every layer sees the last 128 tokens alone. */
const MISTRAL = {
  ...SMALL,
  architectures: ['MistralForCausalLM'],
  model_type: 'mistral',
  num_hidden_layers: 4,
  sliding_window: WINDOW_TOKENS,
  rope_theta: 10_000,
};

/** Three layers of linear attention, then one that sees everything; the CPU's kernels want heads of 128. */
const QWEN3_NEXT = {
  ...SMALL,
  architectures: ['Qwen3NextForCausalLM'],
  model_type: 'qwen3_next',
  num_hidden_layers: 4,
  full_attention_interval: 4,
  linear_num_key_heads: 2,
  linear_num_value_heads: 4,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_conv_kernel_dim: 4,
  num_experts: 4,
  num_experts_per_tok: 2,
  moe_intermediate_size: 64,
  shared_expert_intermediate_size: 64,
  decoder_sparse_step: 1,
  norm_topk_prob: true,
  mlp_only_layers: [],
  partial_rotary_factor: 0.25,
  rope_theta: 10_000,
};

/** The kinds of models that there are. */
export type Architecture = 'llama' | 'mid' | 'mla' | 'gemma3' | 'gpt-oss' | 'mistral' | 'qwen3-next';

const ARCHITECTURES: Readonly<Record<Architecture, unknown>> = {
  llama: LLAMA,
  mid: MID,
  mla: MLA,
  gemma3: GEMMA3,
  'gpt-oss': GPT_OSS,
  mistral: MISTRAL,
  'qwen3-next': QWEN3_NEXT,
};

/** How a model differs from others of its name. */
export interface ModelVariant {
  /** In place of the usual one. */
  readonly chatTemplate?: string;
  /** The number of the word that token 16 is; default 0. Another tokenizer has another one. */
  readonly firstWord?: number;
  /** Where models of other variants of the same name do not lie; default `models`. */
  readonly folderName?: string;
}

/**
 * Writes a model folder without weights (engines make some up) and returns its
 * path. Its tokenizer knows the words `w0` to `w2031`, one token each.
 */
export function tinyModel(
  name: string,
  architecture: Architecture = 'llama',
  { chatTemplate = CHAT_TEMPLATE, firstWord = 0, folderName = 'models' }: ModelVariant = {},
): string {
  const folder = join(scratchFolder(), folderName, name);
  mkdirSync(folder, { recursive: true });
  const files = {
    'config.json': ARCHITECTURES[architecture],
    'generation_config.json': { bos_token_id: 1, eos_token_id: 2, pad_token_id: 0, do_sample: false },
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: '<bos>',
      eos_token: '<eos>',
      unk_token: '<unk>',
      pad_token: '<pad>',
      model_max_length: MAX_LENGTH,
      clean_up_tokenization_spaces: false,
      chat_template: chatTemplate,
    },
    'tokenizer.json': tokenizer(firstWord),
  };
  for (const [file, content] of Object.entries(files)) {
    writeFileSync(join(folder, file), `${JSON.stringify(content, undefined, 2)}\n`);
  }
  return folder;
}

/** In the format of Hugging Face's tokenizers: words between spaces, one token each. */
function tokenizer(firstWord: number): unknown {
  const special = Array.from({ length: RESERVED }, (_, i) => SPECIAL_TOKENS[i] ?? `<|reserved${i}|>`);
  const tokens = [...special, ...Array.from({ length: WORDS }, (_, i) => `w${(firstWord + i) % WORDS}`)];
  const sequence = (id: string): unknown => ({ Sequence: { id, type_id: 0 } });
  const bos = { SpecialToken: { id: '<bos>', type_id: 0 } };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: special.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: { type: 'Split', pattern: { Regex: '\\s+' }, behavior: 'Removed', invert: false },
    post_processor: {
      type: 'TemplateProcessing',
      single: [bos, sequence('A')],
      pair: [bos, sequence('A'), sequence('B')],
      special_tokens: { '<bos>': { id: '<bos>', ids: [1], tokens: ['<bos>'] } },
    },
    decoder: null,
    model: {
      type: 'WordLevel',
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      unk_token: '<unk>',
    },
  };
}
