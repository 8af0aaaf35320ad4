import { digitsBehind, numberOf, sizeBehind } from '../diagnosis/log-fields.js';
import type { LogFindings } from '../diagnosis/log-findings.js';
import type { LogLine } from '../diagnosis/log-line.js';
import { addWorkerSize, type LogRule, rule, signal, signalWithRest } from '../diagnosis/log-rule.js';
import { addPythonSettings, addPythonSize, pythonValue } from '../diagnosis/python-values.js';
import { SIGN_VALUES } from '../diagnosis/sign-values.js';

/** Fields of `KvCacheConfig` and of the engine's arguments, in dumps of Python objects. */
const ARGUMENTS = {
  enable_block_reuse: 'prefix_caching',
  free_gpu_memory_fraction: 'free_gpu_memory_fraction',
  host_cache_size: 'host_cache_bytes',
  event_buffer_max_size: 'kv_event_buffer_events',
  secondary_offload_min_priority: 'offload_min_priority',
  max_batch_size: 'max_batch_size',
  max_seq_len: 'max_model_len',
  tensor_parallel_size: 'tensor_parallel_size',
  pipeline_parallel_size: 'pipeline_parallel_size',
  enable_attention_dp: 'attention_data_parallel',
} as const;

/** What one step says of the cache, within its JSON. */
const STATS = /"kvCacheStats": ?\{([^{}]{1,2000})\}/g;

/** A share of zero says nothing: up to March 2026 the long prompts of the warm-up count as misses (pull request 12132). */
function readCacheStats(line: LogLine, stats: string, tally: LogFindings): void {
  const of = (name: string): number | undefined =>
    numberOf(new RegExp(`"${name}": ?([\\d.]{1,15})`).exec(stats)?.[1]);
  const [used, blocks, rate] = [of('usedNumBlocks'), of('maxNumBlocks'), of('cacheHitRate')];
  const about = 'kvCacheStats';
  tally.addSize(line, { side: 'worker', tokensPerBlock: of('tokensPerBlock'), basis: 'in_use', about });
  tally.addSetting(line, 'total_kv_blocks', { side: 'worker', value: blocks, about });
  tally.addEngineReading(line, {
    kvCacheUsage: used === undefined || !blocks ? undefined : Math.min(used / blocks, 1),
    prefixHitRate: rate === undefined || rate === 0 ? undefined : rate,
  });
}

/** The part of a GPU below which a cache holds a handful of blocks, whatever the model. */
const LITTLE = 0.02;

/** "Memory usage when calculating max tokens in paged kv cache: total: 22.19 GiB, available: 0.11 GiB". */
function readRoom(line: LogLine, tally: LogFindings): void {
  const [about, total, left] =
    /total: (\d{1,6}(?:\.\d{1,6})?) GiB, available: (\d{1,6}(?:\.\d{1,6})?) GiB/.exec(line.text) ?? [];
  if (about === undefined || Number(left) >= Number(total) * LITTLE) return;
  const value = `${SIGN_VALUES.littleForTensorrt} (${left} of ${total} GiB)`;
  tally.addSignal('cache_memory_missing', line, { value, about });
}

