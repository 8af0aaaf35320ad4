/** Python's texts: code points, whitespace, how floats and texts are written. */
import { inexact } from './errors.js';

/** `str.isspace`, the same as `\s` in Python's regular expressions; JavaScript's `\s` and `trim` take U+FEFF too and not U+0085. */
const SPACES = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
/** A character that Python takes for whitespace, as part of a regular expression. */
export const SPACE: string = `[${SPACES}]`;
const LEADING = new RegExp(`^${SPACE}+`);
const SPACE_CHARACTER = new RegExp(SPACE);
/** Runs of whitespace, as `str.split()` divides at them. */
export const SPACE_RUN: RegExp = new RegExp(`${SPACE}+`, 'g');
/** Where `str.splitlines` ends a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these end lines in Python.
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;
const SURROGATE = /[\uD800-\uDFFF]/;

/** Longest text that is made while a template is rendered; 64 Mi characters are far beyond any context. */
const MAX_CHARS = 64 * 1024 * 1024;

/** Throws before a text becomes longer than is held. */
export function checkLength(chars: number): void {
  if (chars > MAX_CHARS) inexact('a text of that length');
}

/** `str.isspace` of one character. */
export function isSpace(character: string): boolean {
  return SPACE_CHARACTER.test(character);
}

/** Characters as Python counts them. Without surrogates that is what JavaScript counts. */
export function characters(text: string): readonly string[] | string {
  return SURROGATE.test(text) ? Array.from(text) : text;
}

/** `len` of a text. */
export function lengthOf(text: string): number {
  return characters(text).length;
}

/** `strip`, or `lstrip` and `rstrip` where `side` is one of them; `set` are the characters that go, whitespace when null. */
export function strip(text: string, set: string | null, side?: 'left' | 'right'): string {
  const left = side !== 'right';
  const right = side !== 'left';
  if (set === null) {
    let end = text.length;
    if (right) while (end > 0 && isSpace(text[end - 1] as string)) end -= 1;
    const kept = text.slice(0, end);
    return left ? kept.replace(LEADING, '') : kept;
  }
  const gone = new Set(set);
  const all = characters(text);
  let start = 0;
  let end = all.length;
  if (left) while (start < end && gone.has(all[start] as string)) start += 1;
  if (right) while (end > start && gone.has(all[end - 1] as string)) end -= 1;
  return slice(all, start, end);
}

/** A part of what `characters` gave, as text. */
export function slice(all: readonly string[] | string, start: number, end: number): string {
  return typeof all === 'string' ? all.slice(start, end) : all.slice(start, end).join('');
}

/** `str.splitlines()`. */
export function splitLines(text: string): string[] {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Order by code points, as Python has it; JavaScript's is by UTF-16. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const x = a.charCodeAt(at);
    const y = b.charCodeAt(at);
    // Both halves of a surrogate pair stand above everything else.
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** `repr` of a float: the shortest digits that give it back, with an exponent from 1e16 on and below 1e-4. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const [digits = '', exponentText = '0'] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    const size = String(Math.abs(exponent)).padStart(2, '0');
    return `${digits}e${exponent < 0 ? '-' : '+'}${size}`;
  }
  if (exponent < 0 && value !== 0) {
    const sign = value < 0 ? '-' : '';
    return `${sign}0.${'0'.repeat(-exponent - 1)}${digits.replace(/[-.]/g, '')}`;
  }
  const text = String(value);
  return text.includes('.') ? text : `${text}.0`;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `repr` of a text. */
export function textRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text.replace(/[\\\n\r\t'"]|[^\x20-\x7e]/gu, (character) => {
    if (character === quote) return `\\${quote}`;
    if (character === '"' || character === "'") return character;
    return ESCAPES[character] ?? (isPrintable(character) ? character : escaped(character));
  });
  return quote + body + quote;
}

/** Which characters are printable depends on the Unicode version of the engine's Python; these do not. */
function isPrintable(character: string): boolean {
  if (/[\p{Cn}]/u.test(character)) return inexact('an unassigned character');
  if (/[\p{C}\p{Z}]/u.test(character)) return false;
  const code = character.codePointAt(0) as number;
  const isOld =
    code < 0x10000 || (code >= 0x1f300 && code <= 0x1f64f) || (code >= 0x20000 && code <= 0x2a6d6);
  return isOld || inexact('a character that is new to Unicode');
}

function escaped(character: string): string {
  const code = character.codePointAt(0) as number;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
};

/** `markupsafe.escape`. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>'"]/g, (character) => HTML[character] as string);
}
