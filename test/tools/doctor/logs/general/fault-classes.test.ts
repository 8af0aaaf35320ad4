import { describe, expect, it } from 'vitest';
import { faultOf, pathFaultOf } from '../../../../../src/tools/doctor/logs/general/fault-classes.js';

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
    "'NoneType' object has no attribute 'get'",
    'batch_size must be positive',
    "This model's maximum context length is 4096 tokens.",
  ])('of %j is none', (sentence) => {
    expect(faultOf(sentence)).toBeUndefined();
  });

  it.each([
    ['ibv_reg_mr failed: Cannot allocate memory', 'memory cannot be registered'],
    ['No matched device found: mlx5_9', 'no network device that it can use'],
    [
      '0x7f: VRAM memory is detected as host by UCX. UCX is likely not configured with CUDA/ROCm support.',
      'UCX does not know the memory of GPUs',
    ],
    [
      '8 NVIDIA GPU(s) were detected, but UCX CUDA support was not found!',
      'UCX does not know the memory of GPUs',
    ],
    [
      "transport 'cuda_ipc' is not available, please use one or more of: tcp",
      'UCX does not know the memory of GPUs',
    ],
    [
      'Failed to deserialize rail endpoints with prefix: data',
      'the two sides have other backends or other numbers of network devices',
    ],
    ['EFA internal error: (4111) RMA address verification failed', 'EFA refuses what is sent'],
    [
      '[Handshake] Failed to modify QP to INIT: Invalid argument [22]',
      'the ports of the two network cards do not fit: GID, MTU or subnet',
    ],
    ['Failed to invoke HcclBatchPut, hccl_result = 1', 'the NPUs could not transfer (HCCL)'],
    ['Unexpected UCX error: Request canceled', 'the other engine is gone or is not reached'],
    [
      'connect(fd=120, dest_addr=10.0.0.7:34313) failed: Connection refused',
      'the other engine is gone or is not reached',
    ],
    ['Failed to register buffer to Mooncake Store, error code: -1', 'memory cannot be registered'],
    ['cuIpcOpenMemHandle failed: invalid device context', 'GPUs cannot map the memory of each other'],
    ['transport retry counter exceeded', 'the other engine is gone or is not reached'],
    ['something else', 'the backend reports an error'],
  ])('below a transfer, of %j, is %s', (sentence, fault) => {
    expect(pathFaultOf(sentence).value).toBe(fault);
  });
});
