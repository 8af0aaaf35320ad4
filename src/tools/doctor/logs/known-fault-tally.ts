import type { KnownFaultDetails } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
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
  readonly passesOn: boolean;
  count: number;
  /** Of lines that pass something on: those whose sentence another rule knows. */
  understood: number;
  lastLine: number;
}

/** Counts sentences of known faults, by their ids: no more than there are rows. */
export class KnownFaultTally {
  readonly #counts = new Map<string, Count>();
  readonly #marks = new Marks();
  #lastLine = 0;
  #lastPassedOn = 0;

  /** Whether a known fault has this line: general rules add nothing to what it says. */
  has(lineNumber: number): boolean {
    return lineNumber === this.#lastLine;
  }

  addMark(mark: string, line: OwnedLine): void {
    this.#marks.add(mark, line);
  }

  addWords(mark: string, line: LogLine): void {
    this.#marks.addWords(mark, line);
  }

  wordsAbove(marks: readonly string[], line: OwnedLine): string {
    return this.#marks.wordsAbove(marks, line);
  }

  /** Whether a few lines above it there is one of the marks that it needs, and none of those that take it back. */
  isInPlace({ below, notBelow = [] }: KnownFaultDetails, line: OwnedLine): boolean {
    return (
      (below === undefined || this.#marks.areAbove(below, line)) && !this.#marks.areAbove(notBelow, line)
    );
  }

  /** What a line passes on is known to another rule. */
  understand(lineNumber: number): void {
    if (lineNumber !== this.#lastPassedOn) return;
    this.#lastPassedOn = 0;
    for (const count of this.#counts.values())
      if (count.passesOn && count.lastLine === lineNumber) count.understood += 1;
  }

  add(id: string, lineNumber: number, details: KnownFaultDetails, originOf: () => Origin): void {
    const { passesOn = false } = details;
    if (passesOn) {
      if (this.has(lineNumber)) return;
      this.#lastPassedOn = lineNumber;
    } else {
      this.#lastLine = lineNumber;
      this.understand(lineNumber);
    }
    let count = this.#counts.get(id);
    if (count === undefined) {
      const values = details.values.map((value = '') => excerptOf(value, '').slice(0, MAX_VALUE_CHARS));
      const { about } = details;
      count = {
        first: originOf(),
        firstLine: lineNumber,
        about,
        values,
        passesOn,
        count: 0,
        understood: 0,
        lastLine: 0,
      };
      this.#counts.set(id, count);
    }
    if (count.lastLine === lineNumber) return;
    count.lastLine = lineNumber;
    count.count += 1;
  }

  /** Those that have not passed, in the order of their first lines, with their rows, whose texts nothing else loads. */
  async finish(): Promise<readonly KnownFaultSighting[]> {
    const rows = await findKnownFaults(this.#counts.keys());
    return [...this.#counts].flatMap(
      ([id, { count, understood, first, firstLine, lastLine, values, about }]) => {
        const fault = rows.get(id);
        if (fault === undefined || understood === count) return [];
        if (this.#marks.areAfter(fault.healedBy ?? [], lastLine)) return [];
        return [{ fault, count: count - understood, first, firstLine, values, about }];
      },
    );
  }
}
