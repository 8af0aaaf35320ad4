/** Who has a number of its own. */
export type Side = 'frontend' | 'router' | 'indexer' | 'worker';

/**
 * How a block size is known, from the weakest: `default` (nothing was set and
 * the program's own number applies), `configured` (flag, variable, file),
 * `declared` (what a worker registered), `in_use` (what a running program says
 * that it uses), `observed` (what KV events have).
 */
export type SizeBasis = 'default' | 'configured' | 'declared' | 'in_use' | 'observed';

/** Settings beside the block size that decide whether KV-aware routing can work. */
export type SettingName =
  | 'program'
  | 'backend'
  | 'dynamo_version'
  /** What a worker of Dynamo puts into its card by default, while its engine's own file was not with the manifests. */
  | 'card_block_size'
  | 'router_mode'
  /** Tokens or characters of the blocks by which a router guesses what engines have: no number that engines share. */
  | 'guess_block_size'
  | 'chat_processor'
  | 'router_uses_events'
  | 'router_replica_sync'
  | 'router_ttl_seconds'
  | 'router_max_tree_size'
  | 'router_prune_target_ratio'
  | 'router_snapshot_threshold'
  | 'event_transport'
  | 'host_cache_bytes'
  | 'host_cache_ratio'
  | 'host_cache_gigabytes'
  | 'kv_event_buffer_events'
  | 'offload_min_priority'
  | 'eviction_policy'
  | 'frontend_replicas'
  | 'publishes_kv_events'
  | 'prefix_caching'
  /** `true` where the arguments of an engine were seen and leave prefix caching to its default. */
  | 'prefix_caching_left_out'
  | 'hash_seed'
  | 'hash_algorithm'
  | 'tensor_parallel_size'
  | 'pipeline_parallel_size'
  | 'gpu_memory_utilization'
  | 'free_gpu_memory_fraction'
  | 'max_num_seqs'
  /** Tokens of one step at most, and whether the next is scheduled while it runs: layers with a window keep them too. */
  | 'max_num_batched_tokens'
  | 'async_scheduling'
  /** Which states of Mamba layers vLLM keeps for later prompts: `all`, `align` or `none`. */
  | 'mamba_cache_mode'
  /** A number of blocks that was given to the engine, whatever memory has room for. */
  | 'kv_blocks_override'
  /** A size of the cache that was given to the engine in place of a part of its GPU, in GiB. */
  | 'kv_cache_given'
  | 'max_batch_size'
  | 'max_model_len'
  | 'kv_cache_dtype'
  | 'kv_cache_format'
  | 'total_kv_blocks'
  | 'kv_cache_tokens'
  | 'kv_cache_bytes'
  | 'engine_version'
  | 'canary'
  | 'model'
  /** By which requests ask for it, where that is another. */
  | 'served_model'
  | 'data_parallel_size'
  | 'attention_data_parallel'
  | 'attention_data_parallel_size'
  | 'quantization'
  | 'weight_bytes'
  | 'context_parallel_size'
  | 'lora_adapters'
  | 'attention_kinds'
  | 'attention_backend'
  | 'dtype'
  | 'kv_connector'
  | 'kv_role'
  /** Speculative decoding, by its method or its draft model. */
  | 'speculation'
  /** SGLang's hierarchical cache, vLLM's offloading: a cache behind the engine's own. */
  | 'host_cache';
