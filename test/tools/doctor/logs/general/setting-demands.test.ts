import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../../src/tools/doctor/diagnose.js';
import { demandIn } from '../../../../../src/tools/doctor/logs/general/setting-demands.js';
import { joined } from '../../support/evidence.js';
import { summaryOf } from '../summaries.js';

/** Of the checks of vLLM, SGLang, TensorRT-LLM, Dynamo, LMCache, Mooncake, AIBrix, kthena and others. */
const DEMANDS = [
  'data_parallel_size_local must be 1 when data_parallel_rank is set',
  'data_parallel_hybrid_lb and data_parallel_external_lb cannot both be True.',
  'leader_pub_url and leader_ack_url must differ (same endpoint would fail to bind).',
  'Invalid environment variable VLLM_CPU_KVCACHE_SPACE 40GiB, expect a positive integer value.',
  'AIBRIX_KV_CACHE_OL_BLOCK_SIZE must be power of two',
  'router_track_output_blocks requires router_track_active_blocks=true',
  'DYN_EPP_BLOCK_SIZE has an invalid value "16k": invalid digit found in string',
  "role='reader' in /etc/mooncake.json is not one of: producer, consumer, both, capacity",
  'standalone-store mode requires global_segment_size == 0',
  'SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS must be a JSON object with string keys and string values',
  "Unknown secondary tier type: 's3'. Supported types: ['example', 'fs', 'obj', 'p2p'].",
  "unknown router mode 'kv-aware'; expected one of round-robin, random, kv, direct",
  'tls-cert and tls-key must be specified together',
  '--routing-logic must be provided.',
  "The environment variable 'MOONCAKE_CONFIG_PATH' is not set.",
  "Missing required field 'module_path' in backend config for 'dynamic' backend",
];

/** Of requests, of tensors, of what is out of memory or not reached. */
const OTHERS = [
  'max_tokens must be at least 1, got -1.',
  'temperature must be non-negative, got -0.5.',
  'cu_seqlens_q must have shape (batch_size + 1)',
  'out_tensor must be contiguous',
  'num_new_tokens must be greater than 0',
  "Number of cached req_ids doesn't match the number of cached new_block_ids",
  'batch_size must be positive',
  'Input length (4096 tokens) exceeds the maximum allowed length (2042 tokens). Use a shorter input or enable --allow-auto-truncate.',
  'CUDA out of memory. Tried to allocate 896.00 MiB. If reserved memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',
  'Transfer failed with NIXL_ERR_REMOTE_DISCONNECT, which is not supported',
  'FlashInfer Internal Error: Invalid configuration : NUM_MMA_Q=1',
  'the widget of layer 7 has no colour',
  "NameError: name 'start_time' is not defined",
  "UnboundLocalError: local variable 'frob_size' is not set",
  // States of vLLM's own lists, jobs and messages.
  'next_free_block of fake_free_list_head should always exist',
  "Invalid block found in popleft() which doesn't have a valid next_free_block",
  "Chunk 'a' ref_cnt is already 0",
  'P2PSession a: transport reported done for unknown transfer_id=4; attached job(s) will fail via store-timeout',
  'keys/block_indexes length mismatch: 32 vs 16',
  'Read size mismatch: got 4, expected 32',
];

async function firstCause(...lines: readonly string[]): Promise<string | undefined> {
  const log = lines.map((line) => `${line}\n`).join('');
  return diagnose(joined({ logs: [await summaryOf(log)] })).assessments[0]?.cause;
}

describe('what a program demands of a setting that it names', () => {
  it.each(DEMANDS)('%s', (sentence) => {
    expect(demandIn(sentence)).toBe(sentence);
  });

  it.each(OTHERS)('is not %s', (sentence) => {
    expect(demandIn(sentence)).toBeUndefined();
  });

  it.each([
    'F0303 10:00:00.175809       1 main.go:87] --frob-config is required when running in standalone mode',
    'E0303 10:00:00.175809       1 gateway.go:143] "error on selecting" err="unknown frob_policy \\"x\\"" requestID="1a"',
    '[2026-10-20 09:12:53,318] LMCache ERROR: frob.widget_size must be a multiple of 4 (config.py:12:lmcache.v1.config)',
    '2026-08-21T10:00:00.123456Z ERROR frob.read: DYN_FROB_DOMAIN is not set. Exiting.',
    '[08/18/2026-10:00:00] [TRT-LLM] [E] frob_config.widget_size must be one of [1, 2]',
    '{"level":"error","ts":"2026-03-03T10:00:00Z","msg":"failed to build","error":"unknown frob_connector: \\"x\\""}',
    'ValueError: frob_widget_size must be a power of two',
    'Error: frob_queue requires frob_limit=3',
  ])('is found at error level: %s', async (line) => {
    expect(await firstCause(line)).toBe('settings_refused');
  });

  it.each([
    'WARNING 11-20 10:00:00 [arg_utils.py:1700] --frob-dtype is not supported by the V1 Engine. Falling back to V0.',
    '(EngineCore_DP0 pid=9) WARNING 11-20 10:00:00 [a.py:1] ValueError: frob_widget_size must be a power of two',
    'INFO 11-20 10:00:00 [a.py:1] frob_widget_size must be a power of two',
  ])('is none where it is only warned of: %s', async (line) => {
    expect(await firstCause(line)).toBeUndefined();
  });

  it('is none of what a controller tries again', async () => {
    const line =
      '{"level":"error","msg":"Reconciler error","controller":"a","error":"frob_limit must be set"}';
    expect(await firstCause(line)).toBeUndefined();
  });

  it('is none of the fields of a line', async () => {
    const [line, setting] = [
      'Ignoring unsupported domain-scoped recovery snapshot worker_id=758 dp_rank=0 reset_scope=Domain',
      'unknown router mode worker_id=758',
    ];
    const log = await summaryOf(`2026-11-20T10:00:00.123456Z ERROR dynamo_llm::kv_router: ${line}\n`);
    expect(log.signals.get('settings_refused')).toBeUndefined();
    const other = await summaryOf(`2026-11-20T10:00:00.123456Z ERROR dynamo_llm::kv_router: ${setting}\n`);
    expect(other.signals.get('settings_refused')).toBeDefined();
  });

  it('comes before the place of a traceback through a cache', async () => {
    const cause = await firstCause(
      'Traceback (most recent call last):',
      '  File "/usr/lib/python3.12/site-packages/lmcache/v1/cache_engine.py", line 7, in __init__',
      '    raise ValueError(',
      'ValueError: frob_widget_size must be a power of two',
    );
    expect(cause).toBe('settings_refused');
  });
});
