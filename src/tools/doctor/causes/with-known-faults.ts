import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import type { Symptom } from '../confidence.js';
import { repairKnownFault } from '../fixes/known-faults.js';
import { filled } from '../known-faults/known-fault.js';
import { readPathFault } from '../logs/general/seen-path-faults.js';
import type { KnownFaultSum } from '../measurements/known-faults.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause } from './cause.js';
import { clueFor } from './clues.js';

/** Faults of one cause that get a clue and a cure of their own; further ones follow from these as a rule. */
const MAX_SHOWN = 3;
const EXPLAINS: readonly Symptom[] = ['no_stores', 'transfers_fail', 'prompts_recomputed'];

/** The cause as its known faults say it, where a log has one: they have the fault and its cure by the program's own sentence. */
export function withKnownFaults(cause: Cause): Cause {
  return {
    ...cause,
    suspect(measurements) {
      const suspicion = cause.suspect(measurements);
      const faults = measurements.knownFaults(cause.id).slice(0, MAX_SHOWN);
      const [first] = faults;
      if (first === undefined) return suspicion;
      return {
        headline: capitalised(filled(first.fault.says, first.values)),
        explanation: filled(first.fault.why, first.values),
        cluesFor: [...faults.map(clueOf), ...(suspicion?.cluesFor ?? [])],
        cluesAgainst: suspicion?.cluesAgainst ?? [],
        explains: [...new Set([...EXPLAINS, ...(suspicion?.explains ?? [])])],
        ...(first.fault.followsTransfer === true && namesPath(measurements)
          ? { yieldsTo: ['transfer_path_broken' as const] }
          : {}),
        isKnownFault: true,
        fixes: [...faults.map(repairKnownFault), ...(suspicion?.fixes ?? [])],
      };
    },
  };
}

/** Whether a line says what broke the path of transfers, and not only that one failed. */
function namesPath(measurements: Measurements): boolean {
  const values = measurements.signal('transfer_path_broken')?.values.keys() ?? [];
  return (
    measurements.knownFaults('transfer_path_broken').length > 0 ||
    [...values].some((value) => !readPathFault(value).isPlain)
  );
}

function clueOf({ fault, count, first, values }: KnownFaultSum): ReturnType<typeof clueFor> {
  const lines = `${countOf(count, 'line')}: ${filled(fault.says, values)}.`;
  return clueFor(fault.isSign === true ? 'sign' : 'signature', lines, first);
}
