import { digitsBehind, numberBetween, numberOf, sizeOf } from '../diagnosis/log-fields.js';
import type { LogFindings } from '../diagnosis/log-findings.js';
import type { LogLine } from '../diagnosis/log-line.js';
import { type LogRule, rule, signal, signalWithRest, workerSetting } from '../diagnosis/log-rule.js';
import { addPythonSettings, addPythonSize, pythonValue } from '../diagnosis/python-values.js';

/** `served_model_name=org/m,` and `'served_model_name': ['m']`, the first of several. */
const SERVED = /\bserved_model_name'?(?:=|: )\[?'?([\w./:@-]{1,200})/;

/** Arguments of `vllm serve`, by their names in the dump. */
const ARGUMENTS = {
  model: 'model',
  enable_prefix_caching: 'prefix_caching',
  tensor_parallel_size: 'tensor_parallel_size',
  pipeline_parallel_size: 'pipeline_parallel_size',
  data_parallel_size: 'data_parallel_size',
  decode_context_parallel_size: 'context_parallel_size',
  gpu_memory_utilization: 'gpu_memory_utilization',
  max_num_seqs: 'max_num_seqs',
  num_gpu_blocks_override: 'kv_blocks_override',
  max_model_len: 'max_model_len',
  kv_cache_dtype: 'kv_cache_dtype',
  prefix_caching_hash_algo: 'hash_algorithm',
  kv_cache_memory_bytes: 'kv_cache_bytes',
  enable_lora: 'lora_adapters',
  quantization: 'quantization',
  dtype: 'dtype',
  attention_backend: 'attention_backend',
  kv_connector: 'kv_connector',
  kv_role: 'kv_role',
  kv_offloading_size: 'host_cache',
} as const;

/** The same in the engine's own dump at its start. */
const ENGINE_CONFIG = {
  tensor_parallel_size: 'tensor_parallel_size',
  pipeline_parallel_size: 'pipeline_parallel_size',
  data_parallel_size: 'data_parallel_size',
  decode_context_parallel_size: 'context_parallel_size',
  max_seq_len: 'max_model_len',
  kv_cache_dtype: 'kv_cache_dtype',
  enable_prefix_caching: 'prefix_caching',
  quantization: 'quantization',
  dtype: 'dtype',
} as const;

/** What rounding may have added to a number with two decimals. */
const HALF_A_HUNDREDTH = 0.005;

/** Share of what its own cache lacks, from which on an engine computes next to nothing again. */
const NEARLY_ALL = 0.9;

