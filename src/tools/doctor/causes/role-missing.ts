import { countOf } from '../../../core/text/lists.js';
import { reachEngine } from '../fixes/routers.js';
import { startRole } from '../fixes/transfers.js';
import { UNREACHED_ENGINE } from '../logs/general/unreached-peers.js';
import type { SignalTally } from '../logs/log-summary.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';
import { lostWorkers } from './lost-workers.js';
import { transfersArrive } from './transfer-clues.js';

/** `prefill: 0 of 2 workers can be used`, `decode: no worker has reported`, as kv-accord's aggregator says why a gate is closed. */
const NONE_OF = /\b(prefill|decode): (?:0 of \d|no worker has reported)/;

/** A router that divides requests has engines of one role alone. */
export const roleMissing: Cause = {
  id: 'role_missing',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const said = measurements.signal('role_missing');
    const groups = measurements.evidence.fleets.flatMap((fleet) => {
      const reason = fleet.reasons.find((text) => NONE_OF.test(text));
      return reason === undefined ? [] : [{ fleet, reason, role: NONE_OF.exec(reason)?.[1] }];
    });
    if (said === undefined && groups.length === 0) return lostWorkers(measurements);
    const roles = [...(said?.values.keys() ?? [])];
    const unreached = roles.find((value) => value.startsWith(UNREACHED_ENGINE));
    if (said !== undefined && unreached !== undefined && groups.length === 0)
      return unreachedEngine(unreached, said);
    const role = groups[0]?.role ?? roles.find((value) => value === 'prefill' || value === 'decode');
    const isAny = role === undefined && roles.includes('any');
    const missing = role ?? (isAny ? 'ready' : 'prefill or decode');
    return {
      headline: isAny
        ? 'A router has no engine that is ready: requests have nowhere to go'
        : `There is no ${missing} engine that serves: requests cannot be divided`,
      explanation: isAny
        ? 'Engines that are not ready yet, labels that select none of them, ports that differ, and engines that were taken out after errors look the same to a router. Lines of the first minutes alone are no fault: engines take longer to start than routers.'
        : 'Some routers refuse such requests, others send them whole to a decode engine, which computes the prompt itself: all looks well then, at the cost of a slower first token and of decoding that waits. The usual reasons are pods of one role that never get ready, labels that select nothing, and a port of the role that the router does not know.',
      cluesFor: [
        ...groups.map(({ fleet, reason }) =>
          clueFor('proof', `${fleet.group}: ${reason}.`, fleet.origin, 'prompts_recomputed'),
        ),
        ...when(said, ({ count, first }) =>
          clueFor(
            'signature',
            `${countOf(count, 'line')} of a router without a ${missing} engine.`,
            first,
            'prompts_recomputed',
          ),
        ),
      ],
      cluesAgainst: [],
      explains: ['prompts_recomputed'],
      fixes: [startRole(measurements, isAny ? 'any' : missing)],
    };
  },
};

/** A router has the address of an engine, and no connection to it. */
function unreachedEngine(said: string, { count, first }: Pick<SignalTally, 'count' | 'first'>): Suspicion {
  const [, address, why = ''] = /(?: at (\S+))? \(([^()]+)\)$/.exec(said) ?? [];
  return {
    headline: `A program does not reach an engine${address === undefined ? '' : ` at ${address}`}: ${why}`,
    explanation:
      'Requests that go there fail, or go to the engines that are left, which hold other prefixes. An engine that still loads its model listens when it is done; one that has ended has the reason in its own log.',
    cluesFor: [clueFor('signature', `${countOf(count, 'line')} of an engine that is not reached.`, first)],
    cluesAgainst: [],
    explains: ['prompts_recomputed', 'no_stores'],
    fixes: [reachEngine(address, why)],
  };
}
