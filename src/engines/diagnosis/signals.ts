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
  /** A program began. */
  'started',
] as const;

export type Signal = (typeof SIGNALS)[number];
