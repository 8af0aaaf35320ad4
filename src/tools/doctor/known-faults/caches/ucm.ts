import type { KnownFault } from '../known-fault.js';

/** UCM (unified-cache-management) behind vLLM, vllm-ascend and SGLang, 0.0.2 to 0.5: `ucm/store`, its status codes -50000 to -50010. */
export const UCM: readonly KnownFault[] = [
  {
    id: 'ucm_block_not_committed',
    cause: 'offload_failed',
    needles: ['Failed to commit kv cache block space', 'to commit block('],
    pattern: /(?:error code: |Failed\()(-\d{1,6})\b/,
    says: 'UCM does not keep blocks in its storage (status $1): they are not found later',
    why: 'A block is written under a temporary name and renamed as it is complete. With -50005 the temporary file is gone: it was not written before (look for an error above), or another process cleans or shares the folder; -50002 is an error of the file system, -50009 no room.',
    cure: 'Give the engines that run the same model one storage_backends folder of ucm_connector_config that nothing else cleans (not /tmp), writable and with room, and use UcmPipelineStore ("store_pipeline": "Cache|Posix") in place of UcmNfsStore of older releases',
    commands: [
      'kubectl exec ENGINE -- sh -c "df -h STORAGE_FOLDER; touch STORAGE_FOLDER/x; ls STORAGE_FOLDER"',
    ],
  },
  {
    id: 'ucm_capacity',
    cause: 'offload_failed',
    needles: ['Capacity is not enough, capacity: '],
    pattern: /capacity: (\d{1,18}), current: (\d{1,18}), block size: (\d{1,12})/,
    says: "UCM's storage is full: $2 of $1 bytes, and a block needs $3",
    why: 'storage_capacity is what this store may take. Blocks are removed only where recycle_enable is on.',
    cure: 'Raise storage_capacity in ucm_connector_config (bytes; 0 is no limit), or set recycle_enable: true',
  },
  {
    id: 'ucm_host_buffer',
    cause: 'cache_memory_missing',
    needles: [
      'ERROR: api=aclrtMallocHost, code=',
      'ERROR: api=cudaMallocHost, code=',
      'ERROR: api=musaMallocHost, code=',
    ],
    pattern: /api=(\w{1,30}), code=(\d{1,9})/,
    says: 'UCM gets no pinned host memory for its buffers ($1: $2)',
    why: 'Buffers between device and files are pinned. The host or pod has no room for them or may not lock as much; 107002 of the ACL says that the thread has no device context, a fault of older releases. It goes on with ordinary memory, which is slow.',
    cure: 'Give the pod more memory and the right to lock it (IPC_LOCK, ulimit -l unlimited), make transferIoSize times transferStreamNumber smaller, and with code 107002 install a later UCM',
    commands: ['kubectl exec ENGINE -- sh -c "free -g; ulimit -l"'],
  },
  {
    id: 'ucm_buffer_too_small',
    cause: 'settings_refused',
    needles: ['too small buffer('],
    pattern: /too small buffer\((\d{1,18})\) on shard\((\d{1,12})\)/,
    says: "UCM's buffer of $1 bytes is too small for shards of $2 bytes: it takes 1024 of them at least",
    why: 'Each block passes through host memory in shards. Without share_buffer_enable each rank has an eighth of the buffer.',
    cure: 'Raise cache_buffer_capacity_gb in ucm_connector_config (GB; 1024 times the size of a shard, for each rank), or set share_buffer_enable: true',
  },
  {
    id: 'ucm_shared_buffer',
    cause: 'offload_failed',
    needles: [') not ready. [', 'to trunc file('],
    pattern: /(?:Shm file\(([^)]{1,120})\) not ready|to trunc file\(([^)]{1,120})\) with size)/,
    says: 'The ranks of an engine do not share the buffer of UCM in /dev/shm ($1$2)',
    why: 'The first rank makes the file and the others wait for it. It is not ready where that rank ended before, and cannot be made where /dev/shm has no room (64 MB in a container without a volume).',
    cure: 'Mount a volume at /dev/shm that is larger than cache_buffer_capacity_gb (emptyDir: {medium: Memory}; --shm-size of docker), remove what an ended engine left there, and restart the engine',
    commands: ['kubectl exec ENGINE -- sh -c "df -h /dev/shm; ls -l /dev/shm"'],
  },
  {
    id: 'ucm_sglang_settings',
    cause: 'settings_refused',
    needles: [
      'UNIFIEDCACHE_CONFIG_FILE is not set or cannot be loaded',
      "Missing config: extra_config['kv_conn",
    ],
    says: "SGLang's UnifiedCache has no settings",
    why: 'They stand in --hicache-storage-backend-extra-config, or in the YAML that UNIFIEDCACHE_CONFIG_FILE names, below kv_connector_extra_config.',
    cure: 'Set UNIFIEDCACHE_CONFIG_FILE to a YAML that has kv_connector_extra_config with ucm_connector_name and ucm_connector_config, and restart the engine',
  },
  {
    id: 'ucm_task_late',
    cause: 'offload_failed',
    needles: [') timeout(30', 'Waiting queue full, submit'],
    pattern:
      /(?:\[\w{2,20}\]\s?\[E\] Task\(.{1,200}\) timeout\((\d{1,9})\)|Waiting queue full, submit (?:dump|load) task)/,
    atLeast: 3,
    says: "UCM's storage is too slow for what is stored and loaded: tasks are given up",
    why: 'The mount gives less bandwidth than requests ask for, so that queues fill and the limit of timeout_ms (30000 by default) passes.',
    cure: 'Measure the mount (fio, direct, the size of a shard) and put storage_backends on a faster one (local NVMe, NFS over RDMA with nconnect), or let fewer requests run at a time (--max-num-seqs); timeout_ms of ucm_connector_config only for bursts',
    commands: [
      'kubectl exec ENGINE -- fio --name=t --directory=STORAGE_FOLDER --rw=read --bs=1M --size=4G --direct=1',
    ],
  },
];
