import { type ConfigFields, fieldOf, isCount } from './config-fields.js';
import { fieldOfStates, foreignCacheOf } from './foreign-caches.js';

/**
 * What a layer keeps: keys and values of every token, of the last tokens of a
 * window or chunk, a state of one size for each sequence, or nothing of its own.
 */
export type LayerKind = 'full' | 'window' | 'state' | 'none';

/** The kinds of a model's layers, and the field of `config.json` that says so. */
export interface LayerKinds {
  readonly kinds: readonly LayerKind[];
  /** Empty where nothing names kinds and every layer sees everything. */
  readonly saidBy: string;
  /** Tokens that a layer with a window keeps. */
  readonly windowTokens: number | undefined;
  /** Layers that keep keys and values and a state beside: Falcon H1. */
  readonly besideStates: number;
}

/** More than any model has. */
const MAX_LAYERS = 10_000;

/** Models without attention, by `model_type`. */
const WITHOUT_ATTENTION = /^(?:mamba2?|falcon_mamba|rwkv\w*|xlstm)$/;

/**
 * The kinds of all layers; a text says why they cannot be known. The fields are
 * those of published models; how each is meant is what vLLM's and Hugging
 * Face's code of that model does with it.
 */
export function layerKindsOf(config: ConfigFields): LayerKinds | string {
  if (WITHOUT_ATTENTION.test(config.text('model_type')))
    return 'is of a model without attention, which has no KV cache';
  const foreign = foreignCacheOf(config);
  if (foreign !== undefined) return foreign;
  const given = cachedLayersOf(config);
  const named = namedKinds(config, given);
  if (typeof named === 'string') return named;
  const layers = given ?? named?.kinds.length;
  if (layers === undefined) return missingField('num_hidden_layers', config);
  if (layers > MAX_LAYERS) return `has num_hidden_layers ${layers}, more than any model has`;
  const { kinds, saidBy } = named ?? { kinds: new Array<LayerKind>(layers).fill('full'), saidBy: '' };
  const hasBoth = WITH_BOTH.test(config.text('model_type'));
  const state = named === undefined || named.isGuess === true ? fieldOfStates(config) : undefined;
  if (state !== undefined && !hasBoth)
    return `has layers with a state (${state}), and which of them attend is not known here`;
  const windowTokens = windowTokensOf(config);
  const own = withoutShared(config, windowTokens === undefined ? kinds.map(seesAll) : kinds);
  return {
    kinds: own,
    saidBy,
    windowTokens: own.includes('window') ? windowTokens : undefined,
    besideStates: hasBoth ? own.length : 0,
  };
}

/** Layers that cache. Those of LongCat-Flash attend twice, and `num_layers` is their number. */
function cachedLayersOf(config: ConfigFields): number | undefined {
  const layers = config.count('num_hidden_layers', 'n_layer', 'n_layers', 'num_layers');
  if (!/^longcat_flash/.test(config.text('model_type'))) return layers;
  const pairs = config.count('num_layers');
  return pairs === undefined ? layers : 2 * pairs;
}

type Named = Pick<LayerKinds, 'kinds' | 'saidBy'> & {
  /** True where the field says nothing of layers with a state. */
  readonly isGuess?: true;
};

/** Each layer attends, and has a state. */
const WITH_BOTH = /^falcon_h1/;

/** A field is missing that Hugging Face's code may have a default for. */
export function missingField(name: string, config: ConfigFields): string {
  const type = config.text('model_type');
  const left = type === '' ? '' : `; where that leaves it to the default of ${type}, add it`;
  return `has no ${name}; give the config.json of the model as its publisher has it${left}`;
}

/** Without a known window a layer is taken to keep everything. */
function seesAll(kind: LayerKind): LayerKind {
  return kind === 'window' ? 'full' : kind;
}

/** By the first field that names the kinds of layers; a text where it has a kind that is not known. */
function namedKinds(config: ConfigFields, layers: number | undefined): Named | string | undefined {
  return (
    byWords(config, layers) ??
    byPattern(config) ??
    (layers === undefined || layers > MAX_LAYERS
      ? undefined
      : (byBlockConfigs(config, layers) ??
        byMarks(config, layers) ??
        byIndexes(config, layers) ??
        byPeriod(config, layers) ??
        byWindow(config, layers)))
  );
}

