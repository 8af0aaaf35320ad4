import type { ViewDocument } from '../../../core/view/view-document.js';
import { type Clock, sleep } from '../../../edge/platform/clock.js';
import type { TextOutput } from '../../../edge/platform/streams/standard-streams.js';
import type { OpenKeys } from '../../../edge/platform/streams/terminal-keys.js';
import type { Screen } from '../status/scroll-view.js';
import type { TopScreen } from './top-screen.js';

/** How often the screen is drawn again although nothing came: rates fall, and the clock goes on. */
const DRAW_EVERY_MS = 1_000;

/** What a terminal that does not say its size is taken to have. */
export const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** To the other screen, which leaves what was there before as it was; and back. */
const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l';
const LEAVE_SCREEN = '\u001b[?25h\u001b[?1049l';

/** To the top; each line clears what stood there, and the last one what is below: nothing flickers. */
const HOME = '\u001b[H';
const CLEAR_REST_OF_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export interface LiveScreenModules {
  readonly clock: Clock;
  readonly stdout: TextOutput;
  readonly openKeys: OpenKeys;
  readonly screen: TopScreen;
  /** Called when the person at the terminal has seen enough. */
  readonly onQuit: () => void;
}

/** A terminal that `top` has to itself, from the first view on until it is closed. */
export class LiveScreen {
  readonly #modules: LiveScreenModules;
  #closeKeys: (() => void) | undefined;
  #isShown = false;

  constructor(modules: LiveScreenModules) {
    this.#modules = modules;
  }

  /** Whether there was a view yet; before that the terminal is as it was. */
  get isShown(): boolean {
    return this.#isShown;
  }

  /** Shows a view; the first one takes the terminal and its keys. */
  show(document: ViewDocument): void {
    const { screen, stdout, openKeys } = this.#modules;
    screen.take(document);
    if (!this.#isShown) {
      this.#isShown = true;
      stdout.write(ENTER_SCREEN);
      this.#closeKeys = openKeys(
        (key) => this.#press(key),
        () => this.#draw(),
      );
    }
    this.#draw();
  }

  /** Says above what is shown why nothing new comes. */
  fail(problem: string): void {
    this.#modules.screen.fail(problem);
    this.#draw();
  }

  /** Draws at every second until `signal` aborts. */
  async drawUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#modules.clock, DRAW_EVERY_MS, signal);
      if (!signal.aborted) this.#draw();
    }
  }

  /** Gives the terminal back as it was. */
  close(): void {
    this.#closeKeys?.();
    if (this.#isShown) this.#modules.stdout.write(LEAVE_SCREEN);
  }

  #draw(): void {
    const { screen, stdout, clock } = this.#modules;
    if (!this.#isShown) return;
    const text = screen.draw(sizeOf(stdout), clock.wallMs());
    const lines = text.split('\n').map((line) => `${line}${CLEAR_REST_OF_LINE}`);
    stdout.write(`${HOME}${lines.join('\n')}${CLEAR_BELOW}`);
  }

  #press(key: string): void {
    const pressed = this.#modules.screen.press(key, sizeOf(this.#modules.stdout));
    if (pressed === 'quit') this.#modules.onQuit();
    else if (pressed) this.#draw();
  }
}

/** A terminal without a size yet says 0. */
function sizeOf({ columns, rows }: TextOutput): Screen {
  return { columns: columns || DEFAULT_COLUMNS, rows: rows || DEFAULT_ROWS };
}
