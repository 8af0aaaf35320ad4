import { ConfigFields } from './config-fields.js';

/**
 * What Hugging Face's code takes for fields that a `config.json` leaves out, by `model_type`, of those that decide about the
 * KV cache; engines read the same classes. Read in transformers 5.24. Of all other models a missing head size follows from
 * the hidden size, missing KV heads are as many as the heads, and layers and heads have to be there.
 */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  gemma: sizes(3072, 28, 16, { num_key_value_heads: 16, head_dim: 256 }),
  gemma2: sizes(2304, 26, 8, { num_key_value_heads: 4, head_dim: 256, sliding_window: 4096 }),
  gemma3_text: sizes(2304, 26, 8, { num_key_value_heads: 4, head_dim: 256, sliding_window: 4096 }),
  gemma3n_text: sizes(2048, 35, 8, {
    num_key_value_heads: 2,
    head_dim: 256,
    sliding_window: 512,
    sliding_window_pattern: 5,
    num_kv_shared_layers: 15,
  }),
  vaultgemma: sizes(2304, 26, 8, { num_key_value_heads: 4, head_dim: 256, sliding_window: 4096 }),
  llama: sizes(4096, 32, 32, {}),
  llama4_text: sizes(5120, 48, 40, { num_key_value_heads: 8, head_dim: 128, attention_chunk_size: 8192 }),
  mistral: sizes(4096, 32, 32, { num_key_value_heads: 8, sliding_window: 4096 }),
  ministral3: sizes(4096, 34, 32, { num_key_value_heads: 8, head_dim: 128 }),
  mixtral: sizes(4096, 32, 32, { num_key_value_heads: 8 }),
  phi3: sizes(3072, 32, 32, {}),
  cohere: sizes(8192, 40, 64, {}),
  cohere2: sizes(8192, 40, 64, { sliding_window: 4096 }),
  granite: sizes(4096, 32, 32, {}),
  qwen2: sizes(4096, 32, 32, { num_key_value_heads: 32 }),
  qwen3: sizes(4096, 32, 32, { num_key_value_heads: 32, head_dim: 128 }),
  qwen3_moe: sizes(2048, 24, 32, { num_key_value_heads: 4 }),
  qwen3_vl_text: sizes(4096, 32, 32, { num_key_value_heads: 32, head_dim: 128 }),
  qwen3_next: sizes(2048, 48, 16, { num_key_value_heads: 2, head_dim: 256, full_attention_interval: 4 }),
  qwen3_5_text: sizes(4096, 32, 16, { num_key_value_heads: 4, head_dim: 256, full_attention_interval: 4 }),
  qwen3_5_moe_text: sizes(2048, 40, 16, {
    num_key_value_heads: 2,
    head_dim: 256,
    full_attention_interval: 4,
  }),
  qwen4_exp_text: sizes(2048, 40, 16, { num_key_value_heads: 2, head_dim: 256, full_attention_interval: 4 }),
  gpt_oss: sizes(2880, 36, 64, { num_key_value_heads: 8, head_dim: 64, sliding_window: 128 }),
  afmoe: { head_dim: 128 },
  cohere2_moe: { head_dim: 128 },
  cwm: { num_key_value_heads: 8, head_dim: 128 },
  ernie4_5: { num_key_value_heads: 2, head_dim: 128 },
  glm: { num_key_value_heads: 2, head_dim: 128 },
  glm4: { num_key_value_heads: 2, head_dim: 128 },
  helium: { head_dim: 128 },
  hy_v3: { num_key_value_heads: 8, head_dim: 128 },
  minimax_m2: { num_key_value_heads: 8, head_dim: 128 },
  nemotron_h: { num_key_value_heads: 8, head_dim: 128 },
  seed_oss: { num_key_value_heads: 8, head_dim: 128 },
  solar_open: { num_key_value_heads: 8, head_dim: 128 },
};

function sizes(
  hidden_size: number,
  num_hidden_layers: number,
  num_attention_heads: number,
  others: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  return { hidden_size, num_hidden_layers, num_attention_heads, ...others };
}

/** Another name of a field, which stands where it does. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  num_hidden_layers: ['n_layer', 'n_layers', 'num_layers'],
  num_attention_heads: ['n_head', 'n_heads', 'num_heads'],
  num_key_value_heads: ['n_head_kv', 'num_kv_heads', 'n_kv_heads', 'num_key_value_heads_per_layer'],
  sliding_window_pattern: ['_sliding_window_pattern', 'layer_types'],
  full_attention_interval: ['layer_types'],
};

/** A configuration with the defaults of its `model_type`, and which of them it takes: `head_dim 256`. */
export interface WithDefaults {
  readonly config: ConfigFields;
  readonly taken: readonly string[];
}

/** What only a part of a configuration leaves out, as Hugging Face writes of it what is not the default; a whole one has it. */
const OF_PARTS: ReadonlySet<string> = new Set(['hidden_size', 'num_hidden_layers', 'num_attention_heads']);

/**
 * Fills in what a configuration, or the `part` of one, leaves out; a field that is there stays, also as null. `wholeType` is
 * the `model_type` of the whole, by which a part without one of its own goes: `gemma3` has a `gemma3_text`.
 */
export function withDefaults(config: ConfigFields, wholeType: string, isPart: boolean): WithDefaults {
  const { object } = config;
  const own = config.text('model_type');
  const type = own === '' && isPart ? `${wholeType}_text` : own;
  const defaults = Object.hasOwn(DEFAULTS, type) ? DEFAULTS[type] : undefined;
  if (defaults === undefined || typeof object !== 'object' || object === null) return { config, taken: [] };
  const isThere = (name: string): boolean =>
    [name, ...(OTHER_NAMES[name] ?? [])].some((one) => Object.hasOwn(object, one));
  const missing = Object.entries(defaults).filter(
    ([name]) => !isThere(name) && (isPart || !OF_PARTS.has(name)),
  );
  const filled = { ...object, model_type: type, ...Object.fromEntries(missing) };
  const taken = missing.filter(([name]) => SHOWN.has(name)).map(([name, value]) => `${name} ${value}`);
  return { config: new ConfigFields(filled), taken };
}

/** Fields whose defaults the report names. */
const SHOWN: ReadonlySet<string> = new Set([
  'num_hidden_layers',
  'num_attention_heads',
  'num_key_value_heads',
  'head_dim',
  'sliding_window',
  'num_kv_shared_layers',
]);
