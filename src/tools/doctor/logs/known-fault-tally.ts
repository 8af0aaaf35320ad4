import type { KnownFaultDetails } from '../../../engines/diagnosis/log-findings.js';
import { findKnownFaults } from '../known-faults/find-known-faults.js';
import type { Origin } from '../sightings.js';
import type { KnownFaultSighting } from './log-summary.js';
import { Marks, type OwnedLine } from './marks.js';
import { excerptOf } from './masking.js';

const MAX_VALUE_CHARS = 120;

interface Count {
  readonly first: Origin;
  readonly firstLine: number;
  readonly about: string;
  readonly values: readonly string[];
  count: number;
  lastLine: number;
}

/** Counts sentences of known faults, by their ids: no more than there are rows. */
export class KnownFaultTally {
  readonly #counts = new Map<string, Count>();
  readonly #marks = new Marks();
  #lastLine = 0;

  /** Whether a known fault has this line: general rules add nothing to what it says. */
  has(lineNumber: number): boolean {
    return lineNumber === this.#lastLine;
  }

  addMark(mark: string, line: OwnedLine): void {
    this.#marks.add(mark, line);
  }

  /** Whether one of these marks stands a few lines above; true without marks. */
  isBelow(marks: readonly string[] | undefined, line: OwnedLine): boolean {
    return marks === undefined || this.#marks.areAbove(marks, line);
  }

  add(id: string, lineNumber: number, details: KnownFaultDetails, originOf: () => Origin): void {
    this.#lastLine = lineNumber;
    let count = this.#counts.get(id);
    if (count === undefined) {
      const values = details.values.map((value = '') => excerptOf(value, '').slice(0, MAX_VALUE_CHARS));
      const { about } = details;
      count = { first: originOf(), firstLine: lineNumber, about, values, count: 0, lastLine: 0 };
      this.#counts.set(id, count);
    }
    if (count.lastLine === lineNumber) return;
    count.lastLine = lineNumber;
    count.count += 1;
  }

  /** Those that have not passed, in the order of their first lines, with their rows, whose texts nothing else loads. */
  async finish(): Promise<readonly KnownFaultSighting[]> {
    const rows = await findKnownFaults(this.#counts.keys());
    return [...this.#counts].flatMap(([id, { count, first, firstLine, lastLine, values, about }]) => {
      const fault = rows.get(id);
      if (fault === undefined || this.#marks.areAfter(fault.healedBy ?? [], lastLine)) return [];
      return [{ fault, count, first, firstLine, values, about }];
    });
  }
}
