import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  faultOf,
  pathFaultOf,
  refusalOf,
} from '../../../../../src/tools/doctor/logs/general/fault-classes.js';

describe('the class of an error', () => {
  it.each([
    [
      "The model's max seq len (8192) is larger than the maximum number of tokens that can be stored in KV cache (2400).",
      'cache_memory_missing',
    ],
    [
      'No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.',
      'cache_memory_missing',
    ],
    ["No module named 'nixl._api'", 'library_missing'],
    ["cannot import name 'KVConnectorBase_V2' from 'vllm.distributed.kv_transfer'", 'library_missing'],
    ["'nixl_agent' object has no attribute 'prep_xfer'", 'library_missing'],
    ['Unsupported connector type: FooConnector', 'library_missing'],
    ['transfer failed with NIXL_ERR_BACKEND', 'transfer_path_broken'],
  ])('of %j is %s', (sentence, signal) => {
    expect(faultOf(sentence)?.signal).toBe(signal);
  });

  it.each([
    "No module named 'requests'",
    "'NoneType' object has no attribute 'get'",
    'batch_size must be positive',
    "This model's maximum context length is 4096 tokens.",
  ])('of %j is none', (sentence) => {
    expect(faultOf(sentence)).toBeUndefined();
  });

  it.each([
    ['ibv_reg_mr failed: Cannot allocate memory', 'memory cannot be registered'],
    ['No matched device found: mlx5_9', 'no network device that it can use'],
    ['cuIpcOpenMemHandle failed: invalid device context', 'GPUs cannot map the memory of each other'],
    ['transport retry counter exceeded', 'the other engine is gone or is not reached'],
    ['something else', 'the backend reports an error'],
  ])('below a transfer, of %j, is %s', (sentence, fault) => {
    expect(pathFaultOf(sentence).value).toBe(fault);
  });
});

describe('settings that are refused', () => {
  it.each([
    'block_size must be a multiple of 16',
    '--enable-hierarchical-cache and --disable-radix-cache are mutually exclusive; page_size cannot be 1',
    'Hybrid KV cache is not supported for eagle + chunked local attention.',
  ])('are recognised: %s', (sentence) => {
    expect(refusalOf(sentence)).toEqual({ signal: 'settings_refused', value: sentence });
  });

  it.each([
    'kv_transfer_params is not supported for this request',
    'page_size mismatch: prefill server has 16',
    'temperature must be positive',
  ])('are not those of one request, of a pair, or of anything else: %s', (sentence) => {
    expect(refusalOf(sentence)).toBeUndefined();
  });

  it('keep any sentence short and in one line', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), (text) => {
        const value = refusalOf(`block_size must be ${text}`)?.value ?? '';
        expect(value.length).toBeLessThanOrEqual(180);
        expect(value).not.toContain('\n');
      }),
    );
  });
});