/** Lines of vLLM, by itself and within Dynamo's workers: 0.6 (V0) to 0.32. */
export const VLLM_RULES: readonly LogRule[] = [
  // "Engine 000: Avg prompt throughput: …, Running: 3 reqs, Waiting: 0 reqs, Preemptions: 2, GPU KV cache usage: 98.1%, Prefix cache hit rate: 0.0%".
  rule('KV cache usage: ', (line, tally) => {
    const { text } = line;
    // With a capital: the hit rate of an external cache has none.
    const hitRate =
      shareBehind(text, 'Prefix cache hit rate: ') ?? shareBehind(text, 'Prefix cache hit rate: GPU: ');
    // While no prompt comes in nothing is looked up, and zero hits say nothing.
    const isIdle = hitRate === 0 && text.includes('Avg prompt throughput: 0.0 tokens/s');
    // An engine that gets nearly all from another one, or from a cache behind it, looks for little in its own.
    const isServed =
      hitRate === 0 && (shareBehind(text, 'External prefix cache hit rate: ') ?? 0) >= NEARLY_ALL;
    tally.addSetting(line, 'backend', { side: 'worker', value: 'vllm', about: 'KV cache usage' });
    tally.addEngineReading(line, {
      kvCacheUsage: shareBehind(text, 'KV cache usage: '),
      prefixHitRate: isIdle || isServed ? undefined : hitRate,
      runningRequests: numberBetween(text, 'Running: ', ' reqs'),
      waitingRequests: numberBetween(text, 'Waiting: ', ' reqs'),
      rank: numberBetween(text, ' Engine ', ': Avg'),
    });
    const preemptions = numberOf(digitsBehind(text, 'Preemptions: ')) ?? 0;
    if (preemptions > 0) tally.addSignal('preemption', line, { count: preemptions, about: 'Preemptions' });
  }),
  // V0, in a line of its own: "Prefix cache hit rate: GPU: 0.00%, CPU: 90.00%", zero also while nobody asks.
  rule('Prefix cache hit rate: GPU: ', (line, tally) => {
    const shares = [...line.text.matchAll(/\b[GC]PU: (\d{1,3}(?:\.\d{1,4})?)%/g)].map(
      ([, percent]) => Number(percent) / 100,
    );
    const prefixHitRate = Math.max(0, ...shares);
    if (prefixHitRate > 0) tally.addEngineReading(line, { prefixHitRate });
  }),
  // LMCache within vLLM: "Reqid: cmpl-1, Total tokens 192, LMCache hit tokens: 128, need to load: 63"; None without a hit.
  rule('LMCache hit tokens: ', (line, tally) => {
    const promptTokens = numberOf(digitsBehind(line.text, 'Total tokens '));
    const lookedUpTokens = numberOf(digitsBehind(line.text, 'LMCache hit tokens: ')) ?? 0;
    if (promptTokens === undefined || lookedUpTokens > promptTokens) return;
    tally.addEngineReading(line, { promptTokens, lookedUpTokens });
  }),
  // What came of it, from each rank: "Retrieved 0 out of 32 out of total 32 tokens", "Retrieved 256 out of 256 required tokens (from 300 total tokens)".
  ...[' out of total ', ' required tokens (from '].map((needle) =>
    rule(needle, (line, tally) => {
      const [, came, wanted] =
        /\bRetrieved (\d{1,9}) out of (\d{1,9})(?: out of total | required)/.exec(line.text) ?? [];
      if (came === undefined || !line.text.includes('LMCache')) return;
      tally.addEngineReading(line, { retrievedTokens: Number(came), wantedTokens: Number(wanted) });
    }),
  ),
  // "Creating v1 connector with name: NixlConnector and engine_id: 966415c7-…".
  rule('Creating v1 connector with name: ', (line, tally) => {
    const about = 'connector with name';
    const value = /connector with name: (\w{1,60})/.exec(line.text)?.[1];
    tally.addSetting(line, 'kv_connector', { side: 'worker', value, about });
  }),
  // "GPU KV cache size: 123,456 tokens", with the concurrency behind it since 0.30.
  rule('KV cache size: ', (line, tally) => {
    const tokens = numberOf(/KV cache size: ([\d,]{1,20}) tokens/.exec(line.text)?.[1]);
    const about = 'KV cache size';
    tally.addSetting(line, 'kv_cache_tokens', { side: 'worker', value: tokens, keepsLargest: true, about });
  }),
  // "Available KV cache memory: 33.40 GiB", of one GPU, "(process-scoped)" and the like behind it on some devices.
  rule('Available KV cache memory: ', (line, tally) =>
    addGibibytes(line, tally, 'kv_cache_bytes', 'Available KV cache memory: '),
  ),
  // "Initial free memory 31.16 GiB, reserved 4.25 GiB memory for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling."
  rule('as specified by kv_cache_memory_bytes', (line, tally) => {
    const [, value] = /reserved (\d{1,6}(?:\.\d{1,6})?) GiB memory for KV Cache/.exec(line.text) ?? [];
    const about = 'as specified by kv_cache_memory_bytes';
    if (value !== undefined) tally.addSetting(line, 'kv_cache_given', { side: 'worker', value, about });
  }),
  // V0: "model weights take 7.51GiB; non_torch_memory takes …; the rest of the memory reserved for KV Cache is 3.76GiB."
  rule('memory reserved for KV Cache is ', (line, tally) => {
    addGibibytes(line, tally, 'kv_cache_bytes', 'memory reserved for KV Cache is ');
    addGibibytes(line, tally, 'weight_bytes', 'model weights take ');
  }),
  // "Model loading took 14.3700 GiB memory and 13.381314 seconds", of one GPU; "Model loading took 14.3 GB and …" in 0.8.
  rule('Model loading took ', (line, tally) =>
    addGibibytes(line, tally, 'weight_bytes', 'Model loading took '),
  ),
  rule('Loading model weights took ', (line, tally) =>
    addGibibytes(line, tally, 'weight_bytes', 'Loading model weights took '),
  ),
  // "Using DeepSeek's fp8_ds_mla KV cache format. …"; 0.11: "Using custom fp8 kv-cache format for DeepSeekV3.2".
  workerSetting('fp8_ds_mla KV cache format', 'kv_cache_format', 'fp8_ds_mla'),
  workerSetting('Using custom fp8 kv-cache format for DeepSeek', 'kv_cache_format', 'fp8_ds_mla'),
  // "Maximum concurrency for 120,000 tokens per request: 2.48x", behind the tokens or in their line (0.30).
  rule('Maximum concurrency for ', (line, tally) => {
    const [, length, times] =
      /Maximum concurrency for ([\d,]{1,20}) tokens per request: (\d{1,9}(?:\.\d{1,4})?)x/.exec(line.text) ??
      [];
    const tokens = numberOf(length);
    const about = 'Maximum concurrency';
    tally.addSetting(line, 'max_model_len', { side: 'worker', value: tokens, about });
    // Up to 0.20 the tokens of a hybrid are blocks over its groups of layers; this counts what a sequence takes in each of them.
    const value =
      tokens === undefined ? undefined : Math.floor(Math.max(0, Number(times) - HALF_A_HUNDREDTH) * tokens);
    tally.addSetting(line, 'kv_cache_tokens', { side: 'worker', value, keepsLargest: true, about });
  }),
  // "Chunked prefill is enabled with max_num_batched_tokens=8192.", as the release and the GPU decide it.
  rule('Chunked prefill is enabled with max_num_batched_tokens=', (line, tally) => {
    const about = 'max_num_batched_tokens=';
    const value = numberOf(digitsBehind(line.text, about));
    tally.addSetting(line, 'max_num_batched_tokens', { side: 'worker', value, about });
  }),
  workerSetting('Asynchronous scheduling is enabled', 'async_scheduling', 'true'),
  workerSetting("Prefix caching in Mamba cache 'all' mode", 'mamba_cache_mode', 'all'),
  // V0: "# GPU blocks: 27000, # CPU blocks: 2048", later "# cuda blocks: …".
  rule('# GPU blocks: ', readBlocks),
  rule('# cuda blocks: ', readBlocks),
  rule('non-default args: ', (line, tally) => {
    tally.addStart(line);
    addPythonSize(line, tally, 'block_size');
    addServedModel(line, tally);
    addPythonSettings(line, tally, ARGUMENTS);
    addSpeculation(line, tally);
    addEvents(line, tally);
    if (isWholeArguments(line.text) && !line.text.includes('enable_prefix_caching'))
      tally.addSetting(line, 'prefix_caching_left_out', {
        side: 'worker',
        value: 'true',
        about: ARGUMENTS_LINE,
      });
  }),
  rule('LLM engine (v', (line, tally) => {
    const version = /LLM engine \(v([\w.+-]{1,60})\)/.exec(line.text)?.[1];
    tally.addStart(line);
    tally.addSignal('started', line, { value: version, about: 'LLM engine' });
    tally.addSetting(line, 'backend', { side: 'worker', value: 'vllm', about: 'LLM engine' });
    tally.addSetting(line, 'engine_version', { side: 'worker', value: version, about: 'LLM engine' });
    addServedModel(line, tally);
    addPythonSettings(line, tally, ENGINE_CONFIG);
    addSpeculation(line, tally);
  }),
  rule('Starting ZMQ publisher thread', (line, tally) =>
    tally.addSetting(line, 'publishes_kv_events', { side: 'worker', value: 'true', about: 'ZMQ publisher' }),
  ),
  rule('Setting attention block size to ', readChangedSize),
  rule('Setting kv cache block size to ', readChangedSize),
  // Up to 0.13: "Forcing kv cache block size to 64 for FlashMLA backend."
  rule('Forcing kv cache block size to ', readChangedSize),
  // vllm-ascend: "For deepseek_v4 model, block size should be 32, 64 or 128. Setting block size to 32 for better performance."
  rule('Setting block size to ', readChangedSize),
  // vllm-ascend: "Block size is set to 128 if prefix cache or chunked prefill is enabled."
  rule('Block size is set to ', (line, tally) => readChangedSize(line, tally, 'Block size is set to ')),
  // vllm-ascend: "Setting block size for xlite compatibility. original_block_size=256, new_block_size=128. …".
  rule('Setting block size for xlite', (line, tally) => readChangedSize(line, tally, 'new_block_size=')),
  // "CPU MLA backend requires block_size=16, overriding user-specified block_size=64."
  rule('overriding user-specified block_size', (line, tally) => {
    const size = digitsBehind(line.text, 'requires block_size=');
    const asked = digitsBehind(line.text, 'user-specified block_size=');
    if (size === undefined || asked === undefined) return;
    const about = 'requires block_size';
    tally.addSignal('block_size_changed_by_engine', line, { value: `${asked} -> ${size}`, about });
    tally.addSize(line, { side: 'worker', tokensPerBlock: sizeOf(size), basis: 'in_use', about });
    tally.addSize(line, { side: 'worker', tokensPerBlock: sizeOf(asked), basis: 'configured', about });
  }),
  // "Error in publisher thread: can't serialize ints < -2**63 or > 2**64 - 1".
  signalWithRest('Error in publisher thread', 'publisher_failed'),
  signal('KV cache events are on, but prefix caching', 'events_disabled'),
  signal('KV cache events are disabled, but the scheduler', 'events_disabled'),
  // The build of vLLM 0.7 and 0.8 within Dynamo 0.1, where prefix caching is off.
  workerSetting('Event API not supported with naive allocator', 'prefix_caching', 'false'),
  // "Disabling prefix caching: model has non-causal attention layers.", "Disabling prefix caching for TRITON_MLA …".
  workerSetting('Disabling prefix caching', 'prefix_caching', 'false'),
  workerSetting('multimodal models and has been disabled', 'prefix_caching', 'false'),
  workerSetting('Prefix caching is not supported for', 'prefix_caching', 'false'),
  workerSetting('nor prefix caching; disabling both', 'prefix_caching', 'false'),
  workerSetting('and prefix caching to be disabled', 'prefix_caching', 'false'),
  // Block hashes that are another's at each start: "… set PYTHONHASHSEED to a shared value", "PYTHONHASHSEED is not set. …".
  workerSetting('Using a random per-process NONE_HASH', 'hash_seed', 'random'),
  workerSetting('PYTHONHASHSEED is not set', 'hash_seed', 'random'),
  // V0: "Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space."
  signal('is preempted by PreemptionMode', 'preemption'),
  signal('Successfully reset prefix cache', 'cache_reset'),
];

