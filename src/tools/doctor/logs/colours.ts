import { MAX_LINE_BYTES } from './line-blocks.js';

/** Begins a colour, and every other sequence for a terminal. */
export const ESCAPE = 27;

const OPENING_BRACKET = 91;
const SEMICOLON = 59;
const ZERO = 48;
const SMALL_M = 109;
/** Bytes that are copied together. */
const WORD = 4;

const plain = Buffer.allocUnsafe(MAX_LINE_BYTES);
const plainView = new DataView(plain.buffer, plain.byteOffset, plain.length);

/** A block of lines that has colours: `ESC [ 2 m`. */
export class ColouredBytes {
  readonly #bytes: Buffer;
  readonly #view: DataView;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /**
   * The text of a line without its colours. Left out as bytes they cost a third of what they cost in a text. Other sequences for a
   * terminal stay in it.
   */
  textWithout(start: number, end: number, encoding: 'latin1' | 'utf8'): string {
    const bytes = this.#bytes;
    const view = this.#view;
    let length = 0;
    for (let at = start; at < end; ) {
      for (; at + WORD <= end; at += WORD, length += WORD) {
        const word = view.getInt32(at, true);
        if (hasEscape(word)) break;
        plainView.setInt32(length, word, true);
      }
      if (at === end) break;
      const behind = endOfColour(bytes, at, end);
      if (behind > at) {
        at = behind;
        continue;
      }
      plain[length] = bytes[at] as number;
      length += 1;
      at += 1;
    }
    return plain.toString(encoding, 0, length);
  }
}

/** Whether one of four bytes is an escape: that byte becomes zero, and only a zero borrows from its highest bit. */
function hasEscape(word: number): boolean {
  const zeroed = word ^ 0x1b1b_1b1b;
  return ((zeroed - 0x0101_0101) & ~zeroed & 0x8080_8080) !== 0;
}

/** Where the colour ends that begins at `start`; `start` where none does. */
function endOfColour(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] !== ESCAPE || bytes[start + 1] !== OPENING_BRACKET) return start;
  let at = start + 2;
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= SEMICOLON) at += 1;
  return at < end && bytes[at] === SMALL_M ? at + 1 : start;
}

/** What is left of the end of a colour where a web page or a tracker of issues took the escape away: Rust's and vLLM's. */
const BARE_ENDS = ['[0m', '[0;0m'] as const;
/** The whole of it, with what some put in the place of the escape: `^[`, `\x1b`, `\u001b`, `\033`, U+FFFD. */
const BARE_COLOUR = /(?:\uFFFD|\^\[|\\x1[bB]|\\u001[bB]|\\033|\\e)?\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m/g;

/** Whether bytes have colours whose escapes are gone. */
export function haveBareColours(bytes: Buffer): boolean {
  return BARE_ENDS.some((end) => bytes.includes(end));
}

/** A line without colours whose escapes are gone; a line without the end of one is left as it is. */
export function withoutBareColours(line: string): string {
  return BARE_ENDS.some((end) => line.includes(end)) ? line.replace(BARE_COLOUR, '') : line;
}
