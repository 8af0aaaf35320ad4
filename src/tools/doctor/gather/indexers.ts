import type { ConfigFields } from './config-fields.js';

/** An FP8 value for each, and a scale for every 128. */
const SCALE_BYTES = 4;
const SCALE_VALUES = 128;
/** In the dtype of the model, as vLLM and SGLang keep the keys of blocks unless `indexer_kv_dtype` or FP8 kernels say otherwise. */
const WHOLE_BYTES = 2;

/**
 * Bytes for each token that a layer keeps beside its keys, for the indexer of sparse attention; 0 without one. As vLLM 0.32
 * and SGLang 0.5.23 allocate them.
 */
export function indexBytesOf(config: ConfigFields, at: number): number {
  const values = config.count('index_head_dim');
  // MiniMax-M3 chooses blocks by whole keys: as published, and in the form of transformers.
  if (/^minimax_m3/.test(config.text('model_type')) && values !== undefined) return values * WHOLE_BYTES;
  const blocks = config.inner('sparse_attention_config');
  const blockValues = blocks.count('sparse_index_dim');
  if (blockValues !== undefined) return blockBytesOf(blocks, blockValues, at);
  // Qwen3.8-Flash-Next has one key for so many tokens.
  const pooled = config.count('indexer_head_dim');
  if (pooled !== undefined) {
    const heads = config.count('indexer_kv_heads') ?? 1;
    return (pooled * heads * WHOLE_BYTES) / (config.count('indexer_compress_ratio') ?? 1);
  }
  if (values === undefined || sharesIndex(config, at)) return 0;
  // DeepSeek-V3.2, GLM-5; GLM-5.3-Flash has one key for so many tokens.
  const bytes = values + Math.ceil(values / SCALE_VALUES) * SCALE_BYTES;
  return bytes / (config.count('index_kpool') ?? 1);
}

/** Of layers that are sparse; some keep what belongs to a key too. */
function blockBytesOf(blocks: ConfigFields, values: number, at: number): number {
  const isSparse = blocks.list('sparse_attention_freq')?.[at] ?? 1;
  if (isSparse === 0 || blocks.value('use_sparse_attention') === false) return 0;
  const isKeyAlone = (blocks.list('sparse_disable_index_value')?.[at] ?? 1) === 1;
  return values * WHOLE_BYTES * (isKeyAlone ? 1 : 2);
}

/** Layers that take what an earlier one chose have no indexer: by a list, by letters (S), or all but every so many behind the first. */
function sharesIndex(config: ConfigFields, at: number): boolean {
  const type = config.list('indexer_types')?.[at];
  if (type !== undefined) return type === 'shared';
  const letters = config.text('index_topk_pattern');
  if (letters !== '') return letters[at] === 'S';
  const every = config.count('index_topk_freq') ?? 1;
  return Math.max(at - config.numberOr('index_skip_topk_offset', 2) + 1, 0) % every !== 0;
}
