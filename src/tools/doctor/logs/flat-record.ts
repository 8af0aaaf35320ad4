import { fieldOf, isOfName } from '../../../engines/diagnosis/log-fields.js';
import type { LogRecord } from '../../../engines/diagnosis/log-line.js';
import { FEWEST_DIGITS } from './long-numbers.js';

const QUOTE = 34;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const COLON = 58;
const SPACE = 32;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;

/** Fields and characters of a value up to which a record is read here. */
const MAX_FIELDS = 64;
const MAX_VALUE_CHARS = 2_000;
/** Digits of a number that is text as it stands: a double would lose the last ones of an id of 64 bits. */
const MOST_DIGITS = 20;

const MESSAGES = ['message', 'msg'];
const TIMES = ['time', 'timestamp', 'ts'];
/** Fields of the same meaning in rarer forms of records. */
const OF_PARSER = ['event', 'log_message', 'asctime', '@timestamp'];
/** Fields that hold a line of another program where they are a text; as a number, `line` is that of Dynamo's source. */
const INNER_LINES = ['log', 'MESSAGE', 'line', 'textPayload'];

type Role = 'field' | 'message' | 'time' | 'inner' | 'parser';

/** The names that have another role than a field, by their lengths: most names have none of these lengths, or begin otherwise. */
const ROLES: readonly (readonly (readonly [string, Role])[])[] = Array.from({ length: 16 }, (_, length) =>
  (
    [
      ['message', MESSAGES],
      ['time', TIMES],
      ['inner', INNER_LINES],
      ['parser', OF_PARSER],
    ] as const
  ).flatMap(([role, names]) =>
    names.filter((name) => name.length === length).map((name): readonly [string, Role] => [name, role]),
  ),
);

/** Stands for a role that no field of a record has. */
const NONE = -1;

/** Where names and values begin and end, of the record that was scanned last. Values are without quotation marks. */
const nameStarts = new Uint32Array(MAX_FIELDS);
const nameEnds = new Uint32Array(MAX_FIELDS);
const valueStarts = new Uint32Array(MAX_FIELDS);
const valueEnds = new Uint32Array(MAX_FIELDS);
/** Those of `fields`, the object that tracing's own formatter puts message and fields into, are from `innerFrom` until `innerUntil`. */
const scanned = { json: '', count: 0, message: NONE, time: NONE, innerFrom: 0, innerUntil: 0 };

/**
 * A record of names and plain values, as most lines of JSON are. What was asked for is read from its text: most lines
 * are asked for few of their fields.
 */
export class FlatRecord implements LogRecord {
  readonly #json: string;
  /** Where a value has this sign, it may look like a field within the text. */
  readonly #hasSigns: boolean;
  #text: string | undefined;

  /** `json` is what `flatRecord` takes. */
  constructor(json: string) {
    this.#json = json;
    this.#hasSigns = json.includes('=');
  }

