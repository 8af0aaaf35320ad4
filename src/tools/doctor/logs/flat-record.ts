/** A line of JSON as words, without the object that a parser would make of it. */
export interface FlatRecord {
  /** The message, and behind it every other field as `name=value`. */
  readonly text: string;
  /** The value of the field with the time; undefined without one. */
  readonly time: string | number | undefined;
}

const QUOTE = 34;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const COLON = 58;
const SPACE = 32;

/** Fields and characters of a value up to which a record is read here. */
const MAX_FIELDS = 64;
const MAX_VALUE_CHARS = 2_000;
/** Digits of a number that is text as it stands: a double would lose the last ones of an id of 64 bits. */
const MOST_DIGITS = 20;

const MESSAGES = ['message', 'msg'];
const TIMES = ['time', 'timestamp', 'ts'];
/** Fields of the same meaning in rarer forms of records, and those that hold a line of another program. */
const OF_PARSER = ['event', 'log_message', 'asctime', '@timestamp', 'log', 'MESSAGE', 'line', 'textPayload'];

type Role = 'field' | 'message' | 'time' | 'parser';

/** The names that have another role than a field, by their lengths: most names have none of these lengths, or begin otherwise. */
const ROLES: readonly (readonly (readonly [string, Role])[])[] = Array.from({ length: 16 }, (_, length) =>
  (
    [
      ['message', MESSAGES],
      ['time', TIMES],
      ['parser', OF_PARSER],
    ] as const
  ).flatMap(([role, names]) =>
    names.filter((name) => name.length === length).map((name): readonly [string, Role] => [name, role]),
  ),
);

/** Where the names of the record begin that is being read, and how long they are. */
const starts = new Uint32Array(MAX_FIELDS);
const lengths = new Uint32Array(MAX_FIELDS);

/**
 * Reads the records that most lines of JSON are in one pass: names and plain
 * values. Undefined for what it leaves to a parser: escapes, lists and objects,
 * exponents, names that come twice or are numbers, a record without a message,
 * fields that hold another line, long values, and what is no JSON. A control
 * character within a text, which JSON forbids, is read as it stands.
 */
export function flatRecord(json: string): FlatRecord | undefined {
  // Where there is one of these there may be an escape, an object or a list.
  if (json.includes('\\') || json.includes('{', 1) || json.includes('[')) return undefined;
  let rest = '';
  let message: string | undefined;
  let time: string | number | undefined;
  let at = 1;
  for (let count = 0; count < MAX_FIELDS; count += 1) {
    if (json.charCodeAt(at) !== QUOTE) return undefined;
    const nameStart = at + 1;
    const nameEnd = json.indexOf('"', nameStart);
    if (json.charCodeAt(nameEnd + 1) !== COLON) return undefined;
    const role = roleOf(json, nameStart, nameEnd, count);
    if (role === 'parser') return undefined;
    let start = nameEnd + 2;
    if (json.charCodeAt(start) === SPACE) start += 1;
    let end: number;
    if (json.charCodeAt(start) === QUOTE) {
      end = json.indexOf('"', start + 1);
      if (end === -1 || end - start > MAX_VALUE_CHARS) return undefined;
      const value = json.slice(start + 1, end);
      if (role === 'field')
        rest += ` ${json.slice(nameStart, nameEnd)}=${/\s/.test(value) ? `"${value}"` : value}`;
      else if (role === 'message' && message === undefined) message = value;
      else if (role === 'time' && time === undefined) time = value;
      else return undefined;
      end += 1;
    } else {
      end = endOfWord(json, start);
      const word = wordOf(json, start, end);
      if (word === undefined || role === 'message') return undefined;
      if (role === 'field') rest += word === 'null' ? '' : ` ${json.slice(nameStart, nameEnd)}=${word}`;
      else if (time === undefined && json.charCodeAt(start) < COLON)
        time = /^\d{16,}$/.test(word) ? word : Number(word);
      else return undefined;
    }
    const next = json.charCodeAt(end);
    if (next === 125)
      return message !== undefined && end === json.length - 1 ? { text: message + rest, time } : undefined;
    if (next !== 44) return undefined;
    at = json.charCodeAt(end + 1) === SPACE ? end + 2 : end + 1;
  }
  return undefined;
}

/** What the name between two places stands for, the `count`th of its record; `parser` where it is none that can be read here. */
function roleOf(json: string, start: number, end: number, count: number): Role {
  const length = end - start;
  const first = json.charCodeAt(start);
  if (length < 1 || (first >= ZERO && first < COLON)) return 'parser';
  for (let other = 0; other < count; other += 1) {
    if (lengths[other] === length && isSame(json, starts[other] as number, start, length)) return 'parser';
  }
  starts[count] = start;
  lengths[count] = length;
  const special = ROLES[length];
  if (special === undefined) return 'field';
  for (let at = 0; at < special.length; at += 1) {
    const [name, role] = special[at] as readonly [string, Role];
    if (name.charCodeAt(0) === first && json.startsWith(name, start)) return role;
  }
  return 'field';
}

function isSame(json: string, one: number, other: number, length: number): boolean {
  for (let at = 0; at < length; at += 1) {
    if (json.charCodeAt(one + at) !== json.charCodeAt(other + at)) return false;
  }
  return true;
}

function endOfWord(json: string, start: number): number {
  let at = start;
  let code = json.charCodeAt(at);
  while (code !== 44 && code !== 125 && at < json.length) {
    at += 1;
    code = json.charCodeAt(at);
  }
  return at;
}

/** A number, true, false or null as a text has it; undefined for anything else. */
function wordOf(json: string, start: number, end: number): string | undefined {
  const word = json.slice(start, end);
  if (word === 'true' || word === 'false' || word === 'null') return word;
  let at = json.charCodeAt(start) === MINUS ? start + 1 : start;
  const digits = at;
  at = behindDigits(json, at);
  if (at === digits || at - digits > MOST_DIGITS) return undefined;
  if (json.charCodeAt(digits) === ZERO && at > digits + 1) return undefined;
  if (at === end && digits === start) return word;
  if (json.charCodeAt(at) === POINT) {
    const fraction = at + 1;
    at = behindDigits(json, fraction);
    if (at === fraction) return undefined;
  }
  return at === end ? String(Number(word)) : undefined;
}

function behindDigits(json: string, start: number): number {
  let at = start;
  let code = json.charCodeAt(at);
  while (code >= ZERO && code < COLON) {
    at += 1;
    code = json.charCodeAt(at);
  }
  return at;
}
