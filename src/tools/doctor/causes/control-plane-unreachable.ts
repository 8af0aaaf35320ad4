import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import { reachControlPlane, reachServer } from '../fixes/programs.js';
import { isUnreachedServer } from '../logs/general/unreached-peers.js';
import type { SignalTally } from '../logs/log-summary.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** NATS or etcd, by which the members of a fleet find each other, cannot be reached. */
export const controlPlaneUnreachable: Cause = {
  id: 'control_plane_unreachable',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const silent = measurements.signal('control_plane_unreachable');
    if (silent === undefined) return undefined;
    const names = ['NATS', 'etcd'].filter((one) => silent.values.has(one));
    const other = [...silent.values.keys()].find(isUnreachedServer);
    if (names.length === 0 && other !== undefined) return unreachedServer(other, silent);
    const name = names.join(' and ') || 'NATS or etcd';
    return {
      headline: `${name} cannot be reached: workers, routers and KV events do not find each other`,
      explanation:
        'Workers register there, routers learn of them there, and with NATS as the event plane KV events go that way too. Without it a worker does not start or is forgotten when its lease ends, and a router knows of nobody.',
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(silent.count, 'line')} of ${name} that is not reached.`,
          silent.first,
          'no_stores',
        ),
      ],
      cluesAgainst: workingRouter(measurements),
      explains: ['no_stores', 'empty_tree', 'router_blind'],
      fixes: [reachControlPlane(names)],
    };
  },
};

/** Another server that programs read, by its name and address. */
function unreachedServer(server: string, { count, first }: Pick<SignalTally, 'count' | 'first'>): Suspicion {
  return {
    headline: `${capitalised(server)} cannot be reached`,
    explanation:
      'What a program reads there or keeps there is missing: who is where, who has what, or how much is asked. It tries again, and goes on without it until then.',
    cluesFor: [clueFor('signature', `${countOf(count, 'line')} of ${server}, which is not reached.`, first)],
    cluesAgainst: [],
    explains: ['no_stores', 'empty_tree', 'router_blind'],
    fixes: [reachServer(server)],
  };
}
