import { fieldOf, numberOf, sizeOf } from '../diagnosis/log-fields.js';
import type { LogRule } from '../diagnosis/log-rule.js';
import { addPythonSettings, addPythonSize, pythonValue } from '../diagnosis/python-values.js';
import type { Signal } from '../diagnosis/signals.js';

/** Server arguments, by their names in the dump. */
const ARGUMENTS = {
  model_path: 'model',
  tp_size: 'tensor_parallel_size',
  pp_size: 'pipeline_parallel_size',
  dp_size: 'data_parallel_size',
  dcp_size: 'context_parallel_size',
  mem_fraction_static: 'gpu_memory_utilization',
  max_running_requests: 'max_num_seqs',
  context_length: 'max_model_len',
  kv_cache_dtype: 'kv_cache_dtype',
} as const;

/** Lines of SGLang, by itself and within Dynamo's workers: 0.4 to 0.5. */
export const SGLANG_RULES: readonly LogRule[] = [
  // "Prefill batch, #new-seq: 1, #new-token: 12, #cached-token: 4032, token usage: 0.01, #running-req: 0, #queue-req: 0".
  rule('#cached-token: ', (line, tally) => {
    const { text } = line;
    const fresh = numberOf(/#new-token: (\d{1,12})/.exec(text)?.[1]);
    const cached = numberOf(/#cached-token: (\d{1,12})/.exec(text)?.[1]);
    if (fresh === undefined || cached === undefined) return;
    tally.addEngineReading(line, {
      promptTokens: fresh + cached,
      cachedTokens: cached,
      kvCacheUsage: usageOf(text),
      runningRequests: numberOf(/#running-req: (\d{1,9})/.exec(text)?.[1]),
      waitingRequests: numberOf(/#queue-req: (\d{1,9})/.exec(text)?.[1]),
    });
  }),
  rule('Decode batch', (line, tally) => {
    const { text } = line;
    const runningRequests = numberOf(/#running-req: (\d{1,9})/.exec(text)?.[1]);
    if (runningRequests === undefined) return;
    const waitingRequests = numberOf(/#queue-req: (\d{1,9})/.exec(text)?.[1]);
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
      tally.addSetting(line, setting, { side: 'worker', value, about: name });
    }
  }),
  // "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 21824, K size: 1.33 GB, V size: 1.33 GB".
  rule('KV Cache is allocated', (line, tally) => {
    const { text } = line;
    const about = 'KV Cache is allocated';
    const tokens = numberOf(/#tokens: (\d{1,12})/.exec(text)?.[1]);
    tally.addSetting(line, 'kv_cache_tokens', { side: 'worker', value: tokens, about });
    const gigabytes = [...text.matchAll(/\b(?:K|V|KV) size: (\d+(?:\.\d+)?) GB/g)];
    const sum = gigabytes.reduce((total, [, size]) => total + Number(size), 0);
    const bytes = sum > 0 ? Math.round(sum * 2 ** 30) : undefined;
    tally.addSetting(line, 'kv_cache_bytes', { side: 'worker', value: bytes, about });
  }),
  // "server_args=ServerArgs(model_path=…, page_size=1, …)", as a dict since 0.5.20.
  rule('server_args=', (line, tally) => {
    const { text } = line;
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
    const events = /kv_events_config'?(?:=|: )(None|['"{])/.exec(text)?.[1];
    const publishes = events === undefined ? undefined : String(events !== 'None');
    tally.addSetting(line, 'publishes_kv_events', {
      side: 'worker',
      value: publishes,
      about: 'kv_events_config',
    });
  }),
  rule('Setting page size to ', (line, tally) => {
    const size = /page size to (\d{1,9})/.exec(line.text)?.[1];
    const about = 'page size to';
    tally.addSignal('block_size_changed_by_engine', line, { value: size, about });
    tally.addSize(line, { side: 'worker', tokensPerBlock: sizeOf(size), basis: 'in_use', about });
  }),
  // "KV cache pool is full. Retract requests. #retracted_reqs: 2, …"; before 0.5: "Decode out of memory happened. #retracted_reqs: 2".
  rule('#retracted_reqs: ', (line, tally) => {
    if (line.text.includes('Testing retraction')) return;
    const count = numberOf(/#retracted_reqs: (\d{1,9})/.exec(line.text)?.[1]) ?? 1;
    if (count > 0) tally.addSignal('preemption', line, { count, about: '#retracted_reqs' });
  }),
  signal('Cache flushed successfully', 'cache_reset'),
];

function rule(needle: string, read: LogRule['read']): LogRule {
  return { needle, read };
}

function signal(needle: string, sign: Signal): LogRule {
  return rule(needle, (line, tally) => tally.addSignal(sign, line, { about: needle }));
}

/** `token usage: 0.35`; with sliding windows `full token usage: 0.35, swa token usage: 0.9`. */
function usageOf(text: string): number | undefined {
  const value = numberOf(/token usage: (\d+(?:\.\d+)?)/.exec(text)?.[1]);
  return value === undefined || value > 1 ? undefined : value;
}
