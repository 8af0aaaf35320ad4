import type { ProposedFix } from '../diagnosis.js';
import { NO_HOST_MEMORY, NO_LMCACHE_MEMORY, NO_OFFLOAD_MEMORY } from '../logs/general/room-faults.js';

/** Gives a cache in host memory what it asks for, or lets it ask for less. */
export function hostMemoryForCache(fault: string): ProposedFix {
  const isHiCache = fault.startsWith(NO_HOST_MEMORY);
  const smaller = isHiCache
    ? 'a smaller --hicache-size (GB for each rank: 8 with 40 need 320) or --hicache-ratio'
    : fault.startsWith(NO_LMCACHE_MEMORY)
      ? 'a smaller LMCACHE_MAX_LOCAL_CPU_SIZE (GB for each rank)'
      : fault.startsWith(NO_OFFLOAD_MEMORY)
        ? 'a smaller --kv-offloading-size (GiB of all ranks together; cpu_bytes_to_use, or num_cpu_blocks for each rank, in kv_connector_extra_config)'
        : 'a smaller size of the host cache; it is that of each rank in most programs';
  return {
    says: `Start with ${smaller}, or give the pod more memory; let it lock all of it (IPC_LOCK, ulimit -l unlimited)`,
    why: `Every rank takes its host cache as it starts, and pins it so that the GPU can read it. The sum has to fit into what the host, and the limit of the pod, leave; a driver refuses to pin what may not be locked, or a single piece that is too large.${isHiCache ? ' SGLang leaves 10 GB of the host free; its later versions find a size by themselves (--hicache-host-memory-fraction).' : ''}`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec POD -- sh -c "free -g; cat /sys/fs/cgroup/memory.max; ulimit -l"    # free memory, limit of the pod, what may be locked',
      'kubectl logs POD | grep -m9 -iE "host memory|hierarchical|host pool"    # how much each rank asks for',
    ],
    verify: [
      'kubectl logs POD --since=10m | grep -ciE "not enough host memory|HostRegister failed|pinned memory"    # should be 0',
    ],
  };
}
