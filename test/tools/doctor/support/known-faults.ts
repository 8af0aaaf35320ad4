import type { KnownFault } from '../../../../src/tools/doctor/known-faults/known-fault.js';
import { KNOWN_FAULTS as PARTS } from '../../../../src/tools/doctor/known-faults/known-faults.js';

/** All rows. */
export const KNOWN_FAULTS: readonly KnownFault[] = (await Promise.all(PARTS.map((load) => load()))).flat();

const BY_ID: ReadonlyMap<string, KnownFault> = new Map(KNOWN_FAULTS.map((fault) => [fault.id, fault]));

/** Undefined for an id that no row has. */
export function knownFault(id: string): KnownFault | undefined {
  return BY_ID.get(id);
}
