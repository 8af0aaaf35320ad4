import type { KnownFault } from './known-fault.js';
import { KNOWN_FAULT_SIGNS } from './known-fault-signs.js';
import { KNOWN_FAULTS } from './known-faults.js';

/** The index of the part that has the row of an id. */
const PARTS: ReadonlyMap<string, number> = new Map(KNOWN_FAULT_SIGNS.map(({ id, part }) => [id, part]));

/** The rows of these ids, each of which a row has. */
export async function findKnownFaults(ids: Iterable<string>): Promise<ReadonlyMap<string, KnownFault>> {
  const found = await Promise.all(
    [...ids].map(async (wanted) => {
      const rows = (await KNOWN_FAULTS[PARTS.get(wanted) ?? -1]?.()) ?? [];
      return rows.filter(({ id }) => id === wanted);
    }),
  );
  return new Map(found.flat().map((fault) => [fault.id, fault]));
}
