import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { ByProgram } from './by-program.js';

/** The longest traceback between a mark and the line that depends on it. */
const NEAR_LINES = 80;

/** Lines between the parts of one object that is written over several. */
const PART_LINES = 5;
const MAX_WORDS_CHARS = 600;

/** A line's place, and whose it is. */
export type OwnedLine = Pick<LogLine, 'lineNumber' | 'who'>;

/** Parts of lines that mean something only for what the same program says below them. There are no more of them than rows of known faults have. */
export class Marks {
  /** The last line of each, by program: those of no named one may be of any. */
  readonly #lines = new ByProgram(() => new Map<string, number>());
  readonly #last = new Map<string, number>();
  readonly #words = new Map<string, { readonly lineNumber: number; readonly text: string }>();

  add(mark: string, { lineNumber, who }: OwnedLine): void {
    this.#lines.of(who).set(mark, lineNumber);
    this.#last.set(mark, lineNumber);
  }

  addWords(mark: string, { lineNumber, text }: Pick<LogLine, 'lineNumber' | 'text'>): void {
    this.#words.set(mark, { lineNumber, text: text.trim().slice(0, MAX_WORDS_CHARS) });
  }

  /** The text of the last line with one of these, as far as it is of the same object, and a space; empty without one. */
  wordsAbove(marks: readonly string[], { lineNumber }: OwnedLine): string {
    const lines = marks.flatMap((mark) => this.#words.get(mark) ?? []);
    const near = lines.filter(
      (line) => line.lineNumber < lineNumber && lineNumber - line.lineNumber <= PART_LINES,
    );
    const [last] = near.sort((a, b) => b.lineNumber - a.lineNumber);
    return last === undefined ? '' : `${last.text} `;
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
