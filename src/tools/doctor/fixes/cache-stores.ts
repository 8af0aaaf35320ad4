import type { ProposedFix } from '../diagnosis.js';
import { cacheFaultKind } from '../logs/general/cache-fault-kinds.js';
import { environmentOf } from './lines.js';

/** How much room a cache has, in the setting of each program: GB, and of each rank where there are several. */
const ROOM: readonly (readonly [program: RegExp, setting: string])[] = [
  [/NIXL buffer/, 'LMCACHE_NIXL_BUFFER_SIZE=BYTES'],
  [/GDS buffer/, 'LMCACHE_GDS_BUFFER_SIZE=MB'],
  [/^LMCache/, 'LMCACHE_MAX_LOCAL_CPU_SIZE=GB'],
  [/local buffer/, 'a larger local_buffer_size (MOONCAKE_LOCAL_BUFFER_SIZE)'],
  [/^Mooncake/, 'a larger global_segment_size (MOONCAKE_GLOBAL_SEGMENT_SIZE), or more clients'],
  [/^InfiniStore/, '--prealloc-size GB on its server, or --auto-increase'],
  [/^AIBrix/, 'AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB=GB'],
  [/^HiCache/, '--hicache-size GB for each rank, or a larger --hicache-ratio'],
  [/^vLLM/, 'a larger --kv-offloading-size (cpu_bytes_to_use in --kv-transfer-config)'],
  [/^Redis/, 'a larger maxmemory, with maxmemory-policy allkeys-lru'],
  [/^Ascend/, 'more memory for each local service or segment of the pool'],
];

/** Gives a cache that was full, or that loses blocks before they are fetched, more room. */
export function moreRoom(fault: string): ProposedFix {
  const [program = 'the cache'] =
    /^(?:LMCache|Mooncake|InfiniStore|AIBrix|HiCache|vLLM|Redis)/.exec(fault) ?? [];
  const room = ROOM.find(([pattern]) => pattern.test(fault))?.[1];
  const isOwn = /^(?:HiCache|vLLM)/.test(fault);
  return {
    says: `Give ${program} more room${room === undefined ? '' : ` (${room})`}${isOwn ? '' : ', and check that all ranks of the engine reach the same storage'}`,
    why: isOwn
      ? 'Blocks that a running request reads or writes cannot be evicted. Where a burst of requests needs all of the host cache, new blocks are dropped, and their prompts are computed again.'
      : 'What is evicted between the lookup and the load is lost; a store with room for the working set evicts rarely. With tensor parallelism each rank loads its own part: one that is missing spoils the whole.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs WORKER | grep -m5 -iE "allocat|no room|evict|error_codes|cannot store|space|AVAILABLE_HANDLE"    # which part is missing',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "Failed to allocate|cannot store|AVAILABLE_HANDLE|under pressure"    # should be 0',
    ],
  };
}

/** Starts a store, or gives its address to the engines. */
export function reachStore(fault: string): ProposedFix {
  const [program = 'the store'] = /^[A-Z]\w+/.exec(fault) ?? [];
  const isClosed = cacheFaultKind(fault) === 'connection_closed';
  return {
    says: `Start the master or server of ${program}, and give each engine its address (kubectl get svc): the port in its configuration, open in the pod and by NetworkPolicy${isClosed ? '; then restart the engines, whose client does not connect again, or run a later Mooncake' : ''}`,
    why: `The engine goes on without it and computes what it would have found there. An address is read as an engine starts: a new one needs a restart, a server that comes back does not${isClosed ? ', except for clients before September 2025' : ''}. A client of another version than its server ends the connection in the same way.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [`kubectl get pods,svc -A | grep -iE "${wordsOf(program)}"    # running, and under which name`],
    verify: [
      'kubectl logs WORKER --since=10m | grep -ciE "rpc error|mount segment|refused|not reached|failed to connect"    # should be 0',
    ],
  };
}

function wordsOf(program: string): string {
  if (/KVBM|FlexKV|HiCache/.test(program)) return program.toLowerCase();
  if (/Ascend/.test(program)) return 'mooncake|memcache|meta-service';
  return program === 'LMCache' || program === 'Mooncake' ? 'mooncake|lmcache|redis' : program.toLowerCase();
}

