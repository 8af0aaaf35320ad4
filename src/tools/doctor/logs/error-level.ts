import type { CleanLine } from './clean-line.js';

/** Where the level of a line stands at the latest, behind what collectors put before it. */
const HEAD_BYTES = 160;
const HEAD_CHARS = 140;
const SPACE = 32;

/** A level of text: `ERROR`, `[E]`, `[error]`, `level=error`, glog's and klog's `E0613 08:28:11`, and the last line of a traceback. */
const ERROR_LEVEL =
  /(?:^|[\s[(|:])(?:ERROR|FATAL|CRITICAL|SEVERE)(?=[\s\]):|]|$)|\[(?:E|err|error|critical|fatal)\]|(?:^|[\s|])level="?(?:error|fatal|panic|critical)\b|(?:^|[\s\]|)])[EF](?:\d{4}(?:\d{4})? \d\d:\d\d|\d{4} [\w-]{1,60}\.(?:cpp|cc|h|go):\d)|^(?:\([^()]{1,80}\) )?(?:[\w.]{0,80}(?:Error|Exception)(?:: |\()|Error\b)/;
/** A lower level in front of it, or a sentence: it is then a word of the message. */
const IS_WORD =
  /\b(?:INFO|WARN(?:ING)?|DEBUG|TRACE|NOTICE)\b|\[[IWDTV]\]|(?:^|[\s\]|)])[IWD]\d{4}(?:\d{4})? \d\d:|[a-z]{2,} [a-z]{2,} /;
const ERROR_WORD = /^(?:d?panic|error|err|fatal|critical|severe|emerg|alert)$/i;
/** Frames of a traceback, each with the level in front, and what underlines their code. */
const FRAME = /\]\s{2,}\S|Traceback \(most recent call last\)|[\^~]{3,}/;

/** Bytes by which a level is found, most of which are rare: "R" and "r", "L", "E" and "F". */
const TELLING = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number('RrLEF'.includes(String.fromCharCode(byte))),
);

/** Whether the beginning of a line in bytes can be that of an error: most lines are passed over by this alone. */
export function mayBeError(bytes: Uint8Array, start: number, end: number): boolean {
  const until = Math.min(end, start + HEAD_BYTES);
  for (let at = start; at < until; at += 1) {
    const byte = bytes[at] as number;
    if (TELLING[byte] === 0) continue;
    const next = bytes[at + 1] as number;
    // "rr" of "error", in small letters and in capitals.
    if ((byte | 32) === 114) {
      if ((next | 32) === 114) return true;
      continue;
    }
    const before = at === start ? SPACE : (bytes[at - 1] as number);
    // "AL" of "FATAL" and "CRITICAL".
    if (byte === 76) {
      if (before === 65) return true;
      continue;
    }
    // "[E]", and "E0613" at the beginning of a word.
    if (before === 91 && next === 93) return true;
    if (isDigit(next) && isDigit(bytes[at + 2]) && isBeforeWord(before)) return true;
  }
  return false;
}

/** Whether a line says of itself that it is of an error. Frames of tracebacks are not counted. */
export function isError(line: CleanLine): boolean {
  const level = levelOf(line);
  if (level !== undefined) return ERROR_WORD.test(level);
  const head = line.text.slice(0, HEAD_CHARS);
  const found = ERROR_LEVEL.exec(head);
  return found !== null && !IS_WORD.test(head.slice(0, found.index + 1)) && !FRAME.test(head);
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
  return byte === SPACE || byte === 93 || byte === 124 || byte === 41 || byte === 34;
}
