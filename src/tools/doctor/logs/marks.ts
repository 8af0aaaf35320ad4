import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { ByProgram } from './by-program.js';

/** The longest traceback between a mark and the line that depends on it. */
const NEAR_LINES = 80;

/** A line's place, and whose it is. */
export type OwnedLine = Pick<LogLine, 'lineNumber' | 'who'>;

/** Parts of lines that mean something only for what the same program says below them. There are no more of them than rows of known faults have. */
export class Marks {
  /** The last line of each, by program: those of no named one may be of any. */
  readonly #lines = new ByProgram(() => new Map<string, number>());
  readonly #last = new Map<string, number>();

  add(mark: string, { lineNumber, who }: OwnedLine): void {
    this.#lines.of(who).set(mark, lineNumber);
    this.#last.set(mark, lineNumber);
  }

  /** Whether one of these stands anywhere below a line. */
  areAfter(marks: readonly string[], lineNumber: number): boolean {
    return marks.some((mark) => (this.#last.get(mark) ?? 0) > lineNumber);
  }

  /** Whether one of these stands a few lines above a line, of the same program as far as both are named. */
  areAbove(marks: readonly string[], { lineNumber, who }: OwnedLine): boolean {
    const own = who === '' ? [this.#last] : [this.#lines.of(who), this.#lines.of('')];
    return marks.some((mark) =>
      own.some((lines) => lineNumber - (lines.get(mark) ?? Number.NEGATIVE_INFINITY) <= NEAR_LINES),
    );
  }
}
