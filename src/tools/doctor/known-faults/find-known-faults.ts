import type { KnownFault } from './known-fault.js';
import { KNOWN_FAULT_SIGNS } from './known-fault-signs.js';
import { KNOWN_FAULTS } from './known-faults.js';

/** The rows of these ids, each of which a row has. */
export async function findKnownFaults(ids: Iterable<string>): Promise<ReadonlyMap<string, KnownFault>> {
  const wanted = new Set(ids);
  const parts = new Set(KNOWN_FAULT_SIGNS.filter(({ id }) => wanted.has(id)).map(({ part }) => part));
  const rows = await Promise.all([...parts].map((part) => KNOWN_FAULTS[part]?.() ?? []));
  return new Map(
    rows
      .flat()
      .filter(({ id }) => wanted.has(id))
      .map((fault) => [fault.id, fault]),
  );
}