/** `98.1%` right behind a phrase, as a share of one. */
function shareBehind(text: string, phrase: string): number | undefined {
  const percent = numberBetween(text, phrase, '%');
  return percent === undefined ? undefined : percent / 100;
}

/** Bytes of a line of one GPU: `33.40 GiB`, also `GB` of 2 to the power of 30, as older releases print it. */
function addGibibytes(
  line: LogLine,
  tally: LogFindings,
  name: 'kv_cache_bytes' | 'weight_bytes',
  about: string,
): void {
  const at = line.text.indexOf(about);
  if (at === -1) return;
  const [, size] =
    /^(\d{1,6}(?:\.\d{1,6})?) ?Gi?B\b/.exec(line.text.slice(at + about.length, at + about.length + 32)) ?? [];
  const bytes = Math.round(Number(size ?? 0) * 2 ** 30);
  if (bytes > 0) tally.addSetting(line, name, { side: 'worker', value: bytes, about });
}

function readBlocks(line: LogLine, tally: LogFindings): void {
  const value = digitsBehind(line.text, '# GPU blocks: ') ?? digitsBehind(line.text, '# cuda blocks: ');
  tally.addSetting(line, 'total_kv_blocks', { side: 'worker', value, about: ' blocks: ' });
}

/** "'speculative_config': {'method': 'mtp', …}", "speculative_config=SpeculativeConfig(method='mtp', …)"; None without. */
function addSpeculation(line: LogLine, tally: LogFindings): void {
  const value =
    /speculative_config'?(?:=|: )(?!None)[^,]{0,60}(?:method'?(?:=|: )|model'?(?:=|: ))?'?([\w./-]{1,80})/.exec(
      line.text,
    )?.[1];
  tally.addSetting(line, 'speculation', { side: 'worker', value, about: 'speculative_config' });
}

