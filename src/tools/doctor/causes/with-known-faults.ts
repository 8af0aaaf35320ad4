import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import type { Symptom } from '../confidence.js';
import { CAUSES } from '../diagnosis.js';
import { repairKnownFault } from '../fixes/known-faults.js';
import { filled } from '../known-faults/known-fault.js';
import type { KnownFaultSum } from '../measurements/known-faults.js';
import type { Cause, Suspicion } from './cause.js';
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
      // What is a sign alone adds to an error that the log has, and does not replace it.
      if (first.fault.isSign === true && isSurer(suspicion))
        return { ...suspicion, cluesFor: [...suspicion.cluesFor, ...faults.map(clueOf)] };
      return {
        headline: capitalised(filled(first.fault.says, first.values)),
        explanation: filled(first.fault.why, first.values),
        cluesFor: [...faults.map(clueOf), ...(suspicion?.cluesFor ?? [])],
        cluesAgainst: suspicion?.cluesAgainst ?? [],
        explains: [...new Set([...EXPLAINS, ...(suspicion?.explains ?? [])])],
        yieldsTo: CAUSES.filter((id) => first.fault.follows?.includes(id)),
        isKnownFault: true,
        ...(first.fault.mayBeMeant === true ? { mayBeMeant: true } : {}),
        fixes: [...faults.map(repairKnownFault), ...(suspicion?.fixes ?? [])],
      };
    },
  };
}

function isSurer(suspicion: Suspicion | undefined): suspicion is Suspicion {
  return suspicion?.cluesFor.some(({ weight }) => weight !== 'sign') === true;
}

function clueOf({ fault, count, first, values }: KnownFaultSum): ReturnType<typeof clueFor> {
  const lines = `${countOf(count, 'line')}: ${filled(fault.says, values)}.`;
  return clueFor(fault.isSign === true ? 'sign' : 'signature', lines, first);
}
