/** What a line can be a sign of: the closed list. */
export const SIGNALS = [
  /** Dynamo: "Failed to find parent block; skipping store operation". */
  'parent_block_not_found',
  /** Dynamo: "Failed to find block to remove; skipping remove operation". */
  'block_to_remove_not_found',
  /** Dynamo: "Block not published. Block size must be 16 tokens to be published. Block size is: 32", three times per listener. */
  'block_not_published',
  /** Dynamo up to 0.9, and its indexer: a worker asks a router that exists for another block size. */
  'router_size_mismatch',
  /** Dynamo: workers whose card differs are rejected, by checksum. */
  'workers_rejected',
  /** A gap in the numbers of KV events, events lost, or a queue that is full. */
  'events_lost',
  /** A socket of KV events that cannot be reached or ends. */
  'events_unreachable',
  /** The publisher of an engine or of its wrapper fails: what it should send is not sent. */
  'publisher_failed',
  /** KV events arrive, and cannot be read. */
  'events_unreadable',
  /** llm-d: "Failed to get request key for parent block". */
  'picker_parent_unknown',
  /** llm-d: a prompt gets no score, for want of tokens or of an index. */
  'picker_scores_failed',
  /** vLLM's production stack: the index names an engine whose address the router does not have. */
  'instance_unknown',
  /** A cache behind the engine (LMCache, Mooncake) lists blocks and does not give them. */
  'offload_failed',
  /** LMCache: engines share blocks whose hashes differ from process to process. */
  'hashes_differ',
  /** A router without the tree of prefixes by which it should choose: it takes any worker. */
  'router_without_tree',
  /** Dynamo: "Error adding model from discovery". */
  'model_not_added',
  /** KV events, or prefix caching, are switched off. */
  'events_disabled',
  /** A worker came. */
  'worker_added',
  /** A worker went. */
  'worker_removed',
  /** An engine took a request off its GPU for want of KV blocks. */
  'preemption',
  /** An engine dropped its whole cache. */
  'cache_reset',
  /** An engine realigned or raised its block size (hybrid models). */
  'block_size_changed_by_engine',
  /** kv-accord: V3, the frontend's size does not match a worker's. */
  'accord_mismatch',
  /** kv-accord: A13, workers or the frontend make other tokens of the same prompts. */
  'accord_tokens',
  /** kv-accord: V6, KV events are read elsewhere than the engine says. */
  'accord_misread',
  /** kv-accord: A4, workers disagree. */
  'accord_conflict',
  /** Two engines refuse to exchange KV blocks: the field is the value, with both numbers where the line has them. */
  'transfer_refused',
  /** A decode engine gets no answer from where a prefill engine says how its blocks are fetched. */
  'transfer_unreachable',
  /** The thread that says how blocks are fetched has ended, or never began. */
  'transfer_listener_ended',
  /** A transfer of KV blocks, or the request that waited for it, failed. */
  'transfer_failed',
  /** TensorRT-LLM: "may use dynamic buffer which will fail with NIXL backend". */
  'transfer_buffer_small',
  /** A decode engine computes what it should have received. */
  'transfer_recomputed',
  /** KV blocks were kept for a decode engine that did not fetch them in time. */
  'transfer_expired',
  /** Transfers of KV blocks that came true. */
  'transfer_done',
  /** UCX moves device memory within a host over TCP. */
  'transfer_over_tcp',
  /** kv-accord: a pair moves far less than its topology promises. */
  'accord_transfer_slow',
  /** A router has no prefill engine, or no decode engine. */
  'role_missing',
  /** A router's health check of a worker fails; the worker is the one that it names. */
  'worker_unreachable',
  /** An engine has no room for its KV cache: it does not start, or drops a batch. */
  'cache_memory_missing',
  /** A library that moves or keeps KV blocks is missing, or its version does not belong to the engine's. */
  'library_missing',
  /** What lies below a transfer fails: devices, drivers, memory that cannot be registered, a path that breaks. */
  'transfer_path_broken',
  /** The port of a network card goes down, by an event that NCCL, UCX or Mooncake pass on; the value is its card. */
  'port_down',
  /** It is up again. */
  'port_up',
  /** A frame of a traceback in which NIXL takes in the agent of another engine. */
  'peer_agent_added',
  /** TensorRT-LLM: a request of a prefill engine whose blocks were not fetched within one wait; usual while decode engines are busy. */
  'context_transfer_waits',
  /** TensorRT-LLM: an iteration with requests in it, and none of them scheduled. */
  'nothing_scheduled',
  /** Keys of blocks as vLLM Ascend writes them into its store. */
  'ascend_store_keys',
  /** A network card that a library leaves out: others may be left. */
  'card_unfit',
  /** A traceback through the part of an engine that moves or keeps KV blocks. */
  'connector_crashed',
  /** UCX says that it is of another version than the one that its user was built for: it mostly works all the same. */
  'ucx_differs',
  /** A program refuses its settings, by the sentence that is the value. */
  'settings_refused',
  /** NATS or etcd, by which a fleet finds its members, cannot be reached. */
  'control_plane_unreachable',
  /** An engine refused a request that is longer than it takes; the value is what it takes, in tokens. */
  'request_too_long',
  /** A client asked an engine for a model by a name that it does not serve. */
  'model_not_served',
  /** A client sent a chat for a model that has no chat template. */
  'chat_template_missing',
  /** A program began. */
  'started',
] as const;

/** A sign by its name. */
export type Signal = (typeof SIGNALS)[number];
