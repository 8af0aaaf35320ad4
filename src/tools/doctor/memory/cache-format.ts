import { engineOfWord } from '../../../engines/catalogue/engines.js';
import type { ModelShape } from '../evidence.js';

/** How values are kept in a KV cache. */
export interface CacheFormat {
  /** Bytes of one value, scales for blocks of values included. */
  readonly valueBytes: number;
  /** Bytes beside each key and each value of a head: a scale of its own; 0 without one. */
  readonly headBytes: number;
  /** Bytes of one latent vector that is packed in a form of its own; undefined where it is its values. */
  readonly latentBytes: number | undefined;
}

/** What decides about the format beside the model. */
export interface FormatInputs {
  /** The cache's dtype as the engine was given it or reports it; undefined for none, or `auto`. */
  readonly given: string | undefined;
  /** The dtype in which the engine runs the model, where it was given one. */
  readonly modelDtype: string | undefined;
  /** The word of the engine; undefined where it was not seen. */
  readonly engine: string | undefined;
}

/** Four bits, and a scale of one byte for every 16 values. */
const FOUR_BITS = 0.5 + 1 / 16;
/** Eight bits, and a scale of one byte for every 32 values. */
const SCALED_EIGHT_BITS = 1 + 1 / 32;
/** A scale of 32 bits. */
const SCALE_BYTES = 4;
/** FlashMLA's sparse form of 512 + 64 values: 512 bytes, four scales of 4 bytes, and 64 values of 2 bytes (vLLM's `MLAAttentionSpec`, SGLang's `calculate_mla_kv_cache_dim`). */
const PACKED_LATENT = { values: 576, bytes: 656 };

/** By the names that vLLM, SGLang, TensorRT-LLM and PyTorch have for dtypes of the cache. */
const FORMATS: readonly (readonly [RegExp, valueBytes: number, headBytes: number])[] = [
  [/^(?:fp8|int8)_per_token_head$/, 1, SCALE_BYTES],
  [/^(?:fp8|fp8_(?:e4m3|e5m2|inc)|float8(?:_e4m3fn(?:uz)?|_e5m2(?:fnuz)?)?|int8|uint8)$/, 1, 0],
  [/^mxfp8$/, SCALED_EIGHT_BITS, 0],
  [/^(?:nvfp4|nvfp4_4over6|fp4_e2m1|fp4_mx_block16|float4_e2m1fn_x2)$/, FOUR_BITS, 0],
  [/^(?:float32|fp32|float)$/, 4, 0],
  [/^(?:float16|bfloat16|fp16|bf16|half)$/, 2, 0],
];

/** The format of the cache; a text says why it is not known. */
export function cacheFormatOf(inputs: FormatInputs, model: ModelShape): CacheFormat | string {
  const given = inputs.given?.toLowerCase().replace(/^torch\./, '');
  return given === undefined ? formatOfModel(inputs, model) : formatOfName(given, model);
}

function formatOfName(given: string, model: ModelShape): CacheFormat | string {
  const isPacked = given === 'fp8_ds_mla';
  if (isPacked && model.latentSize === PACKED_LATENT.values)
    return { valueBytes: 1, headBytes: 0, latentBytes: PACKED_LATENT.bytes };
  const [, valueBytes, headBytes = 0] = FORMATS.find(([pattern]) => pattern.test(given)) ?? [];
  if (valueBytes === undefined)
    return `the cache has a dtype whose size is not known here (${given.slice(0, 40)}): the line "GPU KV cache size" of the engine's log has its tokens`;
  if (valueBytes === 1 && hasIndexer(model))
    return 'engines keep the 8-bit cache of a model with an indexer with scales (656 bytes a layer, fp8_ds_mla) or without (576), by the attention kernel, which was not seen';
  if (!Number.isInteger(valueBytes) && model.latentSize !== undefined)
    return `how the latent vectors of this model are kept as ${given} is not known here`;
  return { valueBytes, headBytes, latentBytes: undefined };
}

/** What applies by default: what the checkpoint says, else the dtype in which the model runs. */
function formatOfModel({ modelDtype, engine }: FormatInputs, model: ModelShape): CacheFormat | string {
  const whole = (valueBytes: number): CacheFormat => ({ valueBytes, headBytes: 0, latentBytes: undefined });
  if (model.cacheBits === 4 && engine !== undefined && engineOfWord(engine)?.launch?.takesFourBits !== true)
    return 'whether this engine takes the 4 bits of the checkpoint for its cache was not seen (kv_cache_dtype)';
  if (model.cacheBits !== undefined && model.cacheBits !== 4 && model.cacheBits !== 8)
    return `the checkpoint has ${model.cacheBits} bits for its cache, which are not known here`;
  if (hasIndexer(model) && engine !== undefined)
    return 'the dtype of the cache was not seen, which engines choose by GPU and kernel for a model with an indexer (kv_cache_dtype)';
  if (model.cacheBits !== undefined) return whole(model.cacheBits === 8 ? 1 : FOUR_BITS);
  return whole(isFloat32(modelDtype) ? 4 : model.dtypeBytes);
}

/** Whether an engine runs the model in 32 bits. */
export function isFloat32(dtype: string | undefined): boolean {
  return /^(?:torch\.)?(?:float32|float)$/.test(dtype ?? '');
}

/** Of latent vectors: others keep their keys as they keep them without one. */
function hasIndexer({ groups, latentSize }: ModelShape): boolean {
  return latentSize !== undefined && groups.some(({ indexBytes }) => indexBytes > 0);
}
