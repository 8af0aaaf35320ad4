import type { KnownFaultDetails } from '../../../engines/diagnosis/log-findings.js';
import { findKnownFaults } from '../known-faults/find-known-faults.js';
import type { Origin } from '../sightings.js';
import type { KnownFaultSighting } from './log-summary.js';
import { excerptOf } from './masking.js';

const MAX_VALUE_CHARS = 120;
/** The longest traceback between a mark and the line that depends on it. */
const NEAR_LINES = 80;

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
  /** The last line of each mark: there are no more of them than rows have. */
  readonly #marks = new Map<string, number>();
  #lastLine = 0;

  /** Whether a known fault has this line: general rules add nothing to what it says. */
  has(lineNumber: number): boolean {
    return lineNumber === this.#lastLine;
  }

  addMark(mark: string, lineNumber: number): void {
    this.#marks.set(mark, lineNumber);
  }

  /** Whether one of these marks stands a few lines above; true without marks. */
  isBelow(marks: readonly string[] | undefined, lineNumber: number): boolean {
    if (marks === undefined) return true;
    return marks.some(
      (mark) => lineNumber - (this.#marks.get(mark) ?? Number.NEGATIVE_INFINITY) <= NEAR_LINES,
    );
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

  /** In the order of their first lines, with their rows, whose texts nothing else loads. */
  async finish(): Promise<readonly KnownFaultSighting[]> {
    const rows = await findKnownFaults(this.#counts.keys());
    return [...this.#counts].flatMap(([id, { count, first, firstLine, values, about }]) => {
      const fault = rows.get(id);
      return fault === undefined ? [] : [{ fault, count, first, firstLine, values, about }];
    });
  }
}