/** A list with a word for each layer: Qwen3-Next, gpt-oss, Gemma 3, Granite 4, Nemotron 3, Zamba 2, RecurrentGemma. */
function byWords(config: ConfigFields, layers: number | undefined): Named | string | undefined {
  for (const name of ['layer_types', 'layers_block_type', 'block_types', '_block_types']) {
    const words = config.list(name);
    if (words === undefined || words.length > MAX_LAYERS) continue;
    const count = layers ?? words.length;
    // RecurrentGemma has one period of them; Step 3.5 has some for its MTP layers behind.
    if (words.length < count && name.startsWith('layer')) continue;
    const kinds: LayerKind[] = [];
    for (let at = 0; at < count; at++) {
      const word = String(words[at % words.length]);
      const kind = kindOfWord(word);
      if (kind === undefined)
        return `has layers of a kind whose cache is not known here (${name}: ${word.slice(0, 40)})`;
      kinds.push(kind);
    }
    return { kinds, saidBy: name };
  }
  return undefined;
}

/** Undefined for a word that nobody here knows, and for compressed keys (DeepSeek-V4 in the form of transformers). */
function kindOfWord(word: string): LayerKind | undefined {
  if (/compress/i.test(word)) return undefined;
  if (/linear|mamba|recurrent|conv|ssm|delta|lightning|kda|rwkv/i.test(word)) return 'state';
  if (/sliding|local|window|chunked/i.test(word)) return 'window';
  if (/attention|full|global|hybrid|sparse/i.test(word)) return 'full';
  return /mlp|moe|ffn|dense|none|identity|no_?op/i.test(word) ? 'none' : undefined;
}

/** Nemotron-H: `*` attends, `M` is Mamba, `-` and `E` are plain and expert layers. */
function byPattern(config: ConfigFields): Named | undefined {
  const pattern = config.text('hybrid_override_pattern');
  if (!/^[-*ME|]+$/.test(pattern) || pattern.length > MAX_LAYERS) return undefined;
  const kinds = [...pattern.replace(/\|/g, '')].map(
    (mark): LayerKind => (mark === '*' ? 'full' : mark === 'M' ? 'state' : 'none'),
  );
  return { kinds, saidBy: 'hybrid_override_pattern' };
}

/** Llama-Nemotron: what became of the attention of each layer. */
function byBlockConfigs(config: ConfigFields, layers: number): Named | undefined {
  const blocks = config.list('block_configs');
  if (blocks?.length !== layers) return undefined;
  const kinds = blocks.map((block): LayerKind => {
    const type = fieldOf(block, 'block_type');
    if (typeof type === 'string') return kindOfWord(type) ?? 'none';
    const attention = fieldOf(block, 'attention');
    return fieldOf(attention, 'no_op') === true || fieldOf(attention, 'replace_with_linear') === true
      ? 'none'
      : 'full';
  });
  return { kinds, saidBy: 'block_configs' };
}

/** A number for each layer: MiniMax-01 (1 attends, 0 is linear), MiMo-V2 (1 has a window). */
function byMarks(config: ConfigFields, layers: number): Named | undefined {
  const of = (name: string, marked: LayerKind, others: LayerKind): Named | undefined => {
    const marks = config.list(name);
    return marks?.length === layers
      ? { kinds: marks.map((mark) => (mark === 1 ? marked : others)), saidBy: name }
      : undefined;
  };
  return of('attn_type_list', 'full', 'state') ?? of('hybrid_layer_pattern', 'window', 'full');
}

/** The numbers of the layers that attend: Bamba, LFM2, Zamba 2, Kimi Linear; of Llama 3.2 Vision those that look at the picture. */
function byIndexes(config: ConfigFields, layers: number): Named | undefined {
  const linear = config.inner('linear_attn_config').list('full_attn_layers');
  const lists: readonly (readonly [string, readonly unknown[] | undefined, number])[] = [
    ['attn_layer_indices', config.list('attn_layer_indices'), 0],
    ['full_attn_idxs', config.list('full_attn_idxs'), 0],
    ['hybrid_layer_ids', config.list('hybrid_layer_ids'), 0],
    // These are counted from 1.
    ['linear_attn_config.full_attn_layers', linear, 1],
  ];
  const found = lists.find(([, list]) => list !== undefined);
  if (found !== undefined) {
    const [saidBy, list = [], first] = found;
    const attending = new Set(list);
    const kinds = Array.from(
      { length: layers },
      (_, at): LayerKind => (attending.has(at + first) ? 'full' : 'state'),
    );
    return { kinds, saidBy };
  }
  const crossing = config.list('cross_attention_layers');
  if (crossing === undefined) return undefined;
  const kinds = Array.from(
    { length: layers },
    (_, at): LayerKind => (crossing.includes(at) ? 'none' : 'full'),
  );
  return { kinds, saidBy: 'cross_attention_layers' };
}

