import Table from 'cli-table3';
import { onOneLine } from '../text/printable.js';

/** Longest text in a cell but the last of its row; the whole is in `--json`. */
const MAX_CELL_CHARS = 200;

/** The same of the last cell, which says why and what to do: as long as the longest text of a report. */
const MAX_LAST_CELL_CHARS = 4_096;

/** Workers name themselves: a name with line feeds or escape sequences must not look like more rows. */
export function pushRow(table: InstanceType<typeof Table>, cells: readonly string[]): void {
  const last = cells.length - 1;
  table.push(cells.map((cell, at) => onOneLine(cell, at === last ? MAX_LAST_CELL_CHARS : MAX_CELL_CHARS)));
}

/** A table without lines: it survives a paste into a ticket, and grep. */
export function plainTable(head: string[]): InstanceType<typeof Table> {
  const none = {
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: '  ',
  };
  return new Table({
    head,
    chars: none,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
}

/** Without the spaces that fill the last column. */
export function trimLines(text: string): string {
  return text.replace(/[ ]+$/gm, '');
}
