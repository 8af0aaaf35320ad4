import { shellQuoted } from '../../../core/text/shell-quoted.js';
import type { ProposedFix } from '../diagnosis.js';
import { filled } from '../known-faults/known-fault.js';
import type { KnownFaultSum } from '../measurements/known-faults.js';

/** The cure of a known fault, with what its line has. */
export function repairKnownFault({ fault, values, about }: KnownFaultSum): ProposedFix {
  const { cure, why, commands = [], disturbs = 'one_worker_at_a_time' } = fault;
  return {
    says: filled(cure, values),
    why: filled(why, values),
    disturbs,
    files: [],
    commands: commands.map((command) => filled(command, values)),
    verify: [`kubectl logs POD --since=10m | grep -cF ${shellQuoted(about.trim())}    # should be 0`],
  };
}