function readChangedSize(line: LogLine, tally: LogFindings, about = 'block size to '): void {
  const size = digitsBehind(line.text, about);
  if (size === undefined) return;
  tally.addSignal('block_size_changed_by_engine', line, { value: size, about });
  tally.addSize(line, { side: 'worker', tokensPerBlock: sizeOf(size), basis: 'in_use', about });
}

/** How vLLM's line of its arguments is called. */
const ARGUMENTS_LINE = 'non-default args';

function addServedModel(line: LogLine, tally: LogFindings): void {
  const value = SERVED.exec(line.text)?.[1];
  if (value === 'None') return;
  tally.addSetting(line, 'served_model', { side: 'worker', value, about: 'served_model_name' });
}

/** Whether the line of arguments is there to its end: it has all that is not left to its default. */
function isWholeArguments(text: string): boolean {
  return text.trimEnd().endsWith('}');
}

/** Who does not name them publishes none. */
function addEvents(line: LogLine, tally: LogFindings): void {
  const { text } = line;
  const isDefault = !text.includes('kv_events_config') && isWholeArguments(text);
  const about = isDefault ? ARGUMENTS_LINE : 'enable_kv_cache_events';
  const value = isDefault ? 'false' : pythonValue(text, 'enable_kv_cache_events');
  tally.addSetting(line, 'publishes_kv_events', { side: 'worker', value, isDefault, about });
}
