import { styleText } from 'node:util';
import type { TextOutput } from '../../edge/platform/streams/standard-streams.js';
import type { GateSentence } from './describe-gate.js';
import { cutLines, hang, readingWidth, wrap } from './layout.js';
import type { ProcessLine } from './process-log.js';

/** Shows the story as it happens. `atMs` is since the scene began. */
export interface Narrator {
  /** A scene begins. */
  title(text: string): void;
  /** A paragraph of explanation. */
  say(text: string): void;
  /** Something is done to the fleet now. */
  act(text: string): void;
  /** A process logged something. */
  line(line: ProcessLine, atMs: number): void;
  /** The gate, or why it is shut, changed. */
  gate(gate: GateSentence, atMs: number): void;
  /** A client of a model got an answer. */
  turn(who: string, number: number, text: string, atMs: number): void;
  /** A table of what came out. */
  table(text: string): void;
  /** What a command printed. */
  output(command: string, text: string): void;
  /** The answer to a question over gRPC. */
  answer(question: string, text: string): void;
  /** Something went as expected. */
  passed(expected: string): void;
  /** Something did not. */
  failed(expected: string, seen: string): void;
}

/** For programs, which read the results alone. */
export const SILENT_NARRATOR: Narrator = {
  title: () => {},
  say: () => {},
  act: () => {},
  line: () => {},
  gate: () => {},
  turn: () => {},
  table: () => {},
  output: () => {},
  answer: () => {},
  passed: () => {},
  failed: () => {},
};

type Style = Parameters<typeof styleText>[0];

const LEVEL_STYLES: Readonly<Record<ProcessLine['level'], Style>> = {
  debug: 'dim',
  info: 'reset',
  warn: 'yellow',
  error: 'red',
};

/** Room for who speaks; the demo's names fit. */
const WHO_CHARS = 10;

/** Writes the story as text: plain lines that only ever follow each other. */
export class TextNarrator implements Narrator {
  readonly #output: TextOutput;
  readonly #width: number;
  readonly #hasColours: boolean;
  /** Whether a paragraph was the last that was written: what happens then begins after an empty line. */
  #isAfterParagraph = false;

  constructor(options: { readonly hasColours: boolean }, modules: { readonly output: TextOutput }) {
    this.#output = modules.output;
    this.#width = readingWidth(modules.output.columns);
    this.#hasColours = options.hasColours;
  }

  title(text: string): void {
    this.#write(
      '',
      this.#style('bold', text),
      this.#style('dim', '─'.repeat(Math.min(text.length, this.#width))),
    );
  }

  say(text: string): void {
    this.#write('', ...wrap(text, this.#width));
    this.#isAfterParagraph = true;
  }

  act(text: string): void {
    this.#write('', ...hang('▸ ', wrap(text, this.#width - 2)).map((line) => this.#style('bold', line)));
  }

  line({ from, level, message }: ProcessLine, atMs: number): void {
    this.#event(from.replace(/^sidecar /, ''), level.toUpperCase(), message, atMs, LEVEL_STYLES[level]);
  }

  gate({ isOpen, text }: GateSentence, atMs: number): void {
    this.#event('gate', isOpen ? 'OPEN' : 'SHUT', text, atMs, isOpen ? 'green' : 'yellow');
  }

  turn(who: string, number: number, text: string, atMs: number): void {
    this.#event(who, `#${number}`, text, atMs, 'reset');
  }

  table(text: string): void {
    this.#write('', ...this.#indented(text), '');
  }

  output(command: string, text: string): void {
    this.#write('', this.#style('dim', `  $ ${command}`), ...this.#indented(text));
  }

  answer(question: string, text: string): void {
    const asked = hang('  ? ', wrap(question, this.#width - 4)).map((line) => this.#style('dim', line));
    this.#write('', ...asked, ...hang('    ', wrap(text, this.#width - 4)));
  }

  passed(expected: string): void {
    const [first = '', ...rest] = hang('  ✓ ', wrap(expected, this.#width - 4));
    this.#write(first.replace('✓', this.#style('green', '✓')), ...rest);
  }

  failed(expected: string, seen: string): void {
    const lines = wrap(`expected: ${expected}\nseen: ${seen}`, this.#width - 4);
    this.#write(...hang('  ✗ ', lines).map((line) => this.#style('red', line)));
  }

  #indented(text: string): string[] {
    return cutLines(text, this.#width - 2).map((line) => `  ${line}`.trimEnd());
  }

  #event(who: string, what: string, text: string, atMs: number, style: Style): void {
    const time = `${(atMs / 1_000).toFixed(1)} s`.padStart(7);
    const before = `${time}  ${who.padEnd(WHO_CHARS)}  `;
    const margin = `${before}${what.padEnd(5)}  `;
    const [first = '', ...rest] = hang(margin, wrap(text, Math.max(20, this.#width - margin.length)));
    if (this.#isAfterParagraph) this.#write('');
    const styled = `${this.#style('dim', before)}${this.#style(style, first.slice(before.length))}`;
    this.#write(styled, ...rest.map((line) => this.#style(style, line)));
  }

  #style(style: Style, text: string): string {
    return this.#hasColours && style !== 'reset' ? styleText(style, text) : text;
  }

  #write(...lines: readonly string[]): void {
    this.#isAfterParagraph = false;
    this.#output.write(`${lines.join('\n')}\n`);
  }
}