/** Every so many layers attend: Qwen3-Next and Qwen3.5, Jamba, PLaMo 2, Ring and Ling. */
function byPeriod(config: ConfigFields, layers: number): Named | undefined {
  const of = (saidBy: string, attends: (at: number) => boolean): Named => ({
    kinds: Array.from({ length: layers }, (_, at): LayerKind => (attends(at) ? 'full' : 'state')),
    saidBy,
  });
  const interval = config.count('full_attention_interval');
  if (interval !== undefined) return of('full_attention_interval', (at) => (at + 1) % interval === 0);
  const period = config.count('attn_layer_period');
  if (period !== undefined) {
    const offset = config.numberOr('attn_layer_offset', 0);
    return of('attn_layer_period', (at) => at % period === offset % period);
  }
  const step = config.count('mamba_step');
  if (step !== undefined && step > 1 && config.value('mamba_enabled') !== false) {
    // PLaMo 2, as in vLLM's `is_mamba`: with few layers the last one attends.
    const half = Math.floor(step / 2);
    return of('mamba_step', (at) => (layers <= half ? at === layers - 1 : at % step === half));
  }
  const group = config.count('layer_group_size');
  if (group !== undefined && group > 1) {
    const whole = layers - (layers % group);
    return of('layer_group_size', (at) => (at + 1) % group === 0 || at >= whole);
  }
  return undefined;
}

/** Layers with a window where no list names them. */
function byWindow(config: ConfigFields, layers: number): Named | undefined {
  const of = (saidBy: string, isFull: (at: number) => boolean): Named => ({
    kinds: Array.from({ length: layers }, (_, at): LayerKind => (isFull(at) ? 'full' : 'window')),
    saidBy,
    isGuess: true,
  });
  const type = config.text('model_type');
  if (/^llama4/.test(type) && config.count('attention_chunk_size') !== undefined) {
    // 1: positions turn, and the layer sees its chunk alone.
    const turning = config.list('no_rope_layers');
    if (turning?.length === layers) return of('no_rope_layers', (at) => turning[at] === 0);
    const every = config.count('no_rope_layer_interval') ?? 4;
    return of('attention_chunk_size', (at) => (at + 1) % every === 0);
  }
  if (windowTokensOf(config) === undefined) return undefined;
  for (const name of ['sliding_window_pattern', '_sliding_window_pattern']) {
    const every = config.count(name);
    if (every !== undefined) return of(name, (at) => (at + 1) % every === 0);
    // EXAONE 4 has letters: L is local, G is global.
    const letters = config.text(name);
    if (/^[LG]+$/.test(letters)) return of(name, (at) => letters[at % letters.length] === 'G');
  }
  if (/^(?:gemma2|vaultgemma|gpt_oss)$/.test(type)) return of(type, (at) => at % 2 === 1);
  if (/^gemma3/.test(type)) return of('gemma3', (at) => (at + 1) % 6 === 0);
  if (/^cohere2/.test(type)) return of('cohere2', (at) => (at + 1) % 4 === 0);
  const from = config.value('use_sliding_window') === true ? config.count('max_window_layers') : undefined;
  if (from !== undefined) return of('max_window_layers', (at) => at < from);
  return of('sliding_window', () => false);
}

/** The tokens of a window that is used and shorter than what the model takes anyway. */
function windowTokensOf(config: ConfigFields): number | undefined {
  // Qwen2 has a number for it and does not use it.
  if (config.value('use_sliding_window') === false) return undefined;
  const type = config.text('model_type');
  const names = ['sliding_window', 'sliding_window_size', 'attention_window_size'];
  const tokens = /^llama4/.test(type) ? config.count('attention_chunk_size') : config.count(...names);
  const longest = config.count('max_position_embeddings');
  return tokens === undefined || (longest !== undefined && tokens >= longest) ? undefined : tokens;
}

/** Gemma 3n and 4: the last layers use the keys and values of earlier ones. */
function withoutShared(config: ConfigFields, kinds: readonly LayerKind[]): readonly LayerKind[] {
  const shared = config.value('num_kv_shared_layers');
  if (!isCount(shared) || shared >= kinds.length) return kinds;
  return kinds.map((kind, at) => (at >= kinds.length - shared ? 'none' : kind));
}
