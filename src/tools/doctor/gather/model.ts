import { dirname, join } from 'node:path';
import { JsonBoundsError, parseJson, tryParseJson } from '../../../edge/platform/data/bounded-json.js';
import { explainSystemError } from '../../../edge/platform/files/file.js';
import { kindOfPath } from '../../../edge/platform/files/find-files.js';
import type { EvidencePart, LayerGroup, ModelShape } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';
import { layerGroupsOf } from './cached-values.js';
import { withDefaults } from './config-defaults.js';
import { ConfigFields } from './config-fields.js';
import { foreignCacheOf } from './foreign-caches.js';
import { layerKindsOf } from './layer-kinds.js';
import { denseWeights, readWeights, type Weights } from './model-weights.js';
import { nextTokenLayersOf } from './next-token-layers.js';
import { notRead, outcome } from './outcomes.js';
import { readText } from './read-text.js';

/** A `config.json` with a large vocabulary of quantisation exceptions. */
const MAX_CONFIG_BYTES = 4 * 1024 * 1024;
/** Some name every layer and expert that is not quantised: MiniMax-M3 in NVFP4 has 46,000 of them in 3 MiB. */
const CONFIG_BOUNDS = {
  maxBytes: MAX_CONFIG_BYTES,
  maxDepth: 64,
  maxValues: 1_000_000,
  maxMemoryBytes: 128 * 1024 * 1024,
};

/** ModelOpt's file beside the configuration, which engines read with it. */
const QUANT_FILE = 'hf_quant_config.json';

/**
 * The shape of a model, from its `config.json` or the folder with it; the size
 * of its weights is that of the index of their files beside it. Never rejects.
 */
export async function gatherModel(path: string): Promise<EvidencePart> {
  try {
    const isFolder = (await kindOfPath(path)) === 'folder';
    const file = isFolder ? join(path, 'config.json') : path;
    const text = await readText(file, MAX_CONFIG_BYTES).catch((error: unknown) => {
      if (!isFolder) throw error;
      throw new Error(`its config.json ${explainSystemError(error)}`, { cause: error });
    });
    const quantText = await readText(join(dirname(file), QUANT_FILE), MAX_CONFIG_BYTES).catch(
      () => undefined,
    );
    const shape = readModelShape(file, text, quantText);
    if (typeof shape === 'string') return notRead('model', path, shape);
    const model = withWeights(shape, await readWeights(file));
    return { source: outcome('model', path, 'read', detailOf(model)), models: [model] };
  } catch (error) {
    return notRead('model', path, error);
  }
}

/** Weights as engines load them: those that are published in 32 bits take half of it. */
function withWeights(shape: ModelShape, published: Weights | undefined): ModelShape {
  if (published === undefined) return shape;
  const { bytes, origin } = published;
  if (!shape.isInFloat32) return { ...shape, weightBytes: bytes, weightOrigin: origin };
  const text = `${origin.text}, of 32 bits, which engines load in 16`;
  return { ...shape, weightBytes: Math.ceil(bytes / 2), weightOrigin: { ...origin, text } };
}

function detailOf({ groups, stateLayers, dtypeBytes, cacheBits, weightBytes }: ModelShape): string {
  return [
    ...groups.map(groupText),
    ...(stateLayers === 0 ? [] : [`${stateLayers} layers with a state of one size`]),
    cacheBits === undefined ? `${dtypeBytes} bytes a value` : `${cacheBits} bits a cached value`,
    weightBytes === undefined ? 'size of the weights not known' : `${weightBytes} bytes of weights`,
  ].join(', ');
}

function groupText({ layers, kvHeads, headSize, latentSize, windowTokens }: LayerGroup): string {
  const cached =
    latentSize === undefined ? `${kvHeads} KV heads of ${headSize}` : `${latentSize} latent values`;
  return `${layers} layers, ${cached}${windowTokens === undefined ? '' : ` for the last ${windowTokens} tokens`}`;
}

/** Engines load what is published in 32 bits in 16 bits, unless they are given another dtype. */
const DTYPE_BYTES: ReadonlyMap<string, number> = new Map([
  ['float32', 2],
  ['float', 2],
  ['bfloat16', 2],
  ['float16', 2],
  ['half', 2],
]);

/** Where models of several parts have what belongs to their text. */
const TEXT_PARTS = ['text_config', 'llm_config', 'language_config', 'thinker_config'];

/**
 * Reads a `config.json` as Hugging Face's models have it; in models of several
 * parts what belongs to their text; with it the text of a `hf_quant_config.json`
 * beside it. A text says why it cannot be read.
 * @internal
 */
