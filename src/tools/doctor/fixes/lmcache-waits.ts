import { SIGN_VALUES } from '../../../engines/diagnosis/sign-values.js';
import type { ProposedFix } from '../diagnosis.js';
import { cacheFaultKind } from '../logs/general/cache-fault-kinds.js';
import { environmentOf } from './lines.js';

/** The buffer that a prefill engine writes into, of the engine that has no room in it. */
export function largerTransferBuffer(fault: string): ProposedFix {
  const setting = /\((\w+)\)/.exec(fault)?.[1] ?? 'pd_buffer_size';
  const variable = `LMCACHE_${setting.toUpperCase()}=BYTES`;
  return {
    says: `Give the engine that writes these lines, the decode engine, a larger ${setting} (${variable}), or fewer requests together, and restart it`,
    why: `The buffer holds the prompts of all requests whose blocks are on their way: bytes per token, times tokens, times requests. While it is full the engine asks again every 10 ms without an end, and its requests hang. ${setting.startsWith('nixl') ? 'nixl_buffer_device' : 'pd_buffer_device'}: cpu puts it into memory of the host; more decode engines share the load. Where it fills over hours and does not empty, blocks are not given back: later versions of LMCache do. LMCACHE_MAX_LOCAL_CPU_SIZE is another memory.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      environmentOf('the decode engine', variable),
      'kubectl logs DECODE | grep -c "Failed to allocate memory object"    # grows while requests hang',
    ],
    verify: ['kubectl logs DECODE --since=10m | grep -c "Failed to allocate memory object"    # should be 0'],
  };
}

/** A scheduler that asks the workers of its own engine, and gets no answer. */
export function answerLookups(fault: string, faults: readonly string[]): ProposedFix {
  const rank = /rank (\d+)/.exec(fault)?.[1] ?? '0';
  const isStuck = faults.some((one) => cacheFaultKind(one) === 'lookup_stuck');
  const hasNoRoom = faults.includes(SIGN_VALUES.lmcacheFull);
  return {
    says: isStuck
      ? `Restart the engine with LMCACHE_LOOKUP_TIMEOUT_MS=10000${hasNoRoom ? ' and a larger LMCACHE_MAX_LOCAL_CPU_SIZE (GB)' : ''}, or with a later LMCache, whose socket outlives a time-out (pull request 1929); see what worker ${rank} waited for (its lines at that time)`
      : `See whether worker ${rank} of this engine lives and what it waits for (its lines at that time); give scheduler and workers of an engine one lmcache_rpc_port and one /tmp; LMCACHE_LOOKUP_TIMEOUT_MS=10000 where it is only slow`,
    why: `The scheduler asks each worker over a socket below /tmp what it has of a prompt, and waits 3 s as a rule. Without an answer the prompt counts as not cached, so the hit rate falls to 0 while nothing is missing in the store. A slow remote store makes a worker answer late.${isStuck ? ' Versions before pull request 1929 of LMCache cannot use the socket again after one time-out.' : ''}`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs WORKER | grep -iE "lookup (client connect|server start)"    # the same path on both sides',
      environmentOf('each engine', 'LMCACHE_LOOKUP_TIMEOUT_MS=10000', 'where its workers are alive'),
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "(receive from|occurred for|error for) rank"    # should be 0',
    ],
  };
}
