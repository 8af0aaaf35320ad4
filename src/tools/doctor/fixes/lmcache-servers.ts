import type { ProposedFix } from '../diagnosis.js';

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