export function readModelShape(file: string, json: string, quantText?: string): ModelShape | string {
  let whole: ConfigFields;
  try {
    whole = new ConfigFields(parseJson(withoutInfinity(json), CONFIG_BOUNDS));
  } catch (error) {
    if (error instanceof JsonBoundsError) return error.message;
    return 'is no JSON; give the config.json of the model, or its folder';
  }
  const part = textPartOf(whole);
  const { config, taken } = withDefaults(part, whole.text('model_type'), part !== whole);
  const foreign = foreignCacheOf(whole);
  if (foreign !== undefined) return foreign;
  const kinds = layerKindsOf(config);
  if (typeof kinds === 'string') return kinds;
  const groups = layerGroupsOf(config, kinds);
  if (typeof groups === 'string') return groups;
  const dtype = [config, whole]
    .flatMap((one) => [one.text('torch_dtype'), one.text('dtype')])
    .find((text) => text !== '');
  const name = [whole, config]
    .flatMap((one) => [one.text('_name_or_path'), one.text('model_type')])
    .find((text) => text !== '');
  const dtypeBytes = DTYPE_BYTES.get(dtype ?? '') ?? 2;
  const quantised = [whole, config]
    .map((one) => one.inner('quantization_config'))
    .concat(quantFileOf(quantText))
    .filter(({ object }) => typeof object === 'object' && object !== null);
  const cacheBits = quantised.map(cacheBitsOf).find((bits) => bits !== undefined);
  const weights = denseWeights(config, DTYPE_BYTES.get(dtype ?? ''), file);
  const windowed = groups.filter(({ windowTokens }) => windowTokens !== undefined);
  const [first] = groups;
  const stateLayers = kinds.besideStates + kinds.kinds.filter((kind) => kind === 'state').length;
  return {
    name: (name ?? '').slice(0, 200),
    layers: layersOf(groups),
    kvHeads: first?.kvHeads ?? 1,
    headSize: first?.headSize ?? 1,
    dtypeBytes,
    cacheBits,
    isQuantised: quantised.length > 0,
    isInFloat32: quantised.length === 0 && /^float(?:32)?$/.test(dtype ?? ''),
    hasExperts: config.count(...EXPERTS) !== undefined || config.list('num_experts') !== undefined,
    latentSize: first?.latentSize,
    slidingWindow:
      kinds.windowTokens === undefined || windowed.length === 0
        ? undefined
        : { tokens: kinds.windowTokens, layers: layersOf(windowed) },
    hasChunks: windowed.length > 0 && config.count('attention_chunk_size') !== undefined,
    groups,
    nextTokenLayers: nextTokenLayersOf(config, kinds.kinds.length, groups),
    stateLayers,
    weightBytes: weights?.bytes,
    weightOrigin: weights?.origin,
    origin: {
      place: file,
      text: excerptOf(
        [
          `num_hidden_layers ${kinds.kinds.length}`,
          ...(kinds.saidBy === '' ? [] : [`their kinds by ${kinds.saidBy}`]),
          ...groups.map(groupText),
          ...(taken.length === 0
            ? []
            : [`by the defaults of ${config.text('model_type')}: ${taken.join(', ')}`]),
          cacheBits !== undefined
            ? `${cacheBits} bits for the cache`
            : (dtype ?? 'no dtype given, 2 bytes assumed'),
        ].join(', '),
        '',
      ),
    },
  };
}

function layersOf(groups: readonly LayerGroup[]): number {
  return groups.reduce((sum, { layers }) => sum + layers, 0);
}

/** The part with the layers of the language model; it may lie two parts deep (Qwen Omni). */
function textPartOf(whole: ConfigFields): ConfigFields {
  for (const name of TEXT_PARTS) {
    const part = whole.inner(name);
    if (typeof part.object === 'object' && part.object !== null && !Array.isArray(part.object))
      return name === 'thinker_config' ? textPartOf(part) : part;
  }
  return whole;
}

/** The fields in which models of experts have their number. */
const EXPERTS = ['num_experts', 'n_routed_experts', 'num_local_experts', 'moe_num_experts'];

/** What a `hf_quant_config.json` has; of nothing where there is none that can be read. */
function quantFileOf(text: string | undefined): ConfigFields {
  return new ConfigFields(text === undefined ? undefined : tryParseJson(text, CONFIG_BOUNDS));
}

/** Bits of the cache in a checkpoint's quantisation, in the forms of compressed-tensors and ModelOpt. */
function cacheBitsOf(quantised: ConfigFields): number | undefined {
  for (const one of [quantised, quantised.inner('quantization')]) {
    const bits = one.inner('kv_cache_scheme').count('num_bits');
    if (bits !== undefined) return bits;
    const algorithm = one.text('kv_cache_quant_algo');
    if (/^(?:fp8|int8)$/i.test(algorithm)) return 8;
    if (/^nvfp4/i.test(algorithm)) return 4;
  }
  return undefined;
}

/** Python writes these numbers, which JSON does not have: `"time_step_limit": [0.0, Infinity]`. */
function withoutInfinity(json: string): string {
  return json.replace(/([[,:]\s*)(?:-?Infinity|NaN)(?=\s*[,\]}])/g, '$1null');
}
