import { DISK_FULL } from './disk-full.js';
import { isOfGivingBack } from './glog.js';

/** A kind of sentence of Mooncake's store: the first that fits names the fault. */
type StoreFault = readonly [fault: string, pattern: RegExp];

/** What is said of a get or a put that fails between two clients. */
export const CLIENTS_DO_NOT_MOVE = "Mooncake's clients do not move blocks to each other";

/** Errors by their level that come while nothing is wrong: a key that nobody has stored, one that is there, one that is not yet complete. */
const USUAL =
  /object_not_found|OBJECT_(?:NOT_FOUND|ALREADY_EXISTS|HAS_LEASE)|REPLICA_IS_NOT_READY|replica_is_not_ready|BatchQuerySlices failed with error: INVALID_REPLICA|Object not found for key/;

/**
 * What a line of Mooncake's store is a sign of: the errors of coro_rpc, by which its clients and its master speak, the
 * codes of its own (`mooncake-store/src/types.cpp`), and the sentences of its SSD tier, from 0.3.0 to 0.3.12.
 */
const FAULTS: readonly StoreFault[] = [
  [
    "Mooncake's client and its master are of other versions",
    /invalid rpc arg|function not registered|unknown protocol|protocol error|Version mismatch: server=/i,
  ],
  // A client's disk that the master has not, or no longer, in its table.
  [
    "Mooncake's master does not know the disk of this client",
    /Local disk segment not found|(?:[Hh]eartbeat|LocalDiskSegment|local disk segment)\b.{0,80}(?:SEGMENT_NOT_FOUND|CLIENT_NOT_FOUND)|Failed to re-register local disk|Heartbeat failed after re-registration/,
  ],
  ["Mooncake's master does not offload to disks", /UNABLE_OFFLOAD(?:ING)?\b/],
  // The client looks for its own memory segment under a name that the master lists otherwise.
  [
    'Mooncake writes nothing to its SSD',
    /BatchQuerySlices failed with error: INVALID_KEY|\bfile_storage\.cpp:\d+\] Key not found/,
  ],
  [
    'Mooncake writes to its SSD more slowly than it should',
    /Offloading task expired for key|Promotion task expired for key/,
  ],
  ['Mooncake has no room on its disk', DISK_FULL],
  [
    'Mooncake has no room on its disk',
    /KEYS_ULTRA_LIMIT|insufficient disk space|DFS_QUOTA_EXCEEDED|under quota|storage quota|Failed to evict file|evict file to m/i,
  ],
  [
    'Mooncake cannot use its folder on disk',
    /FILE_(?:OPEN|READ|WRITE|LOCK)_FAIL|PERSISTENT_FAIL|DFS_(?:PERMISSION_DENIED|STALE_HANDLE)|FileStorageConfig: (?:no write|storage_filepath|symbolic|path)|Failed to (?:create|init(?:ialize)?) (?:the )?[Ss]torage ?(?:backend|directory|root)|file storage init failed|Failed to open (?:bucket|data|temporary)? ?file|Failed to create (?:director|DFS mount path)|Failed to access root directory|Root (?:directory does not exist|path is not a directory)|Failed to preallocate DFS/,
  ],
  [
    'Mooncake has no room',
    /NO_AVAILABLE_HANDLE|no available handle|insufficient space|TENANT_QUOTA_EXCEEDED/i,
  ],
  [
    "Mooncake's client has no room in its local buffer",
    /Failed to allocate (?:temp )?buffer for|allocate_buffer_allocator_memory failed|AlignedClientBufferAllocator: (?:failed to allocate|posix_memalign failed)/,
  ],
  [
    'Mooncake answers too late',
    /RPC_TIMEOUT|RPC call (?:timed out|failed: (?:Connection timed out|Operation timed out))|DFS_NETWORK_TIMEOUT|rpc_timeout|Operation aborted/,
  ],
  [
    'Mooncake has no leading master',
    /No (?:active )?master .{0,40}(?:available|published)|leader_coordinator\.cpp/,
  ],
  // "Failed to mount segment: SEGMENT_ALREADY_EXISTS", "CLIENT_ALREADY_EXISTS".
  [
    "Mooncake's master has another client of this name",
    /(?:[Mm]ount(?:ing)?[ _]?[Ss]egment|[Rr]egister).{0,120}(?:SEGMENT|CLIENT)_ALREADY_EXISTS/,
  ],
  [
    'Mooncake takes no memory of this client',
    /mount[ _]segment.{0,120}(?:INVALID_PARAMS|BUFFER_OVERFLOW|SHARD_INDEX|INTERNAL_ERROR|NOT_IMPLEMENTED|UNAVAILABLE_IN_CURRENT_(?:STATUS|MODE))/i,
  ],
  [
    'Mooncake is not reached (its client has closed the connection)',
    /client has been closed, please re-?connect/,
  ],
  [
    'Mooncake is not reached',
    /rpc error|mount segment|mount_segment|connect|unreachable|RPC_FAIL|create client|open segment|ping master|Client not available|client_not_ready/i,
  ],
  [
    CLIENTS_DO_NOT_MOVE,
    /TRANSFER_FAIL|transfer_incomplete|Transfer (?:failed|submission failed)|Failed to complete transfers|Failed to submit (?:batch )?(?:transfer|range)|transfer_read(?:_range)?_failed/,
  ],
  [
    'Mooncake gives less than it lists',
    /Key not found|No (?:complete|usable|LOCAL_DISK) .{0,20}replica|REPLICA_IS_GONE|no_complete_replicas_found|LEASE_EXPIRED|SSD read failed/,
  ],
  [
    'Mooncake gives blocks that are not those that were stored',
    /CHECKSUM_MISMATCH|checksum_mismatch|checksum verification failed/,
  ],
];

