import type { LayerGroup } from '../evidence.js';
import { type ConfigFields, fieldOf, isCount } from './config-fields.js';
import { indexBytesOf } from './indexers.js';
import { type LayerKind, type LayerKinds, missingField } from './layer-kinds.js';

/** Models that vLLM runs with multi-head latent attention though their `model_type` has no DeepSeek in it; MiniCPM 3 has a `kv_lora_rank` and caches keys and values. */
const NOT_LATENT = /^minicpm3/;

/** What the layers of each kind keep of a token; a text names the field that is missing. */
export function layerGroupsOf(
  config: ConfigFields,
  { kinds, windowTokens }: LayerKinds,
): readonly LayerGroup[] | string {
  const heads = config.count('num_attention_heads', 'n_head', 'n_heads', 'num_heads');
  const kvHeads = kvHeadsOf(config, heads);
  const headSize = headSizeOf(config, heads);
  const latent = latentSizeOf(config);
  if (latent === undefined && kvHeads === undefined) return missingField('num_attention_heads', config);
  if (latent === undefined && headSize === undefined)
    return missingField('head_dim, nor hidden_size to divide', config);
  const groups = new Map<string, LayerGroup>();
  for (const [at, kind] of kinds.entries()) {
    if (kind !== 'full' && kind !== 'window') continue;
    const shape =
      latent === undefined
        ? {
            ...sizesOf(config, kind, {
              kvHeads: headsOfLayer(config, at, heads) ?? kvHeads ?? 1,
              headSize: headSize ?? 1,
            }),
            latentSize: undefined,
          }
        : {
            kvHeads: kvHeads ?? 1,
            headSize: headSize ?? latent,
            valueSize: headSize ?? latent,
            latentSize: latent,
          };
    const group = {
      ...shape,
      indexBytes: indexBytesOf(config, at),
      windowTokens: kind === 'window' ? windowTokens : undefined,
    };
    const key = JSON.stringify(group);
    groups.set(key, { layers: (groups.get(key)?.layers ?? 0) + 1, ...group });
  }
  return groups.size === 0
    ? 'is of a model without attention, which has no KV cache'
    : [...groups.values()].sort(
        (a, b) => Number(a.windowTokens !== undefined) - Number(b.windowTokens !== undefined),
      );
}

/** DeepSeek caches the compressed vector and the part of the key that carries the position. */
function latentSizeOf(config: ConfigFields): number | undefined {
  const rank = config.count('kv_lora_rank');
  if (rank === undefined || NOT_LATENT.test(config.text('model_type')) || config.value('use_mla') === false)
    return undefined;
  return rank + config.numberOr('qk_rope_head_dim', 0);
}

function kvHeadsOf(config: ConfigFields, heads: number | undefined): number | undefined {
  // Falcon's first architecture and StarCoder have one head for all.
  if (config.value('multi_query') === true && config.value('new_decoder_architecture') !== true) return 1;
  if (config.value('multi_query_attention') === false) return heads;
  const attention = config.inner('attn_config');
  return (
    config.count(
      'num_key_value_heads',
      'n_head_kv',
      'num_kv_heads',
      'n_kv_heads',
      'multi_query_group_num',
      'num_attention_groups',
    ) ??
    attention.count('kv_n_heads') ??
    heads
  );
}

/** A layer's own number of heads: Llama-Nemotron by groups, others by a list. */
function headsOfLayer(config: ConfigFields, at: number, heads: number | undefined): number | undefined {
  for (const name of ['num_key_value_heads_per_layer', 'num_key_value_heads', 'num_kv_heads']) {
    const one = config.list(name)?.[at];
    if (isCount(one)) return one;
  }
  const attention = fieldOf(config.list('block_configs')?.[at], 'attention');
  const grouped = fieldOf(attention, 'n_heads_in_group');
  if (isCount(grouped) && heads !== undefined) return Math.max(1, Math.floor(heads / grouped));
  const own = fieldOf(attention, 'num_key_value_heads');
  return isCount(own) ? own : undefined;
}

function headSizeOf(config: ConfigFields, heads: number | undefined): number | undefined {
  const given = config.count('head_dim', 'attention_head_dim', 'hidden_size_per_head', 'kv_channels');
  if (given !== undefined) return given;
  const [nope, rope] = [config.count('qk_nope_head_dim'), config.count('qk_rope_head_dim')];
  if (nope !== undefined && rope !== undefined) return nope + rope;
  const hidden = config.count('hidden_size', 'n_embd', 'd_model');
  const size = hidden === undefined || heads === undefined ? 0 : Math.floor(hidden / heads);
  return size === 0 ? undefined : size;
}

/** Heads and sizes where layers of one kind have their own: MiMo-V2, Gemma 4, Step 3.5. */
function sizesOf(
  config: ConfigFields,
  kind: LayerKind,
  { kvHeads, headSize }: { readonly kvHeads: number; readonly headSize: number },
): { readonly kvHeads: number; readonly headSize: number; readonly valueSize: number } {
  if (kind === 'window') {
    const other = config.inner('attention_other_setting');
    const size = config.count('swa_head_dim') ?? other.count('head_dim') ?? headSize;
    return {
      kvHeads: config.count('swa_num_key_value_heads') ?? other.count('num_attention_groups') ?? kvHeads,
      headSize: size,
      valueSize: config.count('swa_v_head_dim') ?? size,
    };
  }
  const global = config.count('global_head_dim') ?? headSize;
  const isShared = config.value('attention_k_eq_v') === true;
  return {
    kvHeads: (isShared ? config.count('num_global_key_value_heads') : undefined) ?? kvHeads,
    headSize: global,
    valueSize: /^mimo_v2/.test(config.text('model_type')) ? (config.count('v_head_dim') ?? global) : global,
  };
}
