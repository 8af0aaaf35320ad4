import type { KnownFault } from './known-fault.js';

/**
 * All rows, in parts that are loaded together, each with a file for a part of a program. Their texts are a megabyte, of
 * which a log needs a few: nothing loads them at the start.
 */
export const KNOWN_FAULTS: readonly (() => Promise<readonly KnownFault[]>)[] = [
  async () => (await import('./vllm/vllm-faults.js')).VLLM_FAULTS,
  async () => (await import('./sglang/sglang-faults.js')).SGLANG_FAULTS,
  async () => (await import('./dynamo/dynamo-faults.js')).DYNAMO_FAULTS,
  async () => (await import('./caches/caches-faults.js')).CACHES_FAULTS,
  async () => (await import('./transfer-libraries/transfer-libraries-faults.js')).TRANSFER_LIBRARIES_FAULTS,
  async () => (await import('./pickers/pickers-faults.js')).PICKERS_FAULTS,
  async () => (await import('./routers/routers-faults.js')).ROUTERS_FAULTS,
  async () => (await import('./servers/servers-faults.js')).SERVERS_FAULTS,
  async () => (await import('./engine-starts.js')).ENGINE_STARTS,
  async () => (await import('./engine-environment.js')).ENGINE_ENVIRONMENT,
  async () => (await import('./engine-models.js')).ENGINE_MODELS,
  async () => (await import('./unix-sockets.js')).UNIX_SOCKETS,
  async () => (await import('./shared-libraries.js')).SHARED_LIBRARIES,
  async () => (await import('./given-files.js')).GIVEN_FILES,
  async () => (await import('./unread-settings.js')).UNREAD_SETTINGS,
  async () => (await import('./ignored-settings.js')).IGNORED_SETTINGS,
  async () => (await import('./readiness-waits.js')).READINESS_WAITS,
  async () => (await import('./prompt-heads.js')).PROMPT_HEADS,
  async () => (await import('./settings-at-start.js')).SETTINGS_AT_START,
];
