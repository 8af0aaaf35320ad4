import { isJsonObject, type JsonObject } from '../../../edge/platform/data/json-object.js';
import { knownName, MAX_NAME_CHARS, nameBehind, startOfNames } from './field-names.js';
import { MAX_LINE_BYTES } from './line-blocks.js';
import { FEWEST_DIGITS, quoteLongNumbers } from './long-numbers.js';

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const COLON = 58;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;

/** Fields of a record that are read: the most of a program's own are about 40. */
export const MAX_FIELDS = 64;
/** Characters of a field's value that are read: rules look for no more. */
export const MAX_VALUE_CHARS = 2_000;
/** Digits of a number that is text as it stands: a double would lose the last ones of an id of 64 bits. */
const MOST_DIGITS = 20;

/** Stands for a role that no field of a record has. */
const NONE = -1;

/** The characters of a record, and what was there before behind them: an array is read several times faster than a text. */
const codes = new Uint16Array(MAX_LINE_BYTES + MAX_NAME_CHARS + 4);
const codeBytes = Buffer.from(codes.buffer);
const codeView = new DataView(codes.buffer);

/** Where names and values begin and end. Values are without quotation marks. */
const fieldNames = Array.from({ length: MAX_FIELDS }, () => '');
const valueStarts = new Uint32Array(MAX_FIELDS);
const valueEnds = new Uint32Array(MAX_FIELDS);

/** What is known of a record. Places are numbers of its fields, and -1 for what it has not. */
export interface Scanned {
  json: string;
  count: number;
  message: number;
  time: number;
  /** Fields of `fields`, the object that tracing's own formatter puts message and fields into, are from here until `innerUntil`. */
  innerFrom: number;
  innerUntil: number;
  /** A name has what no name of a field has: it may look like two of them within the text. */
  hasOddNames: boolean;
  /** The only value that is an object of another name. */
  object: number;
  objectValue: JsonObject | undefined;
}

const scanned: Scanned = {
  json: '',
  count: 0,
  message: NONE,
  time: NONE,
  innerFrom: 0,
  innerUntil: 0,
  hasOddNames: false,
  object: NONE,
  objectValue: undefined,
};

/** Records that were scanned: the number of the last one. */
let record = 0;

/**
 * Reads in one pass where names and values of a record are. Undefined for what is left to a parser: escapes, lists, more
 * than one object beside that of `fields` or one that is empty or not of plain values, exponents, names that come twice or
 * are numbers, a record without a message, fields that hold another line, long values, and what is no JSON. A control
 * character within a text, which JSON forbids, is read as it stands. The answer holds until another record is scanned.
 */
export function scannedRecord(json: string): Readonly<Scanned> | undefined {
  if (scanned.json === json) return scanned;
  scanned.json = '';
  if (json.length > MAX_LINE_BYTES || json.includes('\\') || !scan(json)) return undefined;
  scanned.json = json;
  return scanned;
}

/** The place of the field of a name; -1 without one. */
export function placeOfName(text: string): number {
  const name = knownName(text);
  return name?.record === record ? name.place : NONE;
}

/** The name of the field at a place of the record that was scanned last. */
export function nameAt(at: number): string {
  return fieldNames[at] as string;
}

/** The value at a place, as it is written, without quotation marks. */
export function valueAt(at: number): string {
  return scanned.json.slice(valueStarts[at], valueEnds[at]);
}

/** Whether a value stands in quotation marks. */
export function isTextAt(at: number): boolean {
  return scanned.json.charCodeAt((valueStarts[at] as number) - 1) === QUOTE;
}

/** Whether all of it was read. */
function scan(json: string): boolean {
  codeBytes.write(json, 'utf16le');
  scanned.message = NONE;
  scanned.time = NONE;
  scanned.innerFrom = 0;
  scanned.innerUntil = 0;
  scanned.hasOddNames = false;
  scanned.object = NONE;
  record += 1;
  let isInner = false;
  let hasInner = false;
  let name = startOfNames();
  let at = 1;
  let count = 0;
  while (count < MAX_FIELDS) {
    const found = nameBehind(name, json, codeView, at);
    // One that comes twice is of this record already.
    if (found === undefined || found.record === record) return false;
    name = found;
    name.record = record;
    name.place = count;
    const { role } = name;
    if (role === 'parser') return false;
    if (name.isOdd) scanned.hasOddNames = true;
    let start = at + name.length;
    if (codes[start] === SPACE) start += 1;
    const first = codes[start] as number;
    let end: number;
    let next: number;
    if (first === QUOTE) {
      if (role === 'inner') return false;
      start += 1;
      end = json.indexOf('"', start);
      if (end === -1 || end - start >= MAX_VALUE_CHARS) return false;
      next = end + 1;
    } else if (first === OPENING_BRACE && role === 'fields') {
      if (isInner || hasInner) return false;
      isInner = true;
      hasInner = true;
      scanned.innerFrom = count;
      at = start + 1;
      continue;
    } else if (first === OPENING_BRACE) {
      if (isInner || role !== 'field' || scanned.object !== NONE) return false;
      end = json.indexOf('}', start) + 1;
      scanned.object = count;
      scanned.objectValue = plainObject(json.slice(start, end));
      if (scanned.objectValue === undefined) return false;
      next = end;
    } else {
      end = wordEnd(json, start);
      // The parser takes an id of 64 bits for a text, and so for another line.
      if (end === start || (role === 'inner' && end - start >= FEWEST_DIGITS)) return false;
      if (role === 'message' || (role === 'time' && first >= COLON)) return false;
      next = end;
    }
    if (role === 'message') {
      if (scanned.message !== NONE) return false;
      scanned.message = count;
    } else if (role === 'time') {
      if (scanned.time !== NONE) return false;
      scanned.time = count;
    }
    fieldNames[count] = name.text;
    valueStarts[count] = start;
    valueEnds[count] = end;
    count += 1;
    let sign = codes[next];
    if (isInner && sign === CLOSING_BRACE) {
      isInner = false;
      scanned.innerUntil = count;
      next += 1;
      sign = codes[next];
    }
    if (sign === CLOSING_BRACE) {
      scanned.count = count;
      return scanned.message !== NONE && !isInner && next === json.length - 1;
    }
    if (sign !== COMMA) return false;
    at = codes[next + 1] === SPACE ? next + 2 : next + 1;
  }
  return false;
}

/** An object of plain values, undefined for another one and for one without any. */
function plainObject(json: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(quoteLongNumbers(json));
    return isJsonObject(value) && json.length > 2 ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Where a number, true, false or null ends that begins at `start`; `start` where none does. */
function wordEnd(json: string, start: number): number {
  const first = codes[start] as number;
  if (first >= COLON) {
    if (json.startsWith('true', start) || json.startsWith('null', start)) return start + 4;
    return json.startsWith('false', start) ? start + 5 : start;
  }
  const digits = first === MINUS ? start + 1 : start;
  let at = behindDigits(digits);
  if (at === digits || at - digits > MOST_DIGITS) return start;
  if (codes[digits] === ZERO && at > digits + 1) return start;
  if (codes[at] === POINT) {
    const fraction = at + 1;
    at = behindDigits(fraction);
    if (at === fraction) return start;
  }
  return at;
}

function behindDigits(start: number): number {
  let at = start;
  let code = codes[at] as number;
  while (code >= ZERO && code < COLON) {
    at += 1;
    code = codes[at] as number;
  }
  return at;
}