/** The name of a store that no DNS knows. */
export function nameThatResolves(fault: string): ProposedFix {
  const name = /resolve: (\S+)/.exec(fault)?.[1] ?? 'NAME';
  const [service = name] = name.split('.', 1);
  return {
    says: `Create the store behind ${name}, or give the engines the name of a Service that is there: NAME.NAMESPACE where it is in another namespace`,
    why: 'A Service without a namespace is looked for in that of the pod alone. Until the name resolves the engine waits at its start, or goes on without the store and computes what it would have found there.',
    disturbs: 'nothing',
    files: [],
    commands: [
      `kubectl get svc -A | grep ${service}    # whether it exists, and in which namespace`,
      `kubectl exec WORKER -- getent hosts ${name}    # an address`,
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -ciE "getaddrinfo|not known|name resolution|no such host"    # should be 0',
    ],
  };
}

/** LMCache that pauses or stops its work with a store that failed for some time. */
export function storeOnAgain(fault: string): ProposedFix {
  const isHealth = cacheFaultKind(fault) === 'unhealthy';
  return {
    says: isHealth
      ? 'Make the store behind LMCache answer again: the lines with "Health check failed" name the check, and those before them its error'
      : 'Make the store behind LMCache reachable (address, bucket, credentials, NetworkPolicy), and restart the engine or the LMCache server: it does not try again by itself',
    why: isHealth
      ? 'While a check of its store fails, LMCache skips stores, lookups and loads, also those that its own memory could serve. It goes on as soon as the check passes.'
      : 'After so many failures in a row LMCache uses the store no more until it starts again. What is in it is not found.',
    disturbs: isHealth ? 'nothing' : 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs WORKER | grep -m20 -iE "Health check|connection error|disabled after|circuit opened"    # the first error',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "is unhealthy|disabled after|connection error"    # should be 0',
    ],
  };
}

/** A server of LMCache that has forgotten an engine. */
export function registerAgain(): ProposedFix {
  return {
    says: 'Restart the engines of this LMCache server: they register as they start. Give both one version (pip install lmcache==VERSION)',
    why: 'The server was restarted, or dropped an engine that was silent for too long. Engines of later versions register again by themselves; of the others it takes and gives nothing any more.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl get pods -A | grep -i lmcache    # AGE and RESTARTS of the server',
      'kubectl logs LMCACHE_SERVER | grep -m5 -E "Reaped|unregistered"    # dropped for silence, or never known',
    ],
    verify: ['kubectl logs LMCACHE_SERVER --since=10m | grep -c "for unregistered"    # should be 0'],
  };
}

/** Blocks in a store that were written with other sizes. */
export function sameChunks(): ProposedFix {
  return {
    says: 'Start all engines of one store with the same LMCACHE_CHUNK_SIZE, model, dtype and tensor parallel size, or give those that differ a bucket or prefix of their own',
    why: 'An object has the bytes of one chunk of one rank. What was written with another chunk size or dtype is found by its key, does not fit, and is passed over each time.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec WORKER -- sh -c "env | grep LMCACHE"    # in each engine: the same chunk size and store',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -cE "Size mismatch|chunk size"    # should be 0'],
  };
}