/** Whether an error of the store is of memory that could not be registered with a network card. */
export function isUnregistered(text: string): boolean {
  return /register_local_memory_failed|Failed to register (?:local )?memory/.test(text);
}

/** Whether an error of the store, by its level, comes while nothing is wrong. */
export function isUsualOfStore(text: string): boolean {
  return USUAL.test(text) || isOfGivingBack(text);
}

/** The fault of an error of the store; undefined for what is usual. */
export function storeFaultOf(text: string): string | undefined {
  if (isUsualOfStore(text)) return undefined;
  return FAULTS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'Mooncake does not move its blocks';
}

/** The fault that a warning of the store names: those that heal by themselves are none. */
export function storeWarningOf(text: string): string | undefined {
  return /(?:Offloading|Promotion) task expired for key/.test(text) ? storeFaultOf(text) : undefined;
}

/** The same by number, as programs in Python have them: `enum class ErrorCode` of `mooncake-store/include/types.h`, 0.3.2 to 0.3.12. */
const CODES: Readonly<Record<string, string>> = {
  '-200': 'Mooncake has no room',
  '-707': 'Mooncake gives less than it lists',
  '-712': 'Mooncake gives less than it lists',
  '-800': CLIENTS_DO_NOT_MOVE,
  '-801': 'Mooncake gives blocks that are not those that were stored',
  '-900': 'Mooncake is not reached',
  '-901': 'Mooncake answers too late',
  '-1010': 'Mooncake has no leading master',
  '-1101': 'Mooncake cannot use its folder on disk',
  '-1102': 'Mooncake cannot use its folder on disk',
  '-1103': 'Mooncake cannot use its folder on disk',
};

/** The fault that a code of the store names in a line such as "batch_get_into failed for key … (code=-800)"; undefined for other codes. */
export function storeCodeFaultOf(text: string): string | undefined {
  return CODES[/\bcode=(-\d{3,4})\b/.exec(text)?.[1] ?? ''];
}
