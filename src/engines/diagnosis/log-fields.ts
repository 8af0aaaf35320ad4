import type { LogLine } from './log-line.js';

/** The value of a field, as `fieldOf` finds it in the text of the line. */
export function fieldOfLine(line: LogLine, name: string): string | undefined {
  return line.record === undefined ? fieldOf(line.text, name) : line.record.field(name);
}

/** The value of a field `name=value` or `name="value"`; the first of that very name. Undefined when there is none. */
export function fieldOf(text: string, name: string, from = 0): string | undefined {
  const sign = signOf(name);
  for (let at = text.indexOf(sign, from); at !== -1; at = text.indexOf(sign, at + 1)) {
    if (at > 0 && isOfName(text.charCodeAt(at - 1))) continue;
    let start = at + sign.length;
    if (text.charCodeAt(start) === 34) {
      start += 1;
      const end = text.indexOf('"', start);
      return text.slice(start, end === -1 ? text.length : end);
    }
    let end = start;
    while (end < text.length && !isEnd(text.charCodeAt(end))) end += 1;
    return text.slice(start, end);
  }
  return undefined;
}

/** `name=` by name: made once, as rules name few and each is looked for in many lines. */
const SIGNS = new Map<string, string>();

function signOf(name: string): string {
  const known = SIGNS.get(name);
  if (known !== undefined) return known;
  const sign = `${name}=`;
  SIGNS.set(name, sign);
  return sign;
}

/** A number that is not negative; undefined for anything else. */
export function numberOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = quickNumber(text) ?? Number(text);
  if (Number.isFinite(value)) return value >= 0 ? value : undefined;
  return text.includes(',') ? numberOf(text.replaceAll(',', '')) : undefined;
}

/** Digits of a number that a double holds exactly, whatever they are. */
const EXACT_DIGITS = 15;
const POWERS = Array.from({ length: EXACT_DIGITS + 1 }, (_, digits) => 10 ** digits);

/** A number of at most 15 digits with or without a fraction, as nearly all are; undefined for every other form. */
function quickNumber(text: string): number | undefined {
  if (text.length > EXACT_DIGITS) return undefined;
  let value = 0;
  let point = -1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isDigit(code)) value = value * 10 + (code - 48);
    else if (code === 46 && point === -1 && at > 0) point = at;
    else return undefined;
  }
  if (point === -1) return value;
  // A quotient of two exact numbers is rounded once, as a text is that is parsed.
  return value / (POWERS[text.length - 1 - point] as number);
}

/** Digits of a number that is read; what has more is no number of tokens, blocks or workers. */
const MAX_DIGITS = 20;

/**
 * The whole number right behind a phrase, as it is written, without commas
 * between thousands: `Block size is: 32`, `"blockSize":16`, `block_size=Some(16)`.
 * Undefined where none stands there: a fraction, a word, more than 20 digits.
 * The digits that are read are never a part of a longer number.
 */
export function digitsBehind(text: string, phrase: string, from = 0): string | undefined {
  const at = text.indexOf(phrase, from);
  if (at === -1) return undefined;
  let start = at + phrase.length;
  if (text.startsWith('Some(', start)) start += 'Some('.length;
  const quote = text.charCodeAt(start);
  if (quote === 34 || quote === 39) start += 1;
  let end = start;
  while (end - start <= MAX_DIGITS && isDigit(text.charCodeAt(end))) end += 1;
  if (end === start || end - start > MAX_DIGITS) return undefined;
  if (text.charCodeAt(end) === 46 && isDigit(text.charCodeAt(end + 1))) return undefined;
  const digits = text.slice(start, end);
  if (text.charCodeAt(end) !== 44 || !isDigit(text.charCodeAt(end + 1))) return digits;
  const groups = /^(?:,\d{3})+(?!\d)/.exec(text.slice(end, end + MAX_DIGITS))?.[0];
  return digits + (groups ?? '').replaceAll(',', '');
}

/**
 * The number between a phrase and a unit, such as that of `Running: 3 reqs` or `usage: 98.1%`: the first that has both.
 * Undefined without one.
 */
export function numberBetween(text: string, phrase: string, unit: string): number | undefined {
  for (let at = text.indexOf(phrase); at !== -1; at = text.indexOf(phrase, at + 1)) {
    const start = at + phrase.length;
    let end = start;
    while (isDigit(text.charCodeAt(end))) end += 1;
    if (end === start) continue;
    if (text.charCodeAt(end) === 46 && isDigit(text.charCodeAt(end + 1))) {
      end += 2;
      while (isDigit(text.charCodeAt(end))) end += 1;
    }
    if (text.startsWith(unit, end)) return numberOf(text.slice(start, end));
  }
  return undefined;
}

/** A block size in tokens; undefined for what cannot be one. */
export function sizeOf(text: string | undefined): number | undefined {
  const value = numberOf(text);
  return value !== undefined && Number.isInteger(value) && value >= 1 && value <= 1_048_576
    ? value
    : undefined;
}

/** The block size right behind a phrase. */
export function sizeBehind(text: string, phrase: string): number | undefined {
  return sizeOf(digitsBehind(text, phrase));
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Whether a character belongs to the name of a field: letters, digits, `_`, `.`, `-`. */
function isOfName(code: number): boolean {
  return (
    (code >= 48 && code <= 57) ||
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    code === 95 ||
    code === 46 ||
    code === 45
  );
}

/** Space, comma, semicolon, closing bracket. */
function isEnd(code: number): boolean {
  return code <= 32 || code === 44 || code === 59 || code === 41 || code === 125 || code === 93;
}
