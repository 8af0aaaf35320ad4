import { join } from 'node:path';
import { DEFAULT_JSON_BOUNDS, parseJson } from '../../../edge/platform/data/bounded-json.js';
import { kindOfPath } from '../../../edge/platform/files/find-files.js';
import type { EvidencePart, ModelShape } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';
import { notRead, outcome } from './outcomes.js';
import { readText } from './read-text.js';

/** A `config.json` with a large vocabulary of quantisation exceptions. */
const MAX_CONFIG_BYTES = 4 * 1024 * 1024;
/** An index names the file of every tensor. */
const MAX_INDEX_BYTES = 64 * 1024 * 1024;
/** One member for each tensor, of which the largest models have some hundred thousand. */
const INDEX_BOUNDS = {
  maxBytes: MAX_INDEX_BYTES,
  maxDepth: 8,
  maxValues: 2_000_000,
  maxMemoryBytes: 384 * 1024 * 1024,
};
const WEIGHT_INDEXES = ['model.safetensors.index.json', 'pytorch_model.bin.index.json'];

/**
 * The shape of a model, from its `config.json` or the folder with it; of a
 * folder also the size of its weights, by the index of their files. Never rejects.
 */
export async function gatherModel(path: string): Promise<EvidencePart> {
  try {
    const isFolder = (await kindOfPath(path)) === 'folder';
    const file = isFolder ? join(path, 'config.json') : path;
    const shape = readModelShape(file, await readText(file, MAX_CONFIG_BYTES));
    if (typeof shape === 'string') return notRead('model', path, shape);
    const weightBytes = isFolder ? await readWeightBytes(path) : undefined;
    const model = { ...shape, weightBytes: weightBytes ?? shape.weightBytes };
    const detail = `${model.layers} layers, ${model.kvHeads} KV heads of ${model.headSize}, ${model.dtypeBytes} bytes a value`;
    return { source: outcome('model', path, 'read', detail), models: [model] };
  } catch (error) {
    return notRead('model', path, error);
  }
}

/** What an index of weights says of them all; undefined where there is none that can be read. */
async function readWeightBytes(folder: string): Promise<number | undefined> {
  for (const name of WEIGHT_INDEXES) {
    try {
      const index: unknown = parseJson(await readText(join(folder, name), MAX_INDEX_BYTES), INDEX_BOUNDS);
      const bytes = fieldOf(fieldOf(index, 'metadata'), 'total_size');
      if (typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes > 0) return bytes;
    } catch {
      // A model in one file has no index, and what is not there is not reported.
    }
  }
  return undefined;
}

const DTYPE_BYTES: ReadonlyMap<string, number> = new Map([
  ['float32', 4],
  ['float', 4],
  ['bfloat16', 2],
  ['float16', 2],
  ['half', 2],
]);

/** No model has more, and more would overflow what is counted from it. */
const MAX_NUMBER = 1_000_000;

/**
 * Reads a `config.json` as Hugging Face's models have it; in models of several
 * parts what belongs to their text. A text says why it cannot be read.
 * @internal
 */
export function readModelShape(file: string, json: string): ModelShape | string {
  let whole: unknown;
  try {
    whole = parseJson(json, { ...DEFAULT_JSON_BOUNDS, maxBytes: MAX_CONFIG_BYTES });
  } catch {
    return 'is no JSON; give the config.json of the model, or its folder';
  }
  const config = fieldOf(whole, 'text_config') ?? fieldOf(whole, 'llm_config') ?? whole;
  const number = (...names: readonly string[]): number | undefined => {
    for (const name of names) {
      const value = fieldOf(config, name);
      if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value <= MAX_NUMBER)
        return value;
    }
    return undefined;
  };
  const layers = number('num_hidden_layers', 'n_layer', 'num_layers');
  const heads = number('num_attention_heads', 'n_head', 'num_heads');
  const hidden = number('hidden_size', 'n_embd', 'd_model');
  const headSize =
    number('head_dim') ??
    (hidden !== undefined && heads !== undefined ? Math.floor(hidden / heads) : undefined);
  const kvHeads = number('num_key_value_heads', 'num_kv_heads') ?? heads;
  const latent = number('kv_lora_rank');
  if (layers === undefined) return missing('num_hidden_layers');
  if (kvHeads === undefined) return missing('num_attention_heads');
  if (headSize === undefined || headSize === 0) return missing('head_dim, nor hidden_size to divide');
  const dtype = [config, whole]
    .map((one) => fieldOf(one, 'torch_dtype') ?? fieldOf(one, 'dtype'))
    .find(isText);
  const name = [whole, config]
    .flatMap((one) => [fieldOf(one, '_name_or_path'), fieldOf(one, 'model_type')])
    .find((value): value is string => isText(value) && value !== '');
  return {
    name: (name ?? '').slice(0, 200),
    layers: attentionLayers(config, layers),
    kvHeads,
    headSize,
    dtypeBytes: DTYPE_BYTES.get(dtype ?? '') ?? 2,
    // DeepSeek caches the compressed vector and the part of the key that carries the position.
    latentSize: latent === undefined ? undefined : latent + (number('qk_rope_head_dim') ?? 0),
    slidingWindow: windowOf(config, layers),
    weightBytes: denseWeightBytes(config, DTYPE_BYTES.get(dtype ?? '')),
    origin: {
      place: file,
      text: excerptOf(
        `num_hidden_layers ${layers}, num_key_value_heads ${kvHeads}, head size ${headSize}, ${dtype ?? 'no dtype given, 2 bytes assumed'}`,
        '',
      ),
    },
  };
}

