import type { ProposedFix } from '../diagnosis.js';

/** A store that was given what it does not take. */
export function laterVersion(): ProposedFix {
  return {
    says: 'Run a later LMCache with this store, or hash as its default does (LMCACHE_PRE_CACHING_HASH_ALGORITHM=builtin and PYTHONHASHSEED=0 on each engine)',
    why: 'The sentence is an exception of the connector for the store, and not of the network: it was given a key, a format or an argument of a kind that it does not take. Each lookup counts as a miss then, and nothing is reused.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec POD -- pip list | grep -iE "lmcache|mooncake|redis"    # the versions that are there',
      'kubectl exec POD -- sh -c "env | grep -E \'LMCACHE|PYTHONHASHSEED\'"',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -c "Remote connection failed"    # should be 0'],
  };
}

/** A store that answers after the engine has stopped waiting. */
export function askStore(fault: string): ProposedFix {
  const [program = 'the store'] = /^\w+/.exec(fault) ?? [];
  const timeout =
    program === 'LMCache'
      ? ' (LMCACHE_BLOCKING_TIMEOUT_SECS is how long the engine waits, lmcache.mp.mq_timeout for a server of LMCache)'
      : program === 'AIBrix'
        ? ' (AIBRIX_KV_CACHE_OL_L2_CACHE_PER_TOKEN_TIMEOUT_MS is how long the engine waits)'
        : '';
  return {
    says: `Give the store behind ${program} more CPU, network or replicas, and place it near the engines: it answers more slowly than they wait${timeout}`,
    why: 'An answer that comes late counts as a miss: the prompt is computed, while the store still reads for it. A longer wait only helps where that is shorter than the computation.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl top pods -A | grep -iE "lmcache|redis|mooncake|kvcache|infinistore"    # CPU of the store at its limit',
      'kubectl get pods -A -o wide | grep -iE "lmcache|redis|mooncake|kvcache|infinistore"    # on which nodes',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -ciE "timed out|TIMEOUT"    # should be 0'],
  };
}

/** LMCache's own server, which is there and at times does not answer. */
export function steadyServer(): ProposedFix {
  return {
    says: "Look in the log of LMCache's server (lmcache server) at what it does when engines call it unhealthy: restarts, a store or a lock that it waits for, CPU and memory at their limit; give it these, and engines a longer lmcache.mp.heartbeat_interval where it is only busy",
    why: 'Each engine pings the server every lmcache.mp.heartbeat_interval (10 s). While an answer is missing it looks nothing up and stores nothing, and afterwards it registers its caches again, which may take minutes.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl logs LMCACHE_SERVER --timestamps | tail -n 200    # what stands at the times of the warnings',
      'kubectl top pods -A | grep -i lmcache    # CPU and memory at their limit',
    ],
    verify: ['kubectl logs WORKER --since=30m | grep -c "LMCache server is unhealthy"    # should be 0'],
  };
}

/** Engines that ask each other for blocks and do not reach each other. */
export function peersReachEachOther(): ProposedFix {
  return {
    says: 'Let the engines reach each other: LMCACHE_P2P_HOST is the address of its own pod on each, LMCACHE_P2P_INIT_PORTS and LMCACHE_P2P_LOOKUP_PORTS are open and one for each rank, and all of them register with one lmcache_controller',
    why: 'The controller says which peer has a block, and the engine fetches it there. A peer that was restarted stays listed until the controller drops it; the prompt is computed then.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl get pods -o wide | grep -iE "lmcache|vllm|controller"    # age and address of each peer',
      'kubectl exec WORKER -- sh -c "env | grep -E \'LMCACHE_(P2P|CONTROLLER)\'"',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "Max retry count|peer connection|batched P2P"    # should be 0',
    ],
  };
}

/** Redis or Valkey that wants another password. */
export function passwordOfStore(): ProposedFix {
  return {
    says: 'Give the engines the user and password of this Redis or Valkey (redis://USER:PASSWORD@HOST:6379 in the URL of the store, out of a Secret), or the address of the one that was meant',
    why: 'The server refuses each command until a client has logged in. Nothing is stored or found there.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: ['redis-cli -u redis://USER:PASSWORD@HOST:6379 ping    # PONG'],
    verify: ['kubectl logs WORKER --since=10m | grep -cE "NOAUTH|WRONGPASS"    # should be 0'],
  };
}

/** A pool of huge pages that the node does not have. */
export function hugePages(): ProposedFix {
  return {
    says: 'Reserve huge pages on the node (vm.nr_hugepages, 512 of 2 MiB for each GB) and in the pod (hugepages-2Mi), or set local_cpu_use_hugepages to false (LMCACHE_LOCAL_CPU_USE_HUGEPAGES)',
    why: 'LMCache takes its host memory out of pages that the kernel has set aside. Where there are too few, it gets none.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: ['grep -i hugepages /proc/meminfo    # on the node: HugePages_Free'],
    verify: ['kubectl logs WORKER --since=10m | grep -c "huge pages"    # should be 0'],
  };
}

/** Faults whose reason only the line itself has. */
export function readReason(fault: string): ProposedFix {
  const [program = 'the cache'] = /^[A-Z]\w+/.exec(fault) ?? [];
  return {
    says: `Read the first error of ${program} and what stands right before it, on the engine and at the store: kubectl logs WORKER | grep -n -m20 -i ${program.toLowerCase()}. Until it is repaired the engine can run without the cache`,
    why: 'The cache reports that blocks were not moved, and its first line has the reason: what follows repeats it for each block.',
    disturbs: 'nothing',
    files: [],
    commands: [
      `kubectl logs WORKER | grep -n -m20 -iE "error|fail|${program.toLowerCase()}"    # the first of them`,
      'kubectl get pods -A | grep -iE "mooncake|lmcache|kvcache|redis|infinistore"    # AGE and RESTARTS of the store',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -ciE "error|failed"    # stands still'],
  };
}
