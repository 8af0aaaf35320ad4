import type { EngineLaunch } from '../descriptor/engine-launch.js';
import { SGLANG_FLAGS } from './flags.js';

/** How SGLang is started. Without its flag the page size depends on the attention backend, and that on model and GPU. */
export const SGLANG_LAUNCH: EngineLaunch = {
  modules: { 'sglang.launch_server': 'sglang' },
  commands: {
    sglang: { program: 'sglang', subcommand: { name: 'serve', isOptional: false }, others: [] },
  },
  images: {},
  dynamo: {
    module: 'dynamo.sglang',
    // In the sources of 0.4.
    otherModules: ['dynamo.sglang.worker', 'dynamo.sglang.decode_worker'],
    chatProcessorSince: { major: 1, minor: 1 },
    // Read in the wheel of 1.6.1: page_size * dcp_size.
    registersContextParallelSince: { major: 1, minor: 6 },
  },
  flagsFileFlag: '--config',
  arguments: SGLANG_FLAGS,
  sizeFlags: ['--page-size'],
  contextParallelFlags: ['--decode-context-parallel-size', '-dcp', '--dcp-size'],
  sizeSettingName: 'SGLang --page-size',
  prefixCaching: { on: [], off: ['--disable-radix-cache'] },
  kvEvents: {
    flag: '--kv-events-config',
    example: '{"publisher":"zmq","endpoint":"tcp://*:5557"}',
    publishes: ({ publisher }) => publisher !== undefined && publisher !== 'null',
  },
  configKeys: {
    lora_paths: { name: 'lora_adapters' },
    page_size: { name: 'block_size' },
    mem_fraction_static: { name: 'gpu_memory_utilization' },
    max_running_requests: { name: 'max_num_seqs' },
    context_length: { name: 'max_model_len' },
    disable_radix_cache: { name: 'prefix_caching', isOpposite: true },
    max_total_tokens: { name: 'kv_cache_tokens' },
    max_total_num_tokens: { name: 'kv_cache_tokens' },
    tp_size: { name: 'tensor_parallel_size' },
    tp: { name: 'tensor_parallel_size' },
    pp_size: { name: 'pipeline_parallel_size' },
    dp_size: { name: 'data_parallel_size' },
    dp: { name: 'data_parallel_size' },
    attn_dp_size: { name: 'attention_data_parallel_size' },
    attention_data_parallel_size: { name: 'attention_data_parallel_size' },
    enable_dp_attention: { name: 'attention_data_parallel' },
    speculative_algorithm: { name: 'speculation' },
    dcp_size: { name: 'context_parallel_size' },
    hicache_ratio: { name: 'host_cache_ratio' },
    hicache_size: { name: 'host_cache_gigabytes' },
    enable_hierarchical_cache: { name: 'host_cache' },
  },
  attentionGroups: 'data_parallel_size',
  defaultSettings: { tensor_parallel_size: '1' },
  poolsApart: {
    windows:
      'SGLang gives layers with a window a pool of their own, of swa_full_tokens_ratio (0.8 by default) of the tokens of the others, or of some models all: the line "max_total_num_tokens" of its log has the tokens',
    states:
      'SGLang divides its memory between a pool of states and the KV cache (mamba_full_memory_ratio, max_mamba_cache_size): the line "max_total_num_tokens" of its log has the tokens',
  },
  tuning: {
    maxSequencesFlag: '--max-running-requests',
    admission: {
      where: 'arguments',
      line: '--schedule-conservativeness 1.3 and fewer --max-running-requests',
      note: 'it estimates answers to be longer, and admits fewer requests',
    },
    memory: {
      setting: 'gpu_memory_utilization',
      words: '--mem-fraction-static',
      partOf: 'free_at_start',
      more: {
        where: 'arguments',
        line: '--mem-fraction-static 0.90',
        note: 'weights and cache together',
      },
      most: 0.9,
    },
    retention: {
      where: 'arguments',
      line: '--enable-hierarchical-cache --hicache-ratio 2',
      note: 'host memory for what leaves the GPU',
    },
    hostCache: {
      setting: 'host_cache',
      sizes: [
        {
          setting: 'host_cache_gigabytes',
          begin: 32,
          line: (size) => `--enable-hierarchical-cache --hicache-size ${size}`,
        },
        {
          setting: 'host_cache_ratio',
          begin: 2,
          line: (size) => `--enable-hierarchical-cache --hicache-ratio ${size}`,
        },
      ],
      where: 'arguments',
      note: 'host memory for what leaves the GPU',
    },
    prefixCaching: { where: 'arguments', line: 'without --disable-radix-cache', note: '' },
    eventRoom: {
      where: 'arguments',
      line: `--kv-events-config '{"publisher":"zmq","endpoint":"tcp://*:5557","replay_endpoint":"tcp://*:5558","buffer_steps":10000,"hwm":100000}'`,
      note: '',
    },
    adapters: {
      where: 'arguments',
      line: '--lora-paths NAME=PATH',
      note: 'the same NAME everywhere, and in requests',
    },
    tokenizer: { where: 'arguments', line: '--revision REVISION', note: '' },
    eviction:
      'SGLang drops the blocks that were not used for the longest time (--radix-eviction-policy lru); lfu keeps those that are used often',
  },
};