/** Models whose weights follow from their shape: attention, a gated MLP, and embeddings. */
const DENSE: ReadonlySet<unknown> = new Set(['llama', 'mistral', 'qwen2', 'qwen3']);

/** Bytes of all weights, but for norms and biases; undefined for quantised models and those of another making. */
function denseWeightBytes(config: unknown, dtypeBytes: number | undefined): number | undefined {
  if (dtypeBytes === undefined || !DENSE.has(fieldOf(config, 'model_type'))) return undefined;
  if (fieldOf(config, 'quantization_config') !== undefined) return undefined;
  const names = [
    'hidden_size',
    'num_hidden_layers',
    'num_attention_heads',
    'intermediate_size',
    'vocab_size',
  ];
  const [hidden, layers, heads, inner, vocabulary] = names.map((name) => Number(fieldOf(config, name)));
  if (hidden === undefined || layers === undefined || heads === undefined) return undefined;
  if (inner === undefined || vocabulary === undefined) return undefined;
  const headSize = Number(fieldOf(config, 'head_dim') ?? hidden / heads);
  const kvHeads = Number(fieldOf(config, 'num_key_value_heads') ?? heads);
  const attention = 2 * hidden * heads * headSize + 2 * hidden * kvHeads * headSize;
  const embeddings = vocabulary * hidden * (fieldOf(config, 'tie_word_embeddings') === true ? 1 : 2);
  const bytes = (layers * (attention + 3 * hidden * inner) + embeddings) * dtypeBytes;
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}

/** Layers with keys and values: a hybrid model has others that keep a state of one size. */
function attentionLayers(config: unknown, layers: number): number {
  const kinds = fieldOf(config, 'layer_types');
  if (!Array.isArray(kinds) || kinds.length !== layers) return layers;
  const attending = kinds.filter((kind) => /attention/.test(String(kind)) && !/linear/.test(String(kind)));
  return attending.length === 0 ? layers : attending.length;
}

function windowOf(config: unknown, layers: number): ModelShape['slidingWindow'] {
  const tokens = fieldOf(config, 'sliding_window');
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens <= 0) return undefined;
  // Qwen2 has a number for it and does not use it.
  if (fieldOf(config, 'use_sliding_window') === false) return undefined;
  const kinds = fieldOf(config, 'layer_types');
  if (Array.isArray(kinds) && kinds.length === layers) {
    const windowed = kinds.filter((kind) => kind === 'sliding_attention').length;
    return windowed === 0 ? undefined : { tokens, layers: windowed };
  }
  // Gemma 3: every sixth layer sees everything. Gemma 2: every second.
  const pattern = fieldOf(config, 'sliding_window_pattern');
  if (typeof pattern === 'number' && Number.isSafeInteger(pattern) && pattern > 1)
    return { tokens, layers: layers - Math.floor(layers / pattern) };
  if (fieldOf(config, 'model_type') === 'gemma2') return { tokens, layers: Math.ceil(layers / 2) };
  if (fieldOf(config, 'model_type') === 'gemma3_text')
    return { tokens, layers: layers - Math.floor(layers / 6) };
  return { tokens, layers };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function missing(name: string): string {
  return `has no ${name}; give the config.json of the model as its publisher has it`;
}
