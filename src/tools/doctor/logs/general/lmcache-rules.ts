import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';
import { SIGN_VALUES } from '../../../../engines/diagnosis/sign-values.js';
import { DISK_FULL } from './disk-full.js';
import { unresolvedStoreOf } from './name-rules.js';
import { remoteStoreFaultOf } from './remote-store.js';

/** What the system says of a file or of the disk below it. */
const DISK_ERRORS = [
  'No such file or directory',
  'Permission denied: ',
  'Read-only file system',
  'No space left on device',
] as const;
/** LMCache's name of a block on its disk, "vllm@mistralai-Mistral-7B-Instruct-v0.2@1@0@9bc7f366.pt": engine, model, ranks, rank, hash, and the dtype since 0.4. */
const BLOCK_FILE = /@\d{1,5}@\d{1,5}@-?[0-9a-f]{4,80}(?:@[\w.-]{1,40})*\.(?:pt|data|safetensors)\b/;
/** What engines say of LMCache's server after they called it unhealthy, and once as they start. */
export const SERVER_COMES_BACK = "LMCache's server misses heartbeats and comes back";
/** A server that is healthy again was away only where another line says this: as an engine starts it is there for the first time. */
export const LMCACHE_UNREACHED = 'LMCache is not reached';
/** LMCache without itself, before a reason that is known. */
export const LMCACHE_OFF = 'LMCache switched itself off at its start';
const BY_EXCEPTION = ' by an exception';
/** The same where the exception is not in the log. */
export const LMCACHE_OFF_UNSAID: string = `${LMCACHE_OFF}${BY_EXCEPTION}`;
/** Longest reason that is kept. */
const MAX_REASON_CHARS = 120;

/**
 * Lines by which LMCache says that it went on without itself, or without a part of it: 0.3.0 to 0.5.7, in the engine
 * and as a server of its own. What it merely does not have, evicts or finds again later is none.
 */
export const LMCACHE_RULES: readonly LogRule[] = [
  // "Failed to initialize LMCacheManager components: REASON. System will operate in degraded mode (recompute)."; the reason may be a traceback over several lines.
  off('initialize LMCacheManager components'),
  off('operate in degraded mode (recompute)'),
  off('LMCacheEngine marked as init failed'),
  fault('LMCache is unhealthy, skipping ', 'LMCache skips everything while its health check fails'),
  // "Failed to initialize/re-establish remote connection: Error -2 connecting to redis-kv:6379. Name or service not known."
  remote('initialize/re-establish remote connection'),
  remote('Connection is None in '),
  // Also the pool of vllm-ascend: "Remote connection failed in contains: unsupported format string passed to bytes.__format__".
  remote('Remote connection failed in '),
  // "Put task failed for key CacheEngineKey(…): [Errno 32] Broken pipe"
  rule('Put task failed for key ', (line, found) => {
    if (line.text.includes('remote_backend'))
      found.addSignal('offload_failed', line, {
        value: remoteStoreFaultOf(line.text.slice(line.text.lastIndexOf('): ') + 3)),
        about: 'Put task failed',
      });
  }),
  ...DISK_ERRORS.map((needle) =>
    rule(needle, (line, found) => {
      const value = diskFaultOf(line.text);
      if (value !== undefined) found.addSignal('offload_failed', line, { value, about: needle });
    }),
  ),
  fault('LMCache server is unhealthy', LMCACHE_UNREACHED),
  fault('LMCache server is healthy again', SERVER_COMES_BACK),
  fault('Marking server as unhealthy', 'LMCache answers too late'),
  fault('batched_async_contains timed out', 'LMCache answers too late'),
  fault('batched_get_non_blocking timed out', 'LMCache answers too late'),
  fault('Rejecting STORE for unregistered ', "LMCache's server does not know this engine"),
  fault('Rejecting RETRIEVE for unregistered ', "LMCache's server does not know this engine"),
  fault('consecutive failures. All future S3 operations', 'LMCache has switched its store off'),
  fault('L2Adapter disabled after ', 'LMCache has switched its store off'),
  fault('ai-toolkit circuit opened after ', 'LMCache has switched its store off'),
  fault(
    'This usually means the data was stored with',
    'LMCache finds blocks of another chunk size in its store',
  ),
  fault('does not match S3 part size', 'LMCache finds blocks of another chunk size in its store'),
  // "Put task for … requires … bytes, exceeding disk cache capacity", "No eviction candidates found. Disk space under pressure."
  fault('exceeding disk cache capacity', 'LMCache has no room on its disk'),
  fault('Insufficient evictable disk cache space', 'LMCache has no room on its disk'),
  fault('Disk space under pressure', 'LMCache has no room on its disk'),
  fault('Failed to load chunk from disk for key', 'LMCache cannot use its folder on disk'),
  fault('GDS/cuFile write operation failed for key', 'LMCache cannot use its folder on disk'),
  fault('GDS write operation failed for key', 'LMCache cannot use its folder on disk'),
  fault('metadata write operation failed for key', 'LMCache cannot use its folder on disk'),
  fault('GDS allocation failed after', 'LMCache has no room in its GDS buffer'),
  fault('GDS batched allocation failed after', 'LMCache has no room in its GDS buffer'),
  fault('consider increasing the `nixl_buffer_size`', 'LMCache has no room in its NIXL buffer'),
  // The receiving engine's loop, 0.3.0 to now, each 10 ms; LMCache-Ascend ends it after some seconds.
  rule('Failed to allocate memory object, retrying', (line, found) =>
    found.addSignal('offload_failed', line, { value: fullBufferOf(line.text), about: 'retrying' }),
  ),
  rule('Memory allocation timed out after ', (line, found) => {
    if (!line.text.includes('LMCache')) return;
    const value = `${transferBufferOf(line.text)} had no room in time`;
    found.addSignal('offload_failed', line, { value, about: 'Memory allocation timed out' });
  }),
  // The scheduler's client of the lookup server in each worker. A retry before the last may still get its answer.
  ...['Failed to receive from rank ', 'Timeout occurred for rank ', 'ZMQ error for rank '].map((needle) =>
    rule(needle, (line, found) => {
      const value = unansweredLookupOf(line.text);
      if (value !== undefined) found.addSignal('offload_failed', line, { value, about: needle });
    }),
  ),
  fault('Local cpu memory under pressure so choosing', SIGN_VALUES.lmcacheFull),
  fault('Failed to allocate huge pages', 'LMCache has no huge pages'),
  fault('Max retry count reached for lookup_id', 'LMCache does not reach its peers'),
  fault('Failed to ensure peer connection for lookup_id', 'LMCache does not reach its peers'),
  fault('returned error for batched P2P lookup', 'LMCache does not reach its peers'),
  fault('Error during P2P get operation for', 'LMCache does not reach its peers'),
  fault('Error during P2P batched lookup and put', 'LMCache does not reach its peers'),
  fault(' does not exist in transfer channel', 'LMCache does not reach its peers'),
  // The receiving engine answers with no place for a chunk, and the sender gives up the whole request.
  fault('Receiver allocation failed for key ', "LMCache's transfer buffer (pd_buffer_size) is full"),
  // "Failed to remove key" and the like of a store that is closed are none.
  remote('Irrecoverable error during connection init'),
];

