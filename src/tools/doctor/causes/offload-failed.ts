import { countOf } from '../../../core/text/lists.js';
import type { ProposedFix } from '../diagnosis.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';

/** A cache behind the engine says that it has blocks, and does not give them. */
export const offloadFailed: Cause = {
  id: 'offload_failed',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const failed = measurements.signal('offload_failed');
    if (failed === undefined) return undefined;
    const faults = [...failed.values.keys()].sort().join(', ');
    const store = /^(?:LMCache|Mooncake)/.exec(faults)?.[0] ?? 'the cache behind the engine';
    return {
      headline: `${faults || 'The cache behind the engine fails'}: prompts that it should have are computed again, or fail`,
      explanation:
        'A cache behind the engine keeps what the GPU drops. Where it has no room, blocks are not stored; where the load gets fewer than the lookup named, they were evicted in between, one of several ranks lacks them, or the storage fails. Hits that it counts are higher then than what was really reused.',
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(failed.count, 'line')} of a cache behind an engine that fails.`,
          failed.first,
        ),
      ],
      cluesAgainst: [],
      explains: [],
      fixes: [fixOf(faults, store)],
    };
  },
};

function fixOf(faults: string, store: string): ProposedFix {
  if (/other versions/.test(faults)) return sameVersions();
  if (/does not take/.test(faults)) return laterVersion();
  return faults.includes('not reached') ? reachStore(store) : moreRoom(store);
}

function sameVersions(): ProposedFix {
  return {
    says: 'Give the engines and mooncake_master one version of Mooncake: pip install mooncake-transfer-engine==VERSION in both images',
    why: 'The master does not know a call of its client, or the form of its arguments: between versions they change. The engine goes on without the store.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec POD -- pip list | grep -i mooncake    # in an engine and where mooncake_master runs',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -cE "rpc arg|RPC_FAIL"    # should be 0'],
  };
}

function laterVersion(): ProposedFix {
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

function moreRoom(store: string): ProposedFix {
  return {
    says: `Give ${store} more room (LMCACHE_MAX_LOCAL_CPU_SIZE=GB, or a larger global_segment_size), and check that all ranks of the engine reach the same storage`,
    why: 'What is evicted between the lookup and the load is lost; a store with room for the working set evicts rarely. With tensor parallelism each rank loads its own part: one that is missing spoils the whole.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs WORKER | grep -m5 -iE "allocate memory|retrieved tokens|error_codes|sub-batch"    # which part is missing',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "allocate memory|retrieved tokens is less|Failed to get"    # should be 0',
    ],
  };
}

function reachStore(store: string): ProposedFix {
  return {
    says: `Start the master or server of ${store}, and give each engine its address (kubectl get svc): the port in its configuration, open in the pod and by NetworkPolicy`,
    why: 'The engine goes on without it and computes what it would have found there. A client of another version than its server ends the connection in the same way.',
    disturbs: 'nothing',
    files: [],
    commands: ['kubectl get pods,svc | grep -iE "mooncake|lmcache|redis"    # running, and under which name'],
    verify: [
      'kubectl logs WORKER --since=10m | grep -ciE "rpc error|mount segment|refused"    # should be 0',
    ],
  };
}
