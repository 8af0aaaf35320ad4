import { describe, expect, it } from 'vitest';
import { partOf } from '../../../../src/tools/doctor/fixes/crashed-parts.js';
import { readCrash } from '../../../../src/tools/doctor/logs/crash-text.js';
import { readMeasurements } from '../../../../src/tools/doctor/measurements/measurements.js';
import { joined } from '../support/evidence.js';

describe('an exception in a part of a cache that can be left out', () => {
  it.each([
    ['lmcache/v1/cache_engine.py in store_layer: RuntimeError: x', 'LMCACHE_USE_LAYERWISE=False'],
    [
      'lmcache/integration/vllm/vllm_v1_adapter.py in wait_for_save: StopIteration',
      'LMCACHE_USE_LAYERWISE=False',
    ],
    ['lmcache/v1/compute/blend/blender.py in process: KeyError: 3', 'LMCACHE_ENABLE_BLENDING=False'],
    [
      "lmcache/v1/lookup_client/lmcache_async_lookup_client.py in lookup_cache: KeyError: 'cmpl-1'",
      'LMCACHE_ENABLE_ASYNC_LOADING=False',
    ],
    ['lmcache/v1/storage_backend/p2p_backend.py in get: KeyError: 1', 'LMCACHE_ENABLE_P2P=False'],
    ['lmcache/v1/storage_backend/connector/redis_connector.py in put: ValueError: x', 'LMCACHE_REMOTE_URL'],
    ['lmcache/v1/storage_backend/local_disk_backend.py in put: OSError: x', 'LMCACHE_LOCAL_DISK'],
    ['lmcache/v1/cache_controller/worker.py in handle: KeyError: 1', 'LMCACHE_ENABLE_CONTROLLER=False'],
    ['lmcache/integration/vllm/vllm_multi_process_adapter.py in x: TypeError: x', 'LMCacheConnectorV1'],
    ['lmcache/v1/cache_engine.py in retrieve: RuntimeError: x', "without LMCache's connector"],
    ['kvcached/integration/vllm/patches.py in _patched: ValueError: x', 'ENABLE_KVCACHED=false'],
    ['pegaflow/connector/worker.py in register_kv_caches: ValueError: x', 'without PegaKVConnector'],
    ['flexkv/transfer/worker.py in _transfer_impl: RuntimeError: x', 'without FlexKVConnectorV1'],
    ['llmd_fs_backend/worker.py in transfer_async: AssertionError', 'without OffloadingConnector'],
    ['ucm/sparse/esa/esa.py in __init__: KeyError: 1', 'ucm_sparse_config'],
    [
      'tensorrt_llm/batch_manager/kvCacheManager.cpp: Assertion failed: mFreePrimaryBlocks list has no GPU blocks',
      'leave host_cache_size out',
    ],
    [
      'tensorrt_llm/batch_manager/kvCacheManager.cpp: Assertion failed: isLeaf()',
      'enable_block_reuse: false',
    ],
    [
      "tensorrt_llm/_torch/pyexecutor/resource_manager.py in update_resources: KeyError: 'a'",
      'enable_block_reuse: false',
    ],
    [
      'tensorrt_llm/_torch/pyexecutor/kv_cache/kv_cache_manager_v2.py in resize: ValueError: x',
      'use_kv_cache_manager_v2: false',
    ],
  ])('%s: %s', (value, wayOut) => {
    const crash = readCrash(value);
    expect(partOf(crash).wayOut(readMeasurements(joined({}), []), crash)).toContain(wayOut);
  });
});
