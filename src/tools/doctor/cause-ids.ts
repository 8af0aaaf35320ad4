/** What can be wrong: the closed list. */
export const CAUSES = [
  /** Router and engines use different block sizes. */
  'block_size_mismatch',
  /** A worker registered another number than its engine uses; no warning anywhere. */
  'wrong_model_card',
  /** A part of the fleet is rejected because its card differs. */
  'workers_rejected',
  /** Workers or router hash with another seed or algorithm. */
  'hash_mismatch',
  /** Workers of one model have different tokenizers or chat templates. */
  'token_mismatch',
  /** KV events of a worker are read where another engine publishes its own. */
  'misread_events',
  /** Workers publish no KV events, or cache nothing. */
  'events_off',
  /** Events are published and do not arrive. */
  'events_unreachable',
  /** A worker has KV events, and fails to send them. */
  'publisher_failed',
  /** KV events arrive, and the router cannot read them. */
  'events_unreadable',
  /** llm-d's picker gets stores that build on blocks which its index does not have. */
  'picker_index_incomplete',
  /** llm-d's picker cannot give a prompt a score: it has no tokens of it, or no index. */
  'prompts_not_scored',
  /** Prefill and decode engines refuse each other's KV blocks: they differ in a field that both must share. */
  'pair_incompatible',
  /** A decode engine cannot reach where a prefill engine says how its blocks are fetched. */
  'side_channel_unreachable',
  /** The thread behind that address has ended; the engine serves on. */
  'side_channel_dead',
  /** A router that divides requests has engines of one role alone. */
  'role_missing',
  /** Prefill engines keep blocks for decode engines that fetch them too late or never. */
  'leases_expire',
  /** KV blocks move far slower than the links between the GPUs allow. */
  'transfer_slow',
  /** vLLM's production stack: the index names an engine whose address the router does not have. */
  'instance_unknown',
  /** A frontend could not add the model that a worker registered. */
  'model_not_added',
  /** NATS or etcd cannot be reached: workers and routers do not find each other. */
  'control_plane_unreachable',
  /** A program does not start, because it refuses the settings that it has. */
  'settings_refused',
  /** A library that moves or keeps KV blocks is missing, or of a version that does not fit. */
  'library_missing',
  /** What lies below a transfer of KV blocks fails: devices, drivers, memory, the network. */
  'transfer_path_broken',
  /** A cache behind the engine lists blocks and does not give them. */
  'offload_failed',
  /** An engine has no room for the KV cache that it is asked for. */
  'cache_memory_missing',
  /** The part of an engine that moves or keeps KV blocks ends with an exception, for no reason that is known. */
  'connector_crashed',
  /** A program does not start or has ended, by an error that is none of the above. */
  'program_ended',
  /** Transfers of KV blocks fail, and no line says why. */
  'transfers_fail',
  /** Decode engines compute prompts that they should have received. */
  'decode_recomputes',
  /** A sidecar asked its engine the same prompt twice, and events or counts were not as predicted. */
  'canary_failed',
  /** What engines report as cached is not what kv-accord's router predicted. */
  'results_contradict',
  /** Events arrive with gaps. */
  'events_lost',
  /** The router began after the engines had stored blocks, and does not know their parents. */
  'frontend_late',
  /** The cache turns over faster than conversations come back. */
  'cache_churn',
  /** Model, LoRA adapter or salt differ between request and events. */
  'other_namespace',
  /** A hybrid model's effective size is another than the one that is configured. */
  'hybrid_block_size',
  /** Several frontends or routers, none of which knows what the others sent where. */
  'unsynced_frontends',
  /** The frontend does not route by KV cache at all. */
  'not_kv_routing',
  /** The router is configured not to use the events that workers publish. */
  'events_ignored',
  /** Prompts have nothing in common: there is nothing to find. */
  'no_shared_prefixes',
] as const;

/** A cause by its id, as `--json` has it. */
export type CauseId = (typeof CAUSES)[number];

/** What has to be restarted for a fix, from the least. */
export type Disturbance = 'nothing' | 'frontend' | 'one_worker_at_a_time' | 'all_workers';
