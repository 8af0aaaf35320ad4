import { dirname, join } from 'node:path';
import { parseJson } from '../../../edge/platform/data/bounded-json.js';
import { sizeOfFile } from '../../../edge/platform/files/find-files.js';
import type { Origin } from '../evidence.js';
import { type ConfigFields, fieldOf } from './config-fields.js';
import { readText } from './read-text.js';

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

/** A small model, with a header of some kilobytes. */
const ONE_FILE = 'model.safetensors';
/** Less is a pointer of Git LFS. */
const LEAST_WEIGHTS = 64 * 1024;

/** The size of a model's weights. */
export interface Weights {
  readonly bytes: number;
  readonly origin: Origin;
}

/** What the index beside a `config.json` says of all weights, or the size of their one file; undefined where there is neither. */
export async function readWeights(configFile: string): Promise<Weights | undefined> {
  for (const name of WEIGHT_INDEXES) {
    const file = join(dirname(configFile), name);
    try {
      const index: unknown = parseJson(await readText(file, MAX_INDEX_BYTES), INDEX_BOUNDS);
      const bytes = fieldOf(fieldOf(index, 'metadata'), 'total_size');
      if (typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes > 0)
        return { bytes, origin: { place: file, text: `metadata.total_size: ${bytes}` } };
    } catch {
      // A model in one file has no index, and what is not there is not reported.
    }
  }
  const file = join(dirname(configFile), ONE_FILE);
  const bytes = (await sizeOfFile(file)) ?? 0;
  return bytes < LEAST_WEIGHTS ? undefined : { bytes, origin: { place: file, text: `${bytes} bytes` } };
}

/** Models whose weights follow from their shape: attention, a gated MLP, and embeddings. */
const DENSE: ReadonlySet<unknown> = new Set(['llama', 'mistral', 'qwen2', 'qwen3']);

/** Bytes of all weights, but for norms and biases; undefined for quantised models and those of another making. */
export function denseWeights(
  config: ConfigFields,
  dtypeBytes: number | undefined,
  configFile: string,
): Weights | undefined {
  if (dtypeBytes === undefined || !DENSE.has(config.value('model_type'))) return undefined;
  if (config.value('quantization_config') !== undefined) return undefined;
  const hidden = config.count('hidden_size');
  const layers = config.count('num_hidden_layers');
  const heads = config.count('num_attention_heads');
  const inner = config.count('intermediate_size');
  const vocabulary = config.count('vocab_size');
  if (hidden === undefined || layers === undefined || heads === undefined) return undefined;
  if (inner === undefined || vocabulary === undefined) return undefined;
  const headSize = config.count('head_dim') ?? hidden / heads;
  const kvHeads = config.count('num_key_value_heads') ?? heads;
  const attention = 2 * hidden * heads * headSize + 2 * hidden * kvHeads * headSize;
  const copies = config.value('tie_word_embeddings') === true ? 1 : 2;
  const bytes = (layers * (attention + 3 * hidden * inner) + copies * vocabulary * hidden) * dtypeBytes;
  if (!Number.isSafeInteger(bytes) || bytes <= 0) return undefined;
  const text = `counted from hidden_size ${hidden}, intermediate_size ${inner}, ${layers} layers, vocab_size ${vocabulary}, ${dtypeBytes} bytes each`;
  return { bytes, origin: { place: configFile, text } };
}
