import { countOf } from '../../../core/text/lists.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** The router of vLLM's production stack learns which engine has a prompt, and not where that engine is. */
export const instanceUnknown: Cause = {
  id: 'instance_unknown',
  concerns: ({ router }) => router,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const unknown = measurements.signal('instance_unknown');
    if (unknown === undefined) return undefined;
    return {
      headline:
        "The router has no address of the engine that has the prompt: LMCache's controller names an instance that no endpoint answers for",
      explanation:
        "The router asks LMCache's controller which instance holds a prompt, and then for the instance at the address of each endpoint. It asks by address alone: of several engines at one address it learns one, and an engine that registered before a restart is at none. A request whose prompt such an engine holds ends with a KeyError and status 500.",
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(unknown.count, 'request')} for an instance without an address.`,
          unknown.first,
        ),
      ],
      cluesAgainst: workingRouter(measurements),
      explains: ['router_blind'],
      fixes: [
        {
          says: 'Give each engine an address of its own (kubectl get pods -o wide shows them) and its own lmcache_instance_id',
          why: 'The controller distinguishes engines by address alone. With one engine at each address all of them get a name.',
          disturbs: 'one_worker_at_a_time',
          files: [],
          commands: [
            'kubectl get pods -o custom-columns=NAME:.metadata.name,IP:.status.podIP    # no address twice',
          ],
          verify: ['kubectl logs ROUTER | grep -m1 "Instance id to ip mapping"    # names every instance'],
        },
        {
          says: 'Restart the router where engines were restarted: kubectl rollout restart deployment/ROUTER',
          why: 'The controller runs within the router, and keeps instances that have gone until their workers are reaped.',
          disturbs: 'frontend',
          files: [],
          commands: ['kubectl rollout restart deployment/ROUTER'],
          verify: ['kubectl logs ROUTER | grep -c KeyError    # should be 0'],
        },
      ],
    };
  },
};
