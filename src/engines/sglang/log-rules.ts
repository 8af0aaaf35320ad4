import { digitsBehind, fieldOf, numberOf, sizeOf } from '../diagnosis/log-fields.js';
import type { LogFindings } from '../diagnosis/log-findings.js';
import type { LogLine } from '../diagnosis/log-line.js';
import { type LogRule, rule, signal, signalWithRest, workerSetting } from '../diagnosis/log-rule.js';
import { addPythonSettings, addPythonSize, pythonValue } from '../diagnosis/python-values.js';

/** Server arguments, by their names in the dump. */
const ARGUMENTS = {
  model_path: 'model',
  served_model_name: 'served_model',
  tp_size: 'tensor_parallel_size',
  pp_size: 'pipeline_parallel_size',
  dp_size: 'data_parallel_size',
  dcp_size: 'context_parallel_size',
  attn_dp_size: 'attention_data_parallel_size',
  enable_dp_attention: 'attention_data_parallel',
  quantization: 'quantization',
  mem_fraction_static: 'gpu_memory_utilization',
  max_running_requests: 'max_num_seqs',
  context_length: 'max_model_len',
  kv_cache_dtype: 'kv_cache_dtype',
  dtype: 'dtype',
  attention_backend: 'attention_backend',
  disaggregation_transfer_backend: 'kv_connector',
  disaggregation_mode: 'kv_role',
  speculative_algorithm: 'speculation',
} as const;

