import { andMore } from '../../../core/text/lists.js';
import type { TextOutput } from '../../../edge/platform/streams/standard-streams.js';
import type { OpenKeys } from '../../../edge/platform/streams/terminal-keys.js';
import { type Screen, ScrollView } from './scroll-view.js';

/** Clears the screen and goes to its top, on a terminal. */
const CLEAR_SCREEN = '\u001b[2J\u001b[H';

/** What a terminal that does not say its size is taken to have. */
const DEFAULT_COLUMNS = 80;

/** Narrowest terminal that a table is fitted to, in characters. */
const MIN_COLUMNS = 40;

export interface WatchedTableModules {
  /** A terminal. */
  readonly stdout: TextOutput;
  readonly openKeys: OpenKeys;
  /** Called when the person at the terminal has seen enough. */
  readonly onQuit: () => void;
}

/** A table on a terminal, of which each replaces the one before, and which keys move. */
export class WatchedTable {
  readonly #stdout: TextOutput;
  readonly #view = new ScrollView();
  readonly #closeKeys: (() => void) | undefined;
  #shownSize = '';

  constructor({ stdout, openKeys, onQuit }: WatchedTableModules) {
    this.#stdout = stdout;
    const onKey = (key: string): void => {
      if (key === 'q') onQuit();
      else if (this.#view.press(key, screenOf(stdout))) this.#draw();
    };
    this.#closeKeys = openKeys(onKey, () => this.#draw());
  }

  /** Whether the terminal has another size than when something was last shown. */
  get isResized(): boolean {
    return sizeOf(this.#stdout) !== this.#shownSize;
  }

  /** Shows this from now on. */
  show(text: string): void {
    this.#shownSize = sizeOf(this.#stdout);
    this.#view.setText(text);
    if (this.#closeKeys !== undefined) this.#draw();
    else this.#stdout.write(`${CLEAR_SCREEN}${fitRows(text, this.#stdout.rows)}`);
  }

  /** Leaves the keys to the terminal again. */
  close(): void {
    this.#closeKeys?.();
  }

  #draw(): void {
    this.#stdout.write(`${CLEAR_SCREEN}${this.#view.draw(screenOf(this.#stdout))}`);
  }
}

/** The width that a table on a terminal has to keep to; undefined where the terminal does not say its own. */
export function columnsToFit({ columns }: TextOutput): number | undefined {
  return columns ? Math.max(columns, MIN_COLUMNS) : undefined;
}

/** A terminal without a size yet says 0. */
function screenOf({ columns, rows }: TextOutput): Screen {
  return { columns: columns || DEFAULT_COLUMNS, rows: rows || Number.POSITIVE_INFINITY };
}

function sizeOf({ columns, rows }: TextOutput): string {
  return `${columns} x ${rows}`;
}

/** As many lines as the terminal shows, where no keys can be read: what is worst comes first. */
function fitRows(text: string, rows: number | undefined): string {
  const lines = text.trimEnd().split('\n');
  // The last row is the cursor's, the one before says what is left out.
  const room = Math.max((rows || Number.POSITIVE_INFINITY) - 2, 1);
  if (lines.length <= room + 1) return text;
  return `${lines.slice(0, room).join('\n')}\n...${andMore(lines.length - room, 'lines')}: kv-accord status shows all\n`;
}
