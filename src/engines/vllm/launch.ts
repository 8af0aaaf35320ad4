import type { EngineLaunch } from '../descriptor/engine-launch.js';
import { VLLM_FLAGS } from './flags.js';

/** How vLLM is started. */
export const VLLM_LAUNCH: EngineLaunch = {
  modules: { 'vllm.entrypoints.openai.api_server': 'vllm' },
  commands: {
    vllm: { program: 'vllm', subcommand: { name: 'serve', isOptional: false }, others: [] },
  },
  images: { 'vllm-openai': ['vllm', 'serve'] },
  // "v0.26.0-cu129".
  versionInTag: /^v?(\d{1,3}\.\d{1,4}\.\d{1,4}(?:\.post\d{1,3})?)(?=$|-)/,
  dynamo: {
    module: 'dynamo.vllm',
    // Read in the wheels: it added --kv-events-config by itself up to 1.0.
    publishesByDefaultBefore: { major: 1, minor: 1 },
    chatProcessorSince: { major: 1, minor: 0 },
  },
  flagsFileFlag: '--config',
  arguments: VLLM_FLAGS,
  sizeFlags: ['--block-size'],
  // `BlockSize = Literal[1, 8, 16, 32, 64, 128, 256]` of older releases.
  computedSizeNote:
    'where vLLM refuses it, as releases that take powers of two up to 256 alone do: an image of Dynamo 1.6, whose workers ask the engine',
  contextParallelFlags: ['--decode-context-parallel-size', '-dcp', '--dcp-size'],
  sizeSettingName: "the workers' --block-size",
  hashSeedVariable: 'PYTHONHASHSEED',
  prefixCaching: { on: ['--enable-prefix-caching'], off: ['--no-enable-prefix-caching'] },
  kvEvents: {
    flag: '--kv-events-config',
    example: '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557"}',
    publishes: ({ publisher, enable_kv_cache_events: isEnabled }) =>
      isEnabled === true && publisher !== 'null',
  },
  configKeys: {
    block_size: { name: 'block_size' },
    gpu_memory_utilization: { name: 'gpu_memory_utilization' },
    max_num_seqs: { name: 'max_num_seqs' },
    max_model_len: { name: 'max_model_len' },
    enable_prefix_caching: { name: 'prefix_caching' },
    no_enable_prefix_caching: { name: 'prefix_caching', isOpposite: true },
    prefix_caching_hash_algo: { name: 'hash_algorithm' },
    num_gpu_blocks: { name: 'total_kv_blocks' },
    num_gpu_blocks_override: { name: 'total_kv_blocks' },
    kv_cache_memory_bytes: { name: 'kv_cache_bytes' },
    tensor_parallel_size: { name: 'tensor_parallel_size' },
    pipeline_parallel_size: { name: 'pipeline_parallel_size' },
    data_parallel_size: { name: 'data_parallel_size' },
    decode_context_parallel_size: { name: 'context_parallel_size' },
    kv_cache_dtype: { name: 'kv_cache_dtype' },
    kv_offloading_size: { name: 'host_cache' },
    quantization: { name: 'quantization' },
    speculative_config: { name: 'speculation' },
    cache_dtype: { name: 'kv_cache_dtype' },
    lora_modules: { name: 'lora_adapters' },
    enable_lora: { name: 'lora_adapters' },
  },
  defaultSettings: { tensor_parallel_size: '1' },
  // CacheConfig.gpu_memory_utilization: 0.9 in 0.19.1, 0.92 in 0.20.0.
  defaultMemoryShares: [{ share: 0.9, until: { major: 0, minor: 20 } }, { share: 0.92 }],
  tuning: {
    maxSequencesFlag: '--max-num-seqs',
    memory: {
      setting: 'gpu_memory_utilization',
      words: '--gpu-memory-utilization',
      partOf: 'all',
      more: {
        where: 'arguments',
        line: '--gpu-memory-utilization 0.95',
        note: 'of the whole GPU, weights included',
      },
      most: 0.95,
      blocksFlag: '--num-gpu-blocks-override',
    },
    retention: {
      where: 'arguments',
      line: '--kv-cache-dtype fp8',
      note: 'half of the bytes per token, where the model allows it',
    },
    prefixCaching: {
      where: 'arguments',
      line: '--enable-prefix-caching',
      note: 'take --no-enable-prefix-caching out',
    },
    eventRoom: {
      where: 'arguments',
      line: `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557","replay_endpoint":"tcp://*:5558","buffer_steps":10000,"hwm":100000}'`,
      note: '',
    },
    hashAlgorithm: { where: 'arguments', line: '--prefix-caching-hash-algo sha256_cbor', note: '' },
    adapters: {
      where: 'arguments',
      line: '--lora-modules NAME=PATH',
      note: 'the same NAME everywhere, and as "model" in requests',
    },
    tokenizer: { where: 'arguments', line: '--revision REVISION --tokenizer-revision REVISION', note: '' },
    hostCache: {
      setting: 'host_cache',
      sizes: [
        {
          setting: 'host_cache',
          begin: 32,
          line: (size) => `--kv-offloading-backend native --kv-offloading-size ${size}`,
        },
      ],
      where: 'arguments',
      note: 'GiB of host memory for blocks that leave the GPU',
    },
    eviction:
      'vLLM drops the blocks that were not used for the longest time, of one sequence the last first; there is no other policy and no guarantee',
  },
};
