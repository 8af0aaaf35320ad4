import { UNKNOWN } from '../shell/words.js';
import { patternTexts } from './pattern-texts.js';

/** What a program that edits lines does to those that it means. */
export interface LineEdit {
  /** Texts that such a line has, one behind the other; none where any line may be meant. */
  readonly parts: readonly string[];
  /** Whether all of the line may be another one, and not only what the texts say. */
  readonly isWhole: boolean;
  /** What it puts there, as far as that is known. */
  readonly adds: string;
}

/** Edits of one program that are kept. */
const MAX_EDITS = 100;

/** Longest program that is read: people write some lines. */
const MAX_LENGTH = 16 * 1024;

/** Patterns that may match up to the end of a line, or from its beginning. */
const OPEN_ENDED = /^(?:\.\*|\(\.\*)|\*\)?\$?$|\.\+\)?\$?$/;

/** `$a`, `${a}`, `$ENV{A}`, and not the end of a line. */
const PERL_VARIABLE = /\$(?:[A-Za-z_]\w*|(?=\{))(?:\{[^}]*\})?/g;

/** The delimiters of Perl that have another one at the end. */
const PAIRS: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']', '<': '>' };

/**
 * The edits of a program of sed, each as if it stood alone: what its labels, its hold space and lines that it joins make of them is not followed, and
 * no pattern is run. The texts that stand in one say which lines it means, at least.
 */
export function sedEdits(program: string, isExtended: boolean): readonly LineEdit[] {
  const reader = new SedReader(program.slice(0, MAX_LENGTH), isExtended);
  const edits: LineEdit[] = [];
  while (!reader.isAtEnd && edits.length < MAX_EDITS) {
    const edit = reader.command();
    if (edit !== undefined) edits.push(edit);
  }
  return edits;
}

/** The `s///`, `tr///` and `y///` of a program of Perl; all else that it does is not read. */
export function perlEdits(program: string): readonly LineEdit[] {
  const known = program.slice(0, MAX_LENGTH).replace(PERL_VARIABLE, UNKNOWN);
  const reader = new SedReader(known, true);
  const edits: LineEdit[] = [];
  while (
    edits.length < MAX_EDITS &&
    reader.skip(/.*?(?:^|[\s;{}(~])(?=(?:s|y|tr)[^\w\s;=,)])/sy) !== undefined
  ) {
    reader.skip(/t(?=r)/y);
    edits.push(reader.substitution([]));
  }
  return edits;
}

/** Reads one program from its beginning to its end. */
class SedReader {
  readonly #program: string;
  readonly #isExtended: boolean;
  #at = 0;

  constructor(program: string, isExtended: boolean) {
    this.#program = program;
    this.#isExtended = isExtended;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#program.length;
  }

  /** Passes over what a pattern matches here, and says what that is. */
  skip(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#program)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  /** A command with its address; undefined for one that edits nothing. */
  command(): LineEdit | undefined {
    this.skip(/(?:[\s;{}]|#.*)*/y);
    const parts = this.#addressed();
    const name = this.#program.charAt(this.#at);
    switch (name) {
      case 's':
      case 'y':
        return this.substitution(parts);
      case 'a':
      case 'i':
      case 'c': {
        this.#at += 1;
        this.skip(/[ \t]*(?:\\\n?[ \t]*)?/y);
        return { parts, isWhole: name === 'c', adds: this.skip(/(?:\\[\s\S]|[^\n\\])*/y) ?? '' };
      }
      case 'r':
      case 'R':
        this.skip(/.*/y);
        return { parts, isWhole: false, adds: UNKNOWN };
      case 'd':
      case 'D':
        this.#at += 1;
        return { parts, isWhole: true, adds: '' };
      default:
        // Names of labels and of files that it writes are no commands.
        this.skip(/[:bBtT][^\n;}]*|[wW].*|[\s\S]/y);
        return undefined;
    }
  }

  /** `s/a/b/g`, and what puts characters in place of others, on lines that an address means. */
  substitution(addressed: readonly string[]): LineEdit {
    const name = this.#program.charAt(this.#at);
    const open = this.#program.charAt(this.#at + 1);
    this.#at += 2;
    const close = PAIRS[open] ?? open;
    const pattern = this.#until(open, close);
    if (close !== open) this.skip(/\s*[\s\S]/y);
    const adds = this.#until(open, close, false);
    this.skip(/\w*/y);
    const own = name === 's' ? patternTexts(pattern, this.#isExtended) : [];
    return own.length === 0 && (name !== 's' || addressed.length > 0)
      ? { parts: addressed, isWhole: true, adds }
      : { parts: own, isWhole: OPEN_ENDED.test(pattern), adds };
  }

  /** The texts of lines that an address means: of `/pattern/`, and none of `5`, `$`, ranges, and what `!` turns over. */
  #addressed(): readonly string[] {
    const first = this.#address();
    const isRange = this.skip(/\s*,\s*[+~]?/y) !== undefined;
    if (isRange) this.#address();
    const isOther = this.skip(/\s*!\s*/y) !== undefined;
    this.skip(/\s*/y);
    return first === undefined || isRange || isOther ? [] : patternTexts(first, this.#isExtended);
  }

  #address(): string | undefined {
    if (this.skip(/\d+(?:~\d+)?|\$/y) !== undefined) return undefined;
    const open = this.skip(/\/|\\[^\w\s]/y);
    if (open === undefined) return undefined;
    const pattern = this.#until(open.slice(-1));
    this.skip(/[IM]*/y);
    return pattern;
  }

  /** The text up to the delimiter that belongs to the one before it: it stands behind no backslash, and not in the brackets of a pattern. */
  #until(open: string, close = open, isPattern = true): string {
    let text = '';
    let depth = 0;
    while (!this.isAtEnd) {
      const piece =
        (isPattern && open !== '[' ? this.skip(/\[\^?\]?(?:\[:\w+:\]|[^\]\n])*\]/y) : undefined) ??
        this.skip(/\\.|./sy) ??
        '';
      if (piece === close && depth === 0) break;
      if (open !== close && piece === open) depth += 1;
      if (piece === close) depth -= 1;
      text += piece === `\\${close}` ? close : piece;
    }
    return text;
  }
}
