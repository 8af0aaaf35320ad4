import type { LayerGroup } from '../evidence.js';
import type { ConfigFields } from './config-fields.js';

/** Fields with the number of modules that predict further tokens: DeepSeek and most others; Qwen3.5. */
const MODULES = ['num_nextn_predict_layers', 'mtp_num_hidden_layers'];
/** vLLM takes one where a `config.json` leaves it out. */
const ONE_BY_DEFAULT = /^qwen3_next$/;

/**
 * What the layers of multi-token prediction (MTP) keep, which lie in the checkpoint behind the others and are loaded for speculative
 * decoding; undefined where there are none, or where it is not known which tokens they keep.
 */
export function nextTokenLayersOf(
  config: ConfigFields,
  layers: number,
  groups: readonly LayerGroup[],
): LayerGroup | undefined {
  const modules =
    config.count(...MODULES) ??
    (MODULES.every((name) => config.value(name) === undefined) &&
    ONE_BY_DEFAULT.test(config.text('model_type'))
      ? 1
      : undefined);
  if (modules === undefined) return undefined;
  const keepsAll = groups.filter(({ windowTokens }) => windowTokens === undefined);
  const windowed = groups.filter(({ windowTokens }) => windowTokens !== undefined);
  const words = config.list('layer_types')?.slice(layers, layers + modules) ?? [];
  const [first] = words;
  if (windowed.length > 0 && (words.length < modules || words.some((word) => word !== first)))
    return undefined;
  const alike = windowed.length > 0 && /sliding|window/.test(String(first)) ? windowed : keepsAll;
  // They have an indexer also where the layers before them share one.
  const [most] = [...alike].sort((a, b) => b.indexBytes - a.indexBytes);
  return most === undefined ? undefined : { ...most, layers: modules * attendingOf(config) };
}

/** Layers of one module that attend: Nemotron 3 names the kinds of its two, all others have one. */
function attendingOf(config: ConfigFields): number {
  const marks = [...config.text('mtp_hybrid_override_pattern')].filter((mark) => mark === '*').length;
  const words = (config.list('mtp_layers_block_type') ?? []).filter((word) => word === 'attention').length;
  return Math.max(1, marks, words);
}