  get message(): string {
    this.#scanAgain();
    return valueAt(this.#json, scanned.message);
  }

  /** The value of the field with the time; undefined without one. */
  get time(): string | number | undefined {
    this.#scanAgain();
    if (scanned.time === NONE) return undefined;
    const value = valueAt(this.#json, scanned.time);
    return isText(this.#json, scanned.time) || /^\d{16,}$/.test(value) ? value : Number(value);
  }

  get text(): string {
    this.#text ??= this.#asText();
    return this.#text;
  }

  field(name: string): string | undefined {
    if (this.#hasSigns) return fieldOf(this.text, name);
    this.#scanAgain();
    const json = this.#json;
    const { length } = name;
    for (let place = 0; place < scanned.count; place += 1) {
      const at = indexAt(place);
      const end = nameEnds[at] as number;
      const more = end - (nameStarts[at] as number) - length;
      // `a name=` has the field `name` in the text, and `a_name=` has not.
      if (more < 0 || (more > 0 && isOfName(json.charCodeAt(end - length - 1)))) continue;
      if (!json.startsWith(name, end - length)) continue;
      if (more > 0) return fieldOf(this.text, name);
      if (at === scanned.message || at === scanned.time) continue;
      const value = fieldText(json, at);
      if (value !== undefined) return shortened(value);
    }
    return undefined;
  }

  #asText(): string {
    this.#scanAgain();
    const json = this.#json;
    const { count, innerFrom, innerUntil } = scanned;
    return [
      valueAt(json, scanned.message),
      fieldsText(json, 0, innerFrom),
      fieldsText(json, innerUntil, count),
      fieldsText(json, innerFrom, innerUntil),
    ].join('');
  }

  #scanAgain(): void {
    if (scanned.json !== this.#json) scan(this.#json);
  }
}

/**
 * Reads the records that most lines of JSON are in one pass: names and plain
 * values. Undefined for what it leaves to a parser: escapes, lists and objects
 * other than one of `fields`, exponents, names that come twice or are numbers, a record without a message,
 * fields that hold another line, long values, and what is no JSON. A control
 * character within a text, which JSON forbids, is read as it stands.
 */
export function flatRecord(json: string): FlatRecord | undefined {
  // Where there is one of these there may be an escape, an object or a list.
  if (json.includes('\\') || json.includes('[')) return undefined;
  const inner = json.indexOf('{', 1);
  if (inner !== -1 && json.includes('{', inner + 1)) return undefined;
  return scan(json) ? new FlatRecord(json) : undefined;
}

/** Whether all of it was read, and where its parts are. */
function scan(json: string): boolean {
  scanned.json = '';
  scanned.message = NONE;
  scanned.time = NONE;
  scanned.innerFrom = 0;
  scanned.innerUntil = 0;
  let isInner = false;
  let hasInner = false;
  /** A bit for each length and first character of the names before: without it, a name is new. */
  let known = 0;
  let at = 1;
  let count = 0;
  while (count < MAX_FIELDS) {
    if (json.charCodeAt(at) !== QUOTE) return false;
    const nameStart = at + 1;
    const nameEnd = json.indexOf('"', nameStart);
    if (json.charCodeAt(nameEnd + 1) !== COLON) return false;
    const bit = 1 << ((nameEnd - nameStart) * 5 + json.charCodeAt(nameStart) + json.charCodeAt(nameEnd - 1));
    if ((known & bit) !== 0 && isTaken(json, nameStart, nameEnd, count)) return false;
    known |= bit;
    const role = roleOf(json, nameStart, nameEnd);
    if (role === 'parser') return false;
    let start = nameEnd + 2;
    if (json.charCodeAt(start) === SPACE) start += 1;
    const isFields = !isInner && nameEnd - nameStart === 6 && json.startsWith('fields', nameStart);
    if (isFields && hasInner) return false;
    if (json.charCodeAt(start) === OPENING_BRACE) {
      if (!isFields || isTaken(json, nameStart, nameEnd, count)) return false;
      isInner = true;
      hasInner = true;
      scanned.innerFrom = count;
      at = start + 1;
      continue;
    }
    let end: number;
    let next: number;
    if (json.charCodeAt(start) === QUOTE) {
      if (role === 'inner') return false;
      start += 1;
      end = json.indexOf('"', start);
      if (end === -1 || end - start >= MAX_VALUE_CHARS) return false;
      next = end + 1;
    } else {
      end = endOfWord(json, start);
      if (!isWord(json, start, end)) return false;
      // The parser takes an id of 64 bits for a text, and so for another line.
      if (role === 'inner' && end - start >= FEWEST_DIGITS) return false;
      if (role === 'message' || (role === 'time' && json.charCodeAt(start) >= COLON)) return false;
      next = end;
    }
    if (role === 'message') {
      if (scanned.message !== NONE) return false;
      scanned.message = count;
    } else if (role === 'time') {
      if (scanned.time !== NONE) return false;
      scanned.time = count;
    }
    nameStarts[count] = nameStart;
    nameEnds[count] = nameEnd;
    valueStarts[count] = start;
    valueEnds[count] = end;
    count += 1;
    if (isInner && json.charCodeAt(next) === CLOSING_BRACE) {
      isInner = false;
      scanned.innerUntil = count;
      next += 1;
    }
    const sign = json.charCodeAt(next);
    if (sign === CLOSING_BRACE) {
      if (scanned.message === NONE || isInner || next !== json.length - 1) return false;
      scanned.json = json;
      scanned.count = count;
      return true;
    }
    if (sign !== 44) return false;
    at = json.charCodeAt(next + 1) === SPACE ? next + 2 : next + 1;
  }
  return false;
}

/** What the name between two places stands for; `parser` where it is none that can be read here. */
function roleOf(json: string, start: number, end: number): Role {
  const length = end - start;
  const first = json.charCodeAt(start);
  if (length < 1 || (first >= ZERO && first < COLON)) return 'parser';
  const special = ROLES[length];
  if (special === undefined) return 'field';
  for (let at = 0; at < special.length; at += 1) {
    const [name, role] = special[at] as readonly [string, Role];
    if (name.charCodeAt(0) === first && json.startsWith(name, start)) return role;
  }
  return 'field';
}

/** Whether one of the first `count` fields has the same name. */
function isTaken(json: string, start: number, end: number, count: number): boolean {
  for (let other = 0; other < count; other += 1) {
    const otherStart = nameStarts[other] as number;
    if ((nameEnds[other] as number) - otherStart !== end - start) continue;
    let same = 0;
    while (same < end - start && json.charCodeAt(otherStart + same) === json.charCodeAt(start + same))
      same += 1;
    if (same === end - start) return true;
  }
  return false;
}

/** The field at a place of the text: those of the object `fields` come last there. */
function indexAt(place: number): number {
  const { count, innerFrom, innerUntil } = scanned;
  if (place < innerFrom || innerUntil === 0) return place;
  const outer = count - (innerUntil - innerFrom);
  return place < outer ? place + (innerUntil - innerFrom) : place - outer + innerFrom;
}

function isText(json: string, at: number): boolean {
  return json.charCodeAt((valueStarts[at] as number) - 1) === QUOTE;
}

function valueAt(json: string, at: number): string {
  return json.slice(valueStarts[at], valueEnds[at]);
}

/** A value as the text has it, without quotation marks; undefined for null, which is not in it. */
function fieldText(json: string, at: number): string | undefined {
  const value = valueAt(json, at);
  if (isText(json, at)) return value;
  const first = value.charCodeAt(0);
  if (first >= COLON) return value === 'null' ? undefined : value;
  return first === MINUS || value.includes('.') ? String(Number(value)) : value;
}

/** Fields from one place until another, each with a space before it. */
function fieldsText(json: string, from: number, until: number): string {
  let text = '';
  for (let at = from; at < until; at += 1) {
    if (at === scanned.message || at === scanned.time) continue;
    const value = fieldText(json, at);
    if (value === undefined) continue;
    text += ` ${json.slice(nameStarts[at], nameEnds[at])}=${/\s/.test(value) ? `"${value}"` : value}`;
  }
  return text;
}

/** Up to the first sign that ends a value without quotation marks, as `fieldOf` has it. */
function shortened(value: string): string {
  for (let at = 0; at < value.length; at += 1) {
    const code = value.charCodeAt(at);
    if (code > 32 && code < 127 && code !== 44 && code !== 59 && code !== 41 && code !== 125 && code !== 93)
      continue;
    // Letters, digits and most signs are above; of what is left, white space puts it into quotation marks.
    return /\s/.test(value) ? value : (fieldOf(`v=${value}`, 'v') ?? value);
  }
  return value;
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

/** Whether a number, true, false or null is between two places. */
function isWord(json: string, start: number, end: number): boolean {
  if (json.charCodeAt(start) >= COLON) {
    const length = end - start;
    return (
      (length === 4 && (json.startsWith('true', start) || json.startsWith('null', start))) ||
      (length === 5 && json.startsWith('false', start))
    );
  }
  const digits = json.charCodeAt(start) === MINUS ? start + 1 : start;
  let at = behindDigits(json, digits);
  if (at === digits || at - digits > MOST_DIGITS) return false;
  if (json.charCodeAt(digits) === ZERO && at > digits + 1) return false;
  if (json.charCodeAt(at) === POINT) {
    const fraction = at + 1;
    at = behindDigits(json, fraction);
    if (at === fraction) return false;
  }
  return at === end;
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
