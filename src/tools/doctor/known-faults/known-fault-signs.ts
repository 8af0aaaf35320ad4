import { KNOWN_FAULTS } from './known-faults.js';

/** What shows that a line is of a known fault: of each row only what a search takes. */
export interface KnownFaultSign {
  readonly id: string;
  /** The index of the part of `KNOWN_FAULTS` that has the row. */
  readonly part: number;
  readonly needles: readonly string[];
  /** The source of its pattern, which is compiled for the first line that has a needle, and its flags. */
  readonly pattern?: readonly [source: string, flags: string];
  readonly below?: readonly string[];
  readonly notBelow?: readonly string[];
  readonly above?: readonly string[];
  readonly healedBy?: readonly string[];
  readonly passesOn?: boolean;
}

/** Of all rows, in their order. The build writes what this comes to in place of this file: `scripts/parts/known-fault-signs.mjs`. */
export const KNOWN_FAULT_SIGNS: readonly KnownFaultSign[] = await signsOfAll();

async function signsOfAll(): Promise<readonly KnownFaultSign[]> {
  const parts = await Promise.all(KNOWN_FAULTS.map((load) => load()));
  return parts.flatMap((rows, part) =>
    rows.map(({ id, needles, pattern, below, notBelow, above, healedBy, passesOn }) => ({
      id,
      part,
      needles,
      ...(pattern === undefined ? {} : { pattern: [pattern.source, pattern.flags] as const }),
      ...(below === undefined ? {} : { below }),
      ...(notBelow === undefined ? {} : { notBelow }),
      ...(above === undefined ? {} : { above }),
      ...(healedBy === undefined ? {} : { healedBy }),
      ...(passesOn === undefined ? {} : { passesOn }),
    })),
  );
}