/** Lines of TensorRT-LLM, by itself, within Triton and within Dynamo's workers: 0.8 to 1.2. */
export const TENSORRT_RULES: readonly LogRule[] = [
  // "Max KV cache blocks per sequence: 128 [window size=4096], tokens per block=32, primary blocks=129, secondary blocks=0, max sequence length=4096".
  // "[WARNING] CacheTransceiver getOrAllocateBuffers: bufferCoverTargetNum:0 < targetNum:1, may use dynamic buffer which will …"
  signal('may use dynamic buffer which will fail', 'transfer_buffer_small'),
  rule('tokens per block=', (line, tally) => {
    const { text } = line;
    const about = 'tokens per block=';
    addWorkerSize(line, tally, about, 'in_use');
    const blocks = numberOf(digitsBehind(text, 'primary blocks='));
    const length = numberOf(digitsBehind(text, 'max sequence length='));
    const window = numberOf(digitsBehind(text, 'window size='));
    // A pool of layers with a window holds no sequence; a pool that is smaller than one bounds the window by its own tokens.
    const tokens = (blocks ?? 0) * (sizeBehind(text, about) ?? 0);
    const isOfWindow = window !== undefined && length !== undefined && window < length && window < tokens;
    const value = isOfWindow ? undefined : blocks;
    tally.addSetting(line, 'total_kv_blocks', { side: 'worker', value, keepsLargest: true, about });
    tally.addSetting(line, 'max_model_len', { side: 'worker', value: length, about });
  }),
  rule('Number of tokens per block: ', (line, tally) =>
    addWorkerSize(line, tally, 'Number of tokens per block: ', 'in_use'),
  ),
  rule('Number of blocks in KV cache primary pool', (line, tally) => {
    const blocks = numberOf(digitsBehind(line.text, 'primary pool: '));
    tally.addSetting(line, 'total_kv_blocks', { side: 'worker', value: blocks, about: 'primary pool' });
  }),
  // "[MemUsageChange] Allocated 78.30 GiB for max tokens in paged KV cache (3731744)."
  rule('for max tokens in paged KV cache', (line, tally) => {
    const [, gibibytes, tokens] =
      /Allocated (\d+(?:\.\d+)?) GiB for max tokens in paged KV cache \((\d{1,12})\)/.exec(line.text) ?? [];
    const about = 'Allocated';
    const bytes = gibibytes === undefined ? 0 : Math.round(Number(gibibytes) * 2 ** 30);
    // The first cache of the PyTorch backend is one to measure with, and is freed.
    tally.addPool(line, { tokens: numberOf(tokens), bytes: bytes > 0 ? bytes : undefined, about });
  }),
  rule(' when calculating max tokens in paged ', readRoom),
  // "TRTGptModel maxBatchSize: 64".
  rule('TRTGptModel maxBatchSize: ', (line, tally) => {
    const size = numberOf(digitsBehind(line.text, 'maxBatchSize: '));
    tally.addSetting(line, 'max_batch_size', { side: 'worker', value: size, about: 'maxBatchSize' });
  }),
  rule('TRTGptModel maxSequenceLen: ', (line, tally) => {
    const length = numberOf(digitsBehind(line.text, 'maxSequenceLen: '));
    tally.addSetting(line, 'max_model_len', { side: 'worker', value: length, about: 'maxSequenceLen' });
  }),
  // "KvCacheConfig(enable_block_reuse=True, max_tokens=None, …, free_gpu_memory_fraction=0.9, …)" and dumps of options as a dict.
  rule('enable_block_reuse', (line, tally) => {
    addPythonSize(line, tally, 'tokens_per_block');
    addPythonSettings(line, tally, ARGUMENTS);
    const buffer = numberOf(pythonValue(line.text, 'event_buffer_max_size'));
    const publishes = buffer === undefined ? undefined : String(buffer > 0);
    const about = 'event_buffer_max_size';
    tally.addSetting(line, 'publishes_kv_events', { side: 'worker', value: publishes, about });
  }),
  // "iter = 5559, …, num_scheduled_requests: 3, states = {'num_ctx_requests': 2, …}", once in each iteration.
  rule('num_scheduled_requests: ', (line, tally) => {
    const runningRequests = numberOf(digitsBehind(line.text, 'num_scheduled_requests: '));
    if (runningRequests !== undefined) tally.addEngineReading(line, { runningRequests });
  }),
  // `/metrics` of trtllm-serve, an object for each step: "…,"kvCacheStats":{"allocNewBlocks":250,…,"usedNumBlocks":5495},…".
  rule('"kvCacheStats"', (line, tally) => {
    const stats = line.record?.object('kvCacheStats') ?? line.fields?.['kvCacheStats'];
    if (stats !== undefined) readCacheStats(line, JSON.stringify(stats), tally);
    else for (const [, text = ''] of line.text.matchAll(STATS)) readCacheStats(line, text, tally);
  }),
  rule('TensorRT-LLM version: ', (line, tally) => {
    const version = /TensorRT-LLM version: ([\w.+-]{1,60})/.exec(line.text)?.[1];
    tally.addStart(line);
    tally.addSignal('started', line, { value: version, about: 'TensorRT-LLM version' });
    tally.addSetting(line, 'backend', { side: 'worker', value: 'trtllm', about: 'TensorRT-LLM version' });
    tally.addSetting(line, 'engine_version', {
      side: 'worker',
      value: version,
      about: 'TensorRT-LLM version',
    });
  }),
  // The native publisher of 1.3.
  signalWithRest('Failed to publish native KV event batch', 'publisher_failed'),
  // The event buffer of the C++ runtime.
  signal('The event queue has reached the max size', 'events_lost'),
];