/** Where a receiving engine waits for room: of a peer's blocks in its own memory, else in the buffer of transfers, by the setting of that version. */
function fullBufferOf(text: string): string {
  return /\bp2p_/.test(text)
    ? 'LMCache has no room for the blocks of its peers'
    : `${transferBufferOf(text)} is full`;
}

function transferBufferOf(text: string): string {
  return `LMCache's transfer buffer (${/\bnixl_/.test(text) ? 'nixl' : 'pd'}_buffer_size)`;
}

/** "Timeout occurred for rank 0, recreating all sockets. Error: …" of later versions passes; without that the socket is of no use any more. */
function unansweredLookupOf(text: string): string | undefined {
  const [, rank] =
    /(?:Failed to receive from rank (?=\d{1,5} after \d{1,3} retries)|(?:Timeout occurred|ZMQ error) for rank )(\d{1,5})/.exec(
      text,
    ) ?? [];
  if (rank === undefined || !text.includes('LMCache')) return undefined;
  if (text.includes('accomplished in current state') && !text.includes('recreating'))
    return `LMCache's lookup of rank ${rank} is stuck after a time-out`;
  return `LMCache's lookup gets no answer ${text.includes('recreating') ? 'in time ' : ''}from rank ${rank}`;
}

function remote(needle: string): LogRule {
  return rule(needle, (line, found) =>
    found.addSignal('offload_failed', line, { value: remoteStoreFaultOf(line.text), about: needle.trim() }),
  );
}

/** The fault of a disk in a line that names a block of LMCache; undefined for files of others. */
function diskFaultOf(text: string): string | undefined {
  if (!BLOCK_FILE.test(text)) return undefined;
  if (DISK_FULL.test(text)) return 'LMCache has no room on its disk';
  return text.includes('No such file')
    ? 'LMCache misses a file or its folder on disk'
    : 'LMCache cannot use its folder on disk';
}

function off(needle: string): LogRule {
  return rule(needle, (line, found) => {
    const reason = reasonOf(line.text);
    const said = reason ?? found.exceptionBefore(line);
    const how = said === '' ? (reason === undefined ? BY_EXCEPTION : '') : `: ${said}`;
    const value = `${LMCACHE_OFF}${how.slice(0, MAX_REASON_CHARS).trimEnd()}`;
    found.addSignal('offload_failed', line, { value, about: needle });
  });
}

/** What the line says of the reason; undefined where it is a traceback, whose last line stands below the first and above the last. */
function reasonOf(text: string): string | undefined {
  const [, after] =
    /(?:components|post_init|marked as init failed): (.*?)(?:\. System will operate|$)/.exec(text) ?? [];
  return after === undefined || after.startsWith('Traceback') ? undefined : after.trim();
}

function fault(needle: string, value: string): LogRule {
  return rule(needle, (line, found) => {
    const named = unresolvedStoreOf(line.text) ?? value;
    found.addSignal('offload_failed', line, { value: named, about: needle });
  });
}
