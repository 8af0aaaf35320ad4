import type { ConfigFields } from './config-fields.js';

/** Models with an encoder whose states the decoder looks at, by `model_type`, where no field says so. */
const ENCODER_DECODERS =
  /^(?:m?t5|umt5|longt5|t5gemma2?|switch_transformers|bart|mbart|plbart|led|bigbird_pegasus|pegasus(?:_x)?|marian|m2m_100|nllb[-_]moe|blenderbot(?:-small)?|fsmt|prophetnet|whisper|moonshine|speech_to_text|florence2|bert-generation|encoder-decoder|vision-encoder-decoder|speech-encoder-decoder)$/;

/**
 * Models that read a whole text and write none, by `model_type`: engines run them without a KV cache. Models for embeddings
 * that were made of one that writes (Qwen3-Embedding) keep theirs.
 */
const ENCODERS: ReadonlySet<string> = new Set(
  `albert bert big_bird camembert clip clip_text_model convbert deberta deberta-v2 distilbert electra ernie esm eurobert gte ibert
  jina_embeddings_v3 layoutlm layoutlmv2 layoutlmv3 longformer luke markuplm megatron-bert mobilebert modernbert modernvbert mpnet
  neobert new nomic_bert rembert roberta roberta-prelayernorm roformer siglip siglip2 siglip_text_model vit xlm-roberta
  xlm-roberta-xl xmod hubert wav2vec2 wav2vec2-bert wavlm`.split(/\s+/),
);

/** Fields of attention whose keys are compressed before they are cached. */
const COMPRESSED = /^(?:compress_(?:ratios?|rates?)|attn_compress\w*|kv_compress\w*|nsa_\w+|moba_\w+)$/;

/** Fields of layers that use the keys and values of others. */
const SHARED_KEYS =
  /^(?:use_cla|cla_share_factor|mb_per_layer|use_yoco|yoco\w*|kv_reuse\w*|\w*kv_shar(?:e|ed|ing)(?:_\w+)?|cross_layer_attention\w*)$/;
/** This one is known: see `withoutShared`. */
const KNOWN_SHARING = 'num_kv_shared_layers';

/** Fields of models that go through their layers more than once, and cache each time. */
const ROUNDS = ['total_ut_steps', 'loop_num', 'num_loops', 'num_recurrent_loops'];

/** Fields that say that a layer keeps a state of one size. */
const STATES =
  /^(?:(?:\w+_)?(?:mamba|ssm|rwkv|lru|kda|mlstm|slstm)(?:_\w+)?|(?:\w+_)?(?:recurrent|linear_attn|linear_attention|gated_delta|retention)(?:_\w+)?|conv_l_cache|linear_conv_\w+|d_conv|d_state|short_conv\w*)$/i;

/** Why the cache of a model is of a making that is not counted here; undefined where nothing says so. */
export function foreignCacheOf(config: ConfigFields): string | undefined {
  if (isEncoderDecoder(config))
    return 'is of an encoder-decoder, whose cache of what the encoder made is not counted here';
  if (isEncoder(config)) return 'is of an encoder, which engines run without a KV cache';
  const compressed = keysOf(config).find((key) => COMPRESSED.test(key) && isUsed(config, key));
  if (compressed !== undefined)
    return `has attention with compressed keys (${compressed}), whose cache is not counted here`;
  const shared = keysOf(config).find(
    (key) => SHARED_KEYS.test(key) && key !== KNOWN_SHARING && isUsed(config, key),
  );
  if (shared !== undefined)
    return `has layers that use the keys and values of others (${shared}), which engines cache in different ways`;
  const round = ROUNDS.find((key) => (config.count(key) ?? 1) > 1);
  return round === undefined
    ? undefined
    : `goes through its layers more than once (${round}), and what is cached of that is not counted here`;
}

/** The field that says that some layers keep a state; undefined where none does. */
export function fieldOfStates(config: ConfigFields): string | undefined {
  return keysOf(config).find((key) => STATES.test(key) && isUsed(config, key));
}

function isEncoderDecoder(config: ConfigFields): boolean {
  return (
    config.value('is_encoder_decoder') === true ||
    ENCODER_DECODERS.test(config.text('model_type')) ||
    (config.count('encoder_layers') !== undefined &&
      config.count('decoder_layers', 'num_layers') !== undefined) ||
    config.count('num_decoder_layers') !== undefined
  );
}

/** Also a model that was made to look both ways (`is_causal`: Llama's and Qwen's; `use_bidirectional_attention`: EmbeddingGemma). */
function isEncoder(config: ConfigFields): boolean {
  return (
    (ENCODERS.has(config.text('model_type')) && config.value('is_decoder') !== true) ||
    config.value('is_causal') === false ||
    (/^gemma3_text$/.test(config.text('model_type')) && config.value('use_bidirectional_attention') === true)
  );
}

function keysOf({ object }: ConfigFields): readonly string[] {
  return typeof object === 'object' && object !== null && !Array.isArray(object) ? Object.keys(object) : [];
}

/** Switched off, empty, and one layer that shares with itself are not used. */
function isUsed(config: ConfigFields, key: string): boolean {
  const value = config.value(key);
  if (value === undefined || value === null || value === false || value === 0) return false;
  if (Array.isArray(value)) return value.length > 0;
  // Hunyuan-A13B has the factor of what it does not use.
  return key !== 'cla_share_factor' || (config.value('use_cla') !== false && value !== 1);
}
