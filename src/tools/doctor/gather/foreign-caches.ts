import type { ConfigFields } from './config-fields.js';

/** Models with an encoder whose states the decoder looks at, by `model_type`, where no field says so. */
const ENCODER_DECODERS =
  /^(?:m?t5|umt5|longt5|t5gemma2?|switch_transformers|bart|mbart|plbart|led|bigbird_pegasus|pegasus(?:_x)?|marian|m2m_100|nllb[-_]moe|blenderbot(?:-small)?|fsmt|prophetnet|whisper|moonshine|speech_to_text|florence2|bert-generation|encoder-decoder|vision-encoder-decoder|speech-encoder-decoder)$/;

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
