import type { KnownFault } from '../known-fault.js';

/** What TensorRT-LLM's configuration refuses in sentences that name the key: `llmapi/llm_args.py`, 0.20 to 1.3. */
export const TRTLLM_ARGUMENTS: readonly KnownFault[] = [
  {
    id: 'trtllm_disk_cache_path',
    cause: 'settings_refused',
    needles: ['kv_cache_config.disk_cache_path '],
    pattern: /disk_cache_path (?:(\/\S{1,200}) does not exist|must be set)/,
    says: 'TensorRT-LLM does not start: the KV cache on disk has no folder that exists',
    why: 'With disk_cache_size it keeps blocks in files of disk_cache_path, which has to be there before.',
    cure: 'Set disk_cache_path under kv_cache_config to a folder of the container that exists (mount a volume of a local disk there), or drop disk_cache_size',
  },
  {
    id: 'trtllm_attention_window_values',
    cause: 'settings_refused',
    needles: ['kv_cache_config.max_attention_window m', 'kv_cache_config.max_attention_window values m'],
    says: 'TensorRT-LLM does not start: max_attention_window of kv_cache_config is no list of positive numbers',
    why: 'It has one number for each layer, or a pattern that is repeated: [4096] or [1024, 1024, 32768].',
    cure: 'Write max_attention_window: [4096] under kv_cache_config as a list of whole numbers, or drop it: the model has its own',
  },
  {
    id: 'trtllm_block_reuse_policy_renamed',
    cause: 'settings_refused',
    needles: ["'kv_cache_config.block_reuse_config.block_reuse_policy' was"],
    says: 'TensorRT-LLM does not start: block_reuse_policy has another name in this release',
    why: 'The key was renamed, and the earlier name is refused.',
    cure: 'Write policy in place of block_reuse_policy under kv_cache_config.block_reuse_config',
  },
  {
    id: 'trtllm_mamba_needs_v2',
    cause: 'settings_refused',
    needles: [
      'require kv_cache_config.use_kv_cache_manager_v2=True',
      'requires kv_cache_config.use_kv_cache_manager_v2=True',
    ],
    says: 'TensorRT-LLM does not start: these snapshots of Mamba states need its second KV cache manager',
    why: 'The C++ manager keeps states only at regular places.',
    cure: 'Set use_kv_cache_manager_v2: true under kv_cache_config, or drop the additional offsets and enable_branch_snapshot from mamba_state_config',
  },
  {
    id: 'trtllm_rebalance_packed',
    cause: 'settings_refused',
    needles: ["kv_cache_config.dtype='fp8_ds_mla' is incompatible with"],
    says: 'TensorRT-LLM does not start: a packed cache of sparse MLA (fp8_ds_mla) cannot be divided again',
    why: 'Views into its pools are made once, when the manager starts.',
    cure: 'Set enable_kv_pool_rebalance: false under kv_cache_config, or dtype: fp8',
  },
];
