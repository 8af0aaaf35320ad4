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
