import type { CleanLine } from './clean-line.js';

/** Where the level of a line stands at the latest, behind what collectors put before it. */
const HEAD_BYTES = 160;
const HEAD_CHARS = 140;
const SPACE = 32;

/** A level of text by its word: `ERROR`, `[E]`, `[error]`. */
export const LEVEL_WORD: RegExp =
  /(?:^|[\s[(|:])(?:ERROR|FATAL|CRITICAL|SEVERE)(?=[\s\]):|]|$)|\[(?:E|err|error|critical|fatal)\]/;
/** The same, `level=error`, glog's and klog's `E0613 08:28:11`, and the last line of a traceback. */
const ERROR_LEVEL = oneOf(
  LEVEL_WORD,
  /(?:^|[\s|])level="?(?:error|fatal|panic|critical)\b|(?:^|[\s\]|)[])[EF](?:\d{3,4}(?:\d{4})? \d\d:\d\d|\d{4} [\w-]{1,60}\.(?:cpp|cc|h|go):\d)|^\s{0,8}(?:\([^()]{1,80}\) )?(?:[\w.]{0,80}(?:Error|Exception|gaierror)(?:: |\(|\s*$)|Error\b)/,
);
/** A lower level in front of it, or a sentence: it is then a word of the message. */
const IS_WORD =
  /\b(?:INFO|WARN(?:ING)?|DEBUG|TRACE|NOTICE)\b|\[[IWDTV]\]|(?:^|[\s\]|)])[IWD]\d{4}(?:\d{4})? \d\d:|[a-z]{2,} [a-z]{2,} /;
/** A lower level at the head of a line of Python, behind the process and the time. */
const LOWER_LEVEL =
  /^(?:\([^()]{1,80}\) ?){0,3}(?:\[?\d{4}-\d\d-\d\d[ T][\d:.,]{8,15}(?: \w{2,3}\d{1,3}){0,3}\]? ?)?(?:- )?\[?(?:WARNING|INFO|DEBUG)\b(?!.{0,40}\bERROR\b)/;
/** The parser of arguments of programs in Rust. */
const OF_CLAP = /(?:^|[\s|])error: (?:invalid value '|the following required arguments |the argument '--)/;
/** The parser of arguments of Python, of a value whose check goes on in the lines below. */
const OF_ARGPARSE = /: error: argument --[\w-]{1,60}: \d{1,3} validation errors? for \w{1,60}\s*$/;
const ERROR_WORD = /^(?:d?panic|error|err|fatal|critical|severe|emerg|alert)$/i;
/** Frames of a traceback, each with the level in front, and what underlines their code. */
const FRAME = /\]\s{2,}\S|Traceback \(most recent call last\)|[\^~]{3,}/;

/** Parts of words by which lines at error level are found. */
const LEVELS = ['ERROR', 'rror', '[E]', 'FATAL', 'fatal', 'CRITICAL', 'critical', 'xception: ', 'panic'].map(
  (word) => Buffer.from(word),
);
/** Names of source files in lines of glog and klog, whose level is one letter. */
const SOURCES = ['.cpp:', '.cc:', '.go:'].map((word) => Buffer.from(word));

/**
 * Where a block of lines may have one at error level. Each word is looked for in the whole block, by
 * Node's own search: a look at the bytes of each line costs several times as much.
 */
export class ErrorMarks {
  readonly #bytes: Buffer;
  /** For each word where it stands next, from the line on that was asked of last. */
  readonly #levels: number[] = LEVELS.map(() => -1);
  readonly #sources: number[] = SOURCES.map(() => -1);
  /** Where the first of all these stands at the earliest. */
  #earliest = -1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Whether the line may be one at error level; most lines are passed over by this alone. Lines are asked of in their order. */
  isIn(start: number, end: number): boolean {
    const until = Math.min(end, start + HEAD_BYTES);
    if (this.#earliest >= until) return false;
    const hasLevel = this.#stands(LEVELS, this.#levels, start, until);
    const hasSource = this.#stands(SOURCES, this.#sources, start, until);
    this.#earliest = Math.min(...this.#levels, ...this.#sources);
    return hasLevel || (hasSource && hasLetterOfGlog(this.#bytes, start, until));
  }

  #stands(words: readonly Buffer[], next: number[], start: number, until: number): boolean {
    let stands = false;
    for (let at = 0; at < words.length; at += 1) {
      if ((next[at] as number) < start) {
        const found = this.#bytes.indexOf(words[at] as Buffer, start);
        next[at] = found === -1 ? Number.POSITIVE_INFINITY : found;
      }
      if ((next[at] as number) < until) stands = true;
    }
    return stands;
  }
}

/** "E0613" at the beginning of a word. */
function hasLetterOfGlog(bytes: Buffer, start: number, until: number): boolean {
  for (let at = start; at < until; at += 1) {
    const byte = bytes[at];
    if ((byte === 69 || byte === 70) && isDigit(bytes[at + 1]) && isDigit(bytes[at + 2])) {
      if (at === start || isBeforeWord(bytes[at - 1] as number)) return true;
    }
  }
  return false;
}

/** Whether a line says of itself that it is of an error. Frames of tracebacks are not counted. */
export function isError(line: CleanLine): boolean {
  const level = levelOf(line);
  if (level !== undefined) return ERROR_WORD.test(level);
  const head = line.text.slice(0, HEAD_CHARS);
  const found = ERROR_LEVEL.exec(head);
  if (found === null) return OF_CLAP.test(head) || OF_ARGPARSE.test(head);
  return !IS_WORD.test(head.slice(0, found.index + 1)) && !FRAME.test(head);
}

/** Whether a level of text stands at the head of a line: `ERROR`, `[E]`. */
export function hasErrorWord(text: string): boolean {
  return LEVEL_WORD.test(text.slice(0, HEAD_CHARS));
}

/** Whether a line says of itself that it is a warning or less: "(EngineCore pid=7) WARNING 06-11 01:28:03 [import_utils.py:408] ImportError: …". */
export function isWarning(text: string): boolean {
  return LOWER_LEVEL.test(text.slice(0, HEAD_CHARS));
}

/** The level of a line of JSON; undefined for text, and for JSON without one. */
function levelOf({ record, fields }: CleanLine): string | undefined {
  if (record !== undefined) return record.field('level') ?? record.field('severity');
  const level = fields?.['level'] ?? fields?.['severity'];
  return typeof level === 'string' ? level : undefined;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

/** Space, `]`, `|`, `)`, and the quotation mark before a line within JSON. */
function isBeforeWord(byte: number): boolean {
  return byte === SPACE || byte === 91 || byte === 93 || byte === 124 || byte === 41 || byte === 34;
}

/** What fits one of two patterns. */
export function oneOf(first: RegExp, second: RegExp): RegExp {
  return new RegExp(`${first.source}|${second.source}`);
}
