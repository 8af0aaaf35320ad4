import { cutToWidth } from '../../../core/text/text-width.js';

/** What a key does. */
type Move = (room: number, top: number) => number;

/** Keys as `less` has them, by the names of `OpenKeys`. */
const MOVES: Readonly<Record<string, Move>> = {
  up: (_, top) => top - 1,
  k: (_, top) => top - 1,
  down: (_, top) => top + 1,
  j: (_, top) => top + 1,
  return: (_, top) => top + 1,
  enter: (_, top) => top + 1,
  pageup: (room, top) => top - room,
  b: (room, top) => top - room,
  pagedown: (room, top) => top + room,
  space: (room, top) => top + room,
  f: (room, top) => top + room,
  home: () => 0,
  g: () => 0,
  end: () => Number.POSITIVE_INFINITY,
  'shift+g': () => Number.POSITIVE_INFINITY,
};

/** Size of a terminal, in characters and lines. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

/** A text on a terminal with fewer lines than it has: keys move the part that is shown. */
export class ScrollView {
  #lines: readonly string[] = [];
  #top = 0;

  /** Shows another text at the same place. */
  setText(text: string): void {
    this.#lines = text.trimEnd().split('\n');
  }

  /** Whether `key` has moved the part that is shown. */
  press(key: string, { rows }: Screen): boolean {
    const move = MOVES[key];
    if (move === undefined) return false;
    const before = this.#top;
    const room = roomOf(rows);
    this.#top = Math.max(0, Math.min(move(room, before), this.#lines.length - room));
    return this.#top !== before;
  }

  /** The lines that are shown, and below them which these are; a text that fits stands alone. */
  draw({ columns, rows }: Screen): string {
    const count = this.#lines.length;
    if (count < rows) return `${this.#lines.join('\n')}\n`;
    const room = roomOf(rows);
    this.#top = Math.max(0, Math.min(this.#top, count - room));
    const shown = this.#lines.slice(this.#top, this.#top + room);
    const place = `lines ${this.#top + 1}-${this.#top + shown.length} of ${count}: arrows, PgUp, PgDn, Home, End; q ends`;
    return `${shown.join('\n')}\n${cutToWidth(place, columns - 1)}`;
  }
}

/** Lines of the text on the screen: the last one says where they are. */
function roomOf(rows: number): number {
  return Math.max(1, rows - 1);
}