/** Lines of SGLang, by itself and within Dynamo's workers: 0.4 to 0.5. */
export const SGLANG_RULES: readonly LogRule[] = [
  // "Prefill batch, #new-seq: 1, #new-token: 12, #cached-token: 4032, token usage: 0.01, #running-req: 0, #queue-req: 0".
  rule('#cached-token: ', (line, tally) => {
    const { text } = line;
    const fresh = numberOf(digitsBehind(text, '#new-token: '));
    const cached = numberOf(digitsBehind(text, '#cached-token: '));
    if (fresh === undefined || cached === undefined) return;
    // Up to 0.4 the earlier chunks of a prompt count as cached; the rate in the same line knows better.
    const rate = hitRateOf(text);
    tally.addEngineReading(line, {
      promptTokens: rate === undefined ? fresh + cached : undefined,
      cachedTokens: rate === undefined ? cached : undefined,
      prefixHitRate: rate,
      kvCacheUsage: usageOf(text),
      runningRequests: numberOf(digitsBehind(text, '#running-req: ')),
      waitingRequests: numberOf(digitsBehind(text, '#queue-req: ')),
    });
  }),
  // 0.1: "new fill batch. #seq: 1. #cached_token: 757. #new_token: 1. #remaining_req: 4. #running_req: 2. tree_cache_hit_rate: 80.83%."
  rule('#cached_token: ', (line, tally) => {
    const fresh = numberOf(digitsBehind(line.text, '#new_token: '));
    const cached = numberOf(digitsBehind(line.text, '#cached_token: '));
    if (fresh === undefined || cached === undefined) return;
    tally.addEngineReading(line, { promptTokens: fresh + cached, cachedTokens: cached });
  }),
  rule('Decode batch', (line, tally) => {
    const { text } = line;
    const runningRequests = numberOf(digitsBehind(text, '#running-req: '));
    if (runningRequests === undefined) return;
    const waitingRequests = numberOf(digitsBehind(text, '#queue-req: '));
    tally.addEngineReading(line, { kvCacheUsage: usageOf(text), runningRequests, waitingRequests });
  }),
  rule('max_total_num_tokens=', (line, tally) => {
    const { text } = line;
    const settings = [
      ['kv_cache_tokens', 'max_total_num_tokens'],
      ['max_num_seqs', 'max_running_requests'],
      ['max_model_len', 'context_len'],
    ] as const;
    for (const [setting, name] of settings) {
      const value = numberOf(fieldOf(text, name));
      const keepsLargest = setting === 'kv_cache_tokens';
      tally.addSetting(line, setting, { side: 'worker', value, keepsLargest, about: name });
    }
  }),
  // "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 21824, K size: 1.33 GB, V size: 1.33 GB".
  rule('KV Cache is allocated', (line, tally) => {
    const { text } = line;
    const about = 'KV Cache is allocated';
    const tokens = numberOf(digitsBehind(text, '#tokens: '));
    const gigabytes = [...text.matchAll(/\b(?:K|V|KV) size: (\d+(?:\.\d+)?) GB/g)];
    const sum = gigabytes.reduce((total, [, size]) => total + Number(size), 0);
    const bytes = sum > 0 ? Math.round(sum * 2 ** 30) : undefined;
    tally.addPool(line, { tokens, bytes, about });
    const dtype = /\bdtype: (torch\.\w{1,30})/.exec(text)?.[1];
    tally.addSetting(line, 'kv_cache_format', { side: 'worker', value: dtype, about });
  }),
  // "Using KV cache dtype: torch.float8_e4m3fn" (0.5); "Setting KV cache dtype to fp8_e4m3 for DeepSeek DSA on SM10 device."
  rule('Using KV cache dtype: ', (line, tally) => readCacheDtype(line, tally, 'Using KV cache dtype: ')),
  rule('Setting KV cache dtype to ', (line, tally) =>
    readCacheDtype(line, tally, 'Setting KV cache dtype to '),
  ),
  // "Load weight end. type=LlamaForCausalLM, …, avail mem=62.98 GB, mem usage=14.98 GB.", of one GPU.
  rule('Load weight end. ', (line, tally) => {
    const size = numberOf(/\bmem usage=(\d{1,6}(?:\.\d{1,4})?) GB/.exec(line.text)?.[1]) ?? 0;
    const value = size > 0 ? Math.round(size * 2 ** 30) : undefined;
    tally.addSetting(line, 'weight_bytes', { side: 'worker', value, about: 'Load weight end' });
  }),
  // "Use sliding window memory pool. full_layer_tokens=900000, swa_layer_tokens=720000", before the lines of both.
  rule('Use sliding window memory pool', (line, tally) => tally.addWindowPools(line)),
  // "SWAKVPool mem usage: 77.63 GB, swa size: 1496958, full size: 1496958", of both pools, which may have as many tokens.
  rule('SWAKVPool mem usage: ', (line, tally) => {
    const about = 'SWAKVPool mem usage';
    const gigabytes = numberOf(/SWAKVPool mem usage: (\d{1,6}(?:\.\d{1,4})?) GB/.exec(line.text)?.[1]) ?? 0;
    const bytes = gigabytes > 0 ? Math.round(gigabytes * 2 ** 30) : undefined;
    tally.addSetting(line, 'kv_cache_bytes', { side: 'worker', value: bytes, keepsLargest: true, about });
  }),
  // "server_args=ServerArgs(model_path=…, page_size=1, …)", as a dict since 0.5.20.
  rule('server_args=', (line, tally) => {
    const { text } = line;
    tally.addStart(line);
    tally.addSignal('started', line, { about: 'server_args=' });
    tally.addSetting(line, 'backend', { side: 'worker', value: 'sglang', about: 'server_args=' });
    addPythonSize(line, tally, 'page_size');
    addPythonSettings(line, tally, ARGUMENTS);
    const isOff = pythonValue(text, 'disable_radix_cache');
    const caching = isOff === undefined ? undefined : String(isOff !== 'true');
    tally.addSetting(line, 'prefix_caching', {
      side: 'worker',
      value: caching,
      about: 'disable_radix_cache',
    });
    if (pythonValue(text, 'enable_hierarchical_cache') === 'true')
      tally.addSetting(line, 'host_cache', { side: 'worker', value: 'hierarchical', about: 'enable_hier' });
    const events = /kv_events_config'?(?:=|: )(None|['"{])/.exec(text)?.[1];
    const publishes = events === undefined ? undefined : String(events !== 'None');
    tally.addSetting(line, 'publishes_kv_events', {
      side: 'worker',
      value: publishes,
      about: 'kv_events_config',
    });
  }),
  rule('Setting page size to ', (line, tally) => readChangedSize(line, tally, 'Setting page size to ')),
  rule('Setting page_size=', (line, tally) => readChangedSize(line, tally, 'Setting page_size=')),
  // "FlashMLA only supports a page_size of 64, change page_size to 64.",
  // "TensorRT-LLM MHA only supports page_size of 16, 32, 64 or 128, changing page_size from 1 to 64."
  rule('change page_size to ', (line, tally) => readChangedSize(line, tally, 'change page_size to ')),
  rule('changing page_size from ', readReplacedSize),
  rule('change page_size from ', readReplacedSize),
  rule('Page size now falls back to ', (line, tally) =>
    readChangedSize(line, tally, 'Page size now falls back to '),
  ),
  workerSetting('Radix cache is disabled', 'prefix_caching', 'false'),
  workerSetting('Disabling radix cache', 'prefix_caching', 'false'),
  // Of one architecture (up to 0.5.8), of checkpoints and models whose prompts cannot be reused, and of one attention backend.
  workerSetting('Disabling Radix Cache for ', 'prefix_caching', 'false'),
  workerSetting('detected: disabling radix cache', 'prefix_caching', 'false'),
  workerSetting('Radix cache and chunked prefill are disabled', 'prefix_caching', 'false'),
  workerSetting('radix cache are disabled when using', 'prefix_caching', 'false'),
  workerSetting('--chunked-prefill-size -1, --disable-radix-cache', 'prefix_caching', 'false'),
  workerSetting('in embedding mode without radix cache', 'prefix_caching', 'false'),
  signalWithRest('Error in publisher thread', 'publisher_failed'),
  // A traceback through the publisher of KV events, whose file has the same name in vLLM. Other sockets of engines fail elsewhere.
  rule('/kv_events.py', (line, tally) => {
    // A replay that fails goes through the same thread, which reports errors of its own in a line above.
    if (!/\/kv_events\.py", line \d{1,7}, in (?!_service_replay|_publisher_thread)/.test(line.text)) return;
    const value = line.text.includes('in _socket_setup') ? 'it cannot bind its socket' : undefined;
    tally.addSignal('publisher_failed', line, { value, about: 'a traceback in kv_events.py' });
  }),
  // "KV cache pool is full. Retract requests. #retracted_reqs: 2, …"; before 0.5: "Decode out of memory happened. #retracted_reqs: 2".
  rule('#retracted_reqs: ', (line, tally) => {
    if (line.text.includes('Testing retraction')) return;
    const count = numberOf(digitsBehind(line.text, '#retracted_reqs: ')) ?? 1;
    if (count > 0) tally.addSignal('preemption', line, { count, about: '#retracted_reqs' });
  }),
  signal('Cache flushed successfully', 'cache_reset'),
];

/** The engine chose its page size itself, or took another than it was given. */
function readChangedSize(line: LogLine, tally: LogFindings, phrase: string, asked?: string): void {
  const size = digitsBehind(line.text, phrase);
  if (size === undefined) return;
  const value = asked === undefined ? size : `${asked} -> ${size}`;
  tally.addSignal('block_size_changed_by_engine', line, { value, about: phrase });
  tally.addSize(line, { side: 'worker', tokensPerBlock: sizeOf(size), basis: 'in_use', about: phrase });
}

/** `torch.float8_e4m3fn`, `bfloat16`. */
function readCacheDtype(line: LogLine, tally: LogFindings, about: string): void {
  const at = line.text.indexOf(about);
  const value = /^(?:torch\.)?\w{2,30}/.exec(line.text.slice(at + about.length, at + about.length + 48))?.[0];
  tally.addSetting(line, 'kv_cache_format', { side: 'worker', value, about });
}

/** `cache hit rate: 12.50%`, up to 0.4. */
function hitRateOf(text: string): number | undefined {
  const at = text.indexOf('cache hit rate: ');
  if (at === -1) return undefined;
  const percent = numberOf(/^cache hit rate: (\d{1,3}(?:\.\d{1,4})?)%/.exec(text.slice(at, at + 32))?.[1]);
  return percent === undefined ? undefined : percent / 100;
}

/** `page_size from 1 to 64`, `page_size from None to 64`. */
function readReplacedSize(line: LogLine, tally: LogFindings): void {
  const from = line.text.indexOf('page_size from ');
  const phrase = /^page_size from \w{1,20} to /.exec(line.text.slice(from, from + 64))?.[0];
  if (phrase !== undefined) readChangedSize(line, tally, phrase, digitsBehind(line.text, 'page_size from '));
}

/** `token usage: 0.35`; with sliding windows `full token usage: 0.35, swa token usage: 0.9`. */
function usageOf(text: string): number | undefined {
  const value = numberOf(/token usage: (\d+(?:\.\d+)?)/.exec(text)?.[1]);
  return value === undefined || value > 1 ? undefined : value;
}