/** Batches of blocks that a buffer of fixed size does not take. */
export function smallerBatches(fault: string): ProposedFix {
  const most = /\((\d+)\)/.exec(fault)?.[1] ?? 'N';
  const isHiCache = fault.startsWith('HiCache');
  return {
    says: isHiCache
      ? `Run a later SGLang, which divides such batches; until then --chunked-prefill-size of at most ${most} times the page size, or --hicache-mem-layout page_first_direct, which needs no buffer`
      : `Set DYN_KVBM_TRANSFER_BATCH_SIZE to at most ${most} on each worker`,
    why: `The buffer through which blocks go to the storage takes ${most} of them. A larger batch is refused as a whole: its blocks are neither stored nor loaded, nothing else fails, and hits of the storage fall.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: isHiCache
      ? ['kubectl exec POD -- pip list | grep -i sglang    # the version that is there']
      : [environmentOf('each worker', `DYN_KVBM_TRANSFER_BATCH_SIZE=${most}`)],
    verify: ['kubectl logs WORKER --since=10m | grep -c "bounce buffer capacity"    # should be 0'],
  };
}

/** A disk cache on a file system that GPUDirect Storage does not take. */
export function directStorage(hasBlockManager: boolean): ProposedFix {
  const folder = hasBlockManager ? 'DYN_KVBM_DISK_CACHE_DIR' : 'the folder of the disk cache';
  const off = hasBlockManager ? 'unset DYN_KVBM_DISK_CACHE_GB' : 'leave out the disk cache';
  return {
    says: `Turn the disk cache off now (${off}, and restart); then load nvidia-fs on the node, and put ${folder} on a volume of ext4 or xfs (emptyDir, hostPath, PVC)`,
    why: 'GPUDirect Storage reads files past the host, and refuses those of file systems that it does not know, such as the overlay of a container, or without its kernel module. Blocks then never reach the disk or never come back: requests wait for them, and with some versions are answered from blocks of other prompts.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      ...(hasBlockManager ? [environmentOf('each worker', 'DYN_KVBM_DISK_CACHE_DIR=/mnt/kv')] : []),
      'kubectl exec WORKER -- df -T /tmp    # or the folder of the cache: ext4 or xfs, not overlay',
      'lsmod | grep nvidia_fs; /usr/local/cuda/gds/tools/gdscheck -p    # on the node',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -c "file register error"    # should be 0'],
  };
}

/** Two packages that were not released together. */
export function oneRelease(): ProposedFix {
  return {
    says: 'Give the worker kvbm and engine of one release of Dynamo (one image, or pip install "kvbm==VERSION" beside its ai-dynamo); until then start without the connector',
    why: 'The engine scheduled tokens for which KVBM knows no blocks: one of the two counts otherwise than the other expects. Blocks of such requests are not stored.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: ['kubectl exec POD -- pip list | grep -iE "kvbm|dynamo|vllm|tensorrt"    # of one release'],
    verify: ['kubectl logs WORKER --since=10m | grep -ciE "slot desync|Skipping KVBM"    # should be 0'],
  };
}

/** A store with RDMA whose server ends, or cannot open its device. */
export function usableDevice(fault: string): ProposedFix {
  return {
    says: `${cacheFaultKind(fault) === 'server_ended' ? "Start InfiniStore's server on" : 'Give InfiniStore'} a device whose port is active: --dev-name of ibv_devinfo, --link-type as the port's (Ethernet or IB), --hint-gid-index from show_gids, or TCP`,
    why: 'Its server opens one port of one device as it starts. With a port that is down, of another link type, or a GID index without an address it ends or takes no connection, and the engines compute what they would have found there.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl exec INFINISTORE -- ibv_devinfo    # state: PORT_ACTIVE, link_layer, and the name of the device',
      'kubectl exec INFINISTORE -- show_gids    # the index of the RoCE v2 GID that has an IP',
      'kubectl logs INFINISTORE --previous | tail -n 20    # the last line before it ended',
    ],
    verify: ['kubectl get pods -A | grep -i infinistore    # Running, and RESTARTS stands still'],
  };
}

/** A client whose memory its store does not know. */
export function sameMemory(_fault: string, faults: readonly string[]): ProposedFix {
  const isAibrix = faults.some((one) => one.startsWith('AIBrix'));
  return {
    says: `Give engine and server one version (pip install infinistore==VERSION), let the pod lock memory (IPC_LOCK, memlock unlimited), and load nvidia_peermem on the node`,
    why: 'Each read and write needs memory that the RDMA device has registered before. Without it every put and get fails, and the store stays empty; memory of GPUs needs nvidia_peermem.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      ...(isAibrix
        ? [
            environmentOf(
              'each engine, until then',
              'AIBRIX_KV_CACHE_OL_L2_CACHE_BACKEND=',
              'host memory alone',
            ),
          ]
        : []),
      'kubectl exec POD -- pip list | grep -iE "infinistore|aibrix"    # in the engine and at the server',
      'kubectl exec POD -- sh -c "ulimit -l; grep -i locked /proc/1/limits"    # unlimited',
    ],
    verify: [
      `kubectl logs WORKER --since=10m | grep -cE "${isAibrix ? 'offloading service' : 'register memory first'}"    # should be 0`,
    ],
  };
}
