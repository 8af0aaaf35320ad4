import { describe, expect, it } from 'vitest';
import { faultOf } from '../../../../../src/tools/doctor/logs/general/fault-classes.js';

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
    ['Mooncake not available', 'library_missing'],
    ['Install mooncake-transfer-engine to use ECMooncakeConnector.', 'library_missing'],
    ['ECCPUConnector requires NIXL; install the `nixl` package or set another.', 'library_missing'],
    ['mooncake could not be imported: libcudart.so.12', 'library_missing'],
    ["cannot import name 'KVConnectorBase_V2' from 'vllm.distributed.kv_transfer'", 'library_missing'],
    ["'nixl_agent' object has no attribute 'prep_xfer'", 'library_missing'],
    ["'UCMDirectConnector' object has no attribute 'blcok_data_size'", 'library_missing'],
    [
      'TypeError: LMCacheConnectorV1Impl.__init__() takes 4 positional arguments but 5 were given',
      'library_missing',
    ],
    ['Unsupported connector type: FooConnector', 'library_missing'],
    ['transfer failed with NIXL_ERR_BACKEND', 'transfer_path_broken'],
    ['NIXL >= 1.5.0 is required, but nixl==1.4.1 is installed', 'library_missing'],
    ['UCP version is incompatible, required: 1.18, actual: 1.12 (release 1)', 'library_missing'],
    [
      "custom_mem_pool='NVLINK' requires mooncake-transfer-engine>=0.3.8. Please upgrade Mooncake.",
      'library_missing',
    ],
  ])('of %j is %s', (sentence, signal) => {
    expect(faultOf(sentence)?.signal).toBe(signal);
  });

  it.each([
    "No module named 'requests'",
    'fastokens >= 0.2.0 is required when tokenizer_mode is fast',
    'Block of Mooncake not available',
    "'NoneType' object has no attribute 'get'",
    'batch_size must be positive',
    "This model's maximum context length is 4096 tokens.",
  ])('of %j is none', (sentence) => {
    expect(faultOf(sentence)).toBeUndefined();
  });
});
