import { type Fault, plain } from './fault-classes.js';
import { demandsOfSettings, refusalOf } from './refused-settings.js';
import { roomFaultOf } from './room-faults.js';

/** "Assertion failed: maxNumTokens.value() % tokensPerBlock == 0 (../tensorrt_llm/batch_manager/cacheTransBuffer.cpp:206)". */
const ASSERTION =
  /Assertion failed: (.{1,400}?) \(\S{0,300}\btensorrt_llm\/((?:\w{1,60}\/){0,6}\w{1,60}\.(?:cpp|h|cu)):\d/;
const RELATION = /^([\w.()>-]{1,80}?)(?: % ([\w.()>-]{1,80}))? (==|>=|<=|>|<) ([\w.()>-]{1,80})$/;

/** Names of settings in the sources of TensorRT-LLM, with the key and the part of its YAML that they come from. */
const SETTINGS: Readonly<Record<string, readonly [key: string, part: string]>> = {
  tokensPerBlock: ['tokens_per_block', 'kv_cache_config'],
  enableBlockReuse: ['enable_block_reuse', 'kv_cache_config'],
  enablePartialReuse: ['enable_partial_reuse', 'kv_cache_config'],
  maxAttentionWindow: ['max_attention_window', 'kv_cache_config'],
  sinkTokenLength: ['sink_token_length', 'kv_cache_config'],
  freeGpuMemoryFraction: ['free_gpu_memory_fraction', 'kv_cache_config'],
  hostCacheSize: ['host_cache_size', 'kv_cache_config'],
  maxTokensInBuffer: ['max_tokens_in_buffer', 'cache_transceiver_config'],
  kvTransferTimeoutMs: ['kv_transfer_timeout_ms', 'cache_transceiver_config'],
  kvTransferSenderFutureTimeoutMs: ['kv_transfer_sender_future_timeout_ms', 'cache_transceiver_config'],
  maxNumTokens: ['max_num_tokens', ''],
  maxBeamWidth: ['max_beam_width', ''],
  maxBatchSize: ['max_batch_size', ''],
  maxSequenceLen: ['max_seq_len', ''],
  maxSequenceLength: ['max_seq_len', ''],
  maxSeqLen: ['max_seq_len', ''],
  maxInputLen: ['max_input_len', ''],
  enableChunkedContext: ['enable_chunked_prefill', ''],
};
const WORDS = {
  '==': 'must be',
  '>=': 'must be at least',
  '<=': 'must be at most',
  '>': 'must be more than',
  '<': 'must be less than',
} as const;
/** Settings in sentences of its own, which other engines do not have. */
const OWN_SUBJECT =
  /\b(?:beam (?:width|search)|block reuse|kv cache reuse|paged (?:kv|context)\w*|chunked context|max_(?:num_tokens|batch_size|seq_len|input_len|beam_width|attention_window)|tokens[_ ]per[_ ]block|sink token\w*|free_gpu_memory_fraction)\b/i;

/** What sentences demand of the program's own state. */
const OWN_STATE =
  /\bmust (?:not )?(?:be (?:present|found|valid|null|allocated|initiali[sz]ed|registered|released|free|empty|set before)|exist|have been)\b/i;

/** The setting that an assertion of TensorRT-LLM is about, with what it demands of it; undefined where it is about the program's own state. */
export function assertedSetting(line: string): Fault | undefined {
  const [, asserted = '', path = ''] = ASSERTION.exec(line) ?? [];
  if (asserted === '' || OWN_STATE.test(asserted) || roomFaultOf(asserted) !== undefined) return undefined;
  const relation = relationOf(asserted, path);
  const isSentence =
    refusalOf(asserted) !== undefined || (OWN_SUBJECT.test(asserted) && demandsOfSettings(asserted));
  if (relation === undefined && !isSentence) return undefined;
  return { signal: 'settings_refused', value: plain(`${relation ?? asserted} (tensorrt_llm/${path})`) };
}

/** `max_tokens_in_buffer of cache_transceiver_config must be a multiple of tokens_per_block of kv_cache_config`; undefined where an operand is no setting and no number. */
function relationOf(expression: string, path: string): string | undefined {
  const [, left = '', divisor, sign, right = ''] = RELATION.exec(expression) ?? [];
  const first = settingOf(left, path);
  if (first === undefined || sign === undefined) return undefined;
  if (divisor !== undefined) {
    const second = settingOf(divisor, path) ?? numberOf(divisor);
    return second === undefined || sign !== '==' || right !== '0'
      ? undefined
      : `${first} must be a multiple of ${second}`;
  }
  const second = settingOf(right, path) ?? numberOf(right);
  return second === undefined ? undefined : `${first} ${WORDS[sign as keyof typeof WORDS]} ${second}`;
}

/** A name as its sources have it: `mMaxBeamWidth`, `maxNumTokens.value()`, `config.getTokensPerBlock()`. */
function settingOf(operand: string, path: string): string | undefined {
  const name = operand.replace(/(?:\.value)?(?:\(\))?$/, '').replace(/^.*(?:\.|->)/, '');
  const bare = name.replace(/^(?:m|get)(?=[A-Z])/, '').replace(/^[A-Z]/, (letter) => letter.toLowerCase());
  // The buffers of the cache transceiver have their own number of tokens, by the same name.
  const own = bare === 'maxNumTokens' && /cacheTrans/.test(path) ? 'maxTokensInBuffer' : bare;
  const [key, part] = SETTINGS[own] ?? [];
  if (key === undefined) return undefined;
  return part === '' ? key : `${key} of ${part}`;
}

function numberOf(operand: string): string | undefined {
  return /^(?:\d{1,9}(?:\.\d+)?|true|false)$/.test(operand) ? operand : undefined;
}
