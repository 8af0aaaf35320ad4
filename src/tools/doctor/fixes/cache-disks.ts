import type { ProposedFix } from '../diagnosis.js';

/** How large a disk cache may become, in the setting of each program. */
const SIZES: readonly (readonly [program: RegExp, setting: string])[] = [
  [/^LMCache/, 'LMCACHE_MAX_LOCAL_DISK_SIZE=GB, of each rank'],
  [/^Mooncake/, 'MOONCAKE_OFFLOAD_BUCKET_MAX_TOTAL_SIZE=BYTES, whose backend evicts'],
  [/^HiCache/, 'SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE and SGLANG_HICACHE_FILE_BACKEND_MIN_FREE_SPACE'],
];

/** Where a disk cache lies, in the setting of each program. */
const FOLDERS: readonly (readonly [program: RegExp, setting: string])[] = [
  [/^LMCache/, 'LMCACHE_LOCAL_DISK, LMCACHE_GDS_PATH'],
  [/^Mooncake/, 'MOONCAKE_OFFLOAD_FILE_STORAGE_PATH'],
  [/^HiCache/, 'SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR'],
  [
    /^NIXL/,
    'nixl_path of LMCache, SGLANG_HICACHE_NIXL_BACKEND_STORAGE_DIR of SGLang, DYN_KVBM_DISK_CACHE_DIR of KVBM',
  ],
  [/^vLLM/, 'shared_storage_path or root_dir in kv_connector_extra_config of --kv-transfer-config'],
];

/** Gives a disk cache that is full more of its disk, or less to keep. */
export function roomOnDisk(fault: string): ProposedFix {
  const size = SIZES.find(([pattern]) => pattern.test(fault))?.[1];
  return {
    says: `Give the disk cache more room, or a bound below that of its volume${size === undefined ? '' : ` (${size})`}; the volume has to hold that of all ranks (df -h)`,
    why: 'What does not fit is not stored, and its prompts are computed again. A cache without a bound fills the volume, and the kubelet evicts the pod.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec WORKER -- df -h    # size and free part of the volume of the cache',
      'kubectl describe pod WORKER | grep -A3 -iE "ephemeral-storage|sizeLimit|evicted"    # the bound of the pod',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -ciE "disk space|disk cache|No space left|min_free|evictable"    # should be 0',
    ],
  };
}

/** Makes the folder of a disk cache one that can be used. */
export function usableFolder(fault: string): ProposedFix {
  const folder = FOLDERS.find(([pattern]) => pattern.test(fault))?.[1];
  return {
    says: `Give the disk cache a folder that is there and that the process may write${folder === undefined ? '' : ` (${folder})`}: a mounted volume with room, an absolute path without symbolic links`,
    why: 'Files cannot be opened, written or read. What should be kept there is lost, or found and not loaded; the lines name the path and the error of the system.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec WORKER -- sh -c "df -hT; id; ls -ld /PATH; touch /PATH/x && rm /PATH/x"    # mounted, writable, with room',
      'kubectl exec WORKER -- sh -c "ulimit -n"    # open files',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "FILE_|I/O failed|Failed to (open|load chunk)|write operation failed"    # should be 0',
    ],
  };
}

/** Files of LMCache that its index names and its folder does not have. */
export function keptFolder(): ProposedFix {
  return {
    says: "Create the folder of LMCache's disk cache (local_disk, LMCACHE_LOCAL_DISK) on a volume that is mounted and writable in the container, one of its own for each engine, let nothing else delete files in it, and restart the engine",
    why: 'LMCache keeps its index in memory and opens files by it. A folder that is not there, or files that another engine or a clean-up removed, fail the request or the step that needs them until it starts with an empty index.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec WORKER -- sh -c "env | grep LMCACHE_LOCAL_DISK; id; ls -ld /PATH; touch /PATH/x && rm /PATH/x"    # there, mounted and writable',
      'kubectl get pods -o yaml | grep -A3 -iE "LMCACHE_LOCAL_DISK|mountPath"    # no two engines with one folder',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "No such file or directory.*@[0-9]+@"    # should be 0',
    ],
  };
}
