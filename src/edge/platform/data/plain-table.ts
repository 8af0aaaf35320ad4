import { onOneLine } from '../../../core/text/printable.js';
import { textWidth } from '../../../core/text/text-width.js';

/** Longest text in a cell but the last of its row; the whole is in `--json`. */
const MAX_CELL_CHARS = 200;

/** The same of the last cell, which says why and what to do: as long as the longest text of a report. */
const MAX_LAST_CELL_CHARS = 4_096;

/** Between two columns. */
const GAP = '  ';

/** A table without lines: it survives a paste into a ticket, and grep. */
export class PlainTable {
  readonly #rows: (readonly string[])[] = [];
  /** Of each column, in characters of a terminal. */
  readonly #widths: number[] = [];

  constructor(head: readonly string[]) {
    this.push(head);
  }

  /** Adds a row of cells, which are on one line each. */
  push(cells: readonly string[]): void {
    this.#rows.push(cells);
    for (const [at, cell] of cells.entries())
      this.#widths[at] = Math.max(this.#widths[at] ?? 0, textWidth(cell));
  }

  /** A line for the head and each row; none ends with a space. */
  toString(): string {
    return this.#rows.map((cells) => this.#lineOf(cells)).join('\n');
  }

  #lineOf(cells: readonly string[]): string {
    const filled = cells.map((cell, at) => cell + ' '.repeat((this.#widths[at] ?? 0) - textWidth(cell)));
    return filled.join(GAP).trimEnd();
  }
}

/** Workers name themselves: a name with line feeds or escape sequences must not look like more rows. */
export function pushRow(table: PlainTable, cells: readonly string[]): void {
  const last = cells.length - 1;
  table.push(cells.map((cell, at) => onOneLine(cell, at === last ? MAX_LAST_CELL_CHARS : MAX_CELL_CHARS)));
}

/** An empty table with these titles. */
export function plainTable(head: readonly string[]): PlainTable {
  return new PlainTable(head);
}
