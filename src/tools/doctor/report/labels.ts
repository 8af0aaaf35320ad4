import type { SizeBasis } from '../../../engines/diagnosis/sighting-words.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import type { Disturbance } from '../cause-ids.js';
import type { Confidence, Diagnosis } from '../diagnosis.js';
import type { SourceOutcome } from '../evidence.js';

/** The first words of an answer. */
export const VERDICTS: Readonly<Record<Diagnosis['verdict'], string>> = {
  healthy: 'HEALTHY',
  findings: 'FINDING',
  unknown: 'COULD NOT TELL',
};

/** What a confidence rests on. */
export const CONFIDENCES: Readonly<Record<Confidence, string>> = {
  certain: 'certain, the numbers themselves contradict each other',
  likely: 'likely, its signature was seen',
  possible: 'possible, one sign of it was seen',
};

/** What a fix restarts, in words. */
export const DISTURBANCES: Readonly<Record<Disturbance, string>> = {
  nothing: 'restarts nothing',
  frontend: 'restarts the frontend',
  one_worker_at_a_time: 'restarts one worker at a time',
  all_workers: 'restarts all workers',
};

/** How a block size is known, in words. */
export const BASES: Readonly<Record<SizeBasis, string>> = {
  default: 'default, not set',
  configured: 'configured',
  declared: 'declared',
  in_use: 'in use',
  observed: 'seen in events',
};

/** What became of a source, in words. */
export const STATUSES: Readonly<Record<SourceOutcome['status'], string>> = {
  read: 'read',
  partly_read: 'partly read',
  not_read: 'not read',
};

/** Signs of logs, in words. */
export const SIGNAL_LABELS: Readonly<Record<Signal, string>> = {
  parent_block_not_found: 'parent block not found',
  block_to_remove_not_found: 'block to remove not found',
  block_not_published: 'block not published',
  router_size_mismatch: 'another block size was asked of a router',
  publisher_failed: 'a publisher of KV events failed',
  events_unreadable: 'KV events that could not be read',
  picker_parent_unknown: 'parents that the picker does not know',
  picker_scores_failed: 'prompts that the picker could not score',
  instance_unknown: 'engines that the router has no address of',
  offload_failed: 'blocks that a cache behind the engine did not give',
  hashes_differ: 'caches that are shared by hashes of other seeds',
  router_without_tree: 'requests that went to any worker',
  model_not_added: 'models that a frontend could not add',
  workers_rejected: 'workers rejected',
  events_lost: 'events lost',
  events_unreachable: 'events unreachable',
  events_disabled: 'events disabled',
  worker_added: 'workers added',
  worker_removed: 'workers removed',
  preemption: 'preemptions',
  cache_reset: 'cache resets',
  block_size_changed_by_engine: 'block size changed by the engine',
  accord_mismatch: 'mismatches reported by kv-accord',
  accord_conflict: 'conflicts reported by kv-accord',
  accord_tokens: 'other tokens of the same prompts',
  accord_misread: 'KV events read elsewhere',
  transfer_refused: 'pairs that refuse to exchange KV blocks',
  transfer_unreachable: 'side channels that do not answer',
  transfer_listener_ended: 'side channels that ended',
  transfer_failed: 'transfers of KV blocks that failed',
  transfer_buffer_small: 'prompts longer than the transfer buffer',
  transfer_recomputed: 'prompts computed again',
  transfer_expired: 'KV blocks that nobody fetched in time',
  transfer_done: 'transfers of KV blocks',
  transfer_over_tcp: 'transfers within a host over TCP',
  accord_transfer_slow: 'pairs below their topology',
  role_missing: 'requests without a prefill or decode engine',
  worker_unreachable: 'health checks of engines that fail',
  cache_memory_missing: 'engines without room for their cache',
  library_missing: 'libraries that are missing',
  ucx_differs: 'another version of UCX than expected',
  transfer_path_broken: 'paths of transfers that fail',
  port_down: 'ports of network cards that went down',
  port_up: 'ports of network cards that came up again',
  peer_agent_added: 'agents of other engines that NIXL was to take in',
  context_transfer_waits: 'blocks that were not fetched within one wait',
  nothing_scheduled: 'iterations in which nothing was scheduled',
  ascend_store_keys: 'keys of a store of NPUs',
  card_unfit: 'network cards that are left out',
  connector_crashed: 'tracebacks of KV connectors',
  settings_refused: 'settings that are refused',
  control_plane_unreachable: 'NATS or etcd not reached',
  request_too_long: 'requests that were refused as too long',
  model_not_served: 'requests for a model that is not served',
  chat_template_missing: 'chats that were refused for want of a chat template',
  started: 'starts',
};
