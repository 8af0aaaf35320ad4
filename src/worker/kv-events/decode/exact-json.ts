import { findTextExcess, JsonBoundsError } from '../../../edge/platform/data/bounded-json.js';

/** Longest answer of events: a prompt of 128,000 tokens in one event has 8 MB. */
export const MAX_EVENTS_BYTES: number = 8 * 1024 * 1024;

/** 128,000 tokens are as many objects with three members each, which repeat the names of one another. */
const BOUNDS = {
  maxBytes: MAX_EVENTS_BYTES,
  maxDepth: 32,
  maxValues: 1_500_000,
  maxMemoryBytes: 96 * 1024 * 1024,
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;

/** Whole numbers of up to 15 digits are exact in JavaScript; a `u64` has up to 20. */
const MIN_LARGE_DIGITS = 16;

/**
 * Parses JSON whose large whole numbers must not lose digits: those of 16
 * digits and more become texts with their digits. Throws a `JsonBoundsError`
 * for more than a sidecar can bear, and the parser's `SyntaxError`.
 */
export function parseExactJson(text: string): unknown {
  const excess = findTextExcess(text, BOUNDS);
  if (excess !== undefined) throw new JsonBoundsError(`the answer ${excess}`);
  return JSON.parse(quoteLargeIntegers(text));
}

function quoteLargeIntegers(text: string): string {
  const pieces: string[] = [];
  let copiedTo = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at + 1);
    else if (isDigit(code)) {
      const end = endOfNumber(text, at);
      const isNegative = text[at - 1] === '-';
      const start = isNegative ? at - 1 : at;
      if (end - at >= MIN_LARGE_DIGITS && isWhole(text, start, end)) {
        pieces.push(text.slice(copiedTo, start), '"', text.slice(start, end), '"');
        copiedTo = end;
      }
      at = end - 1;
    }
  }
  return copiedTo === 0 ? text : pieces.join('') + text.slice(copiedTo);
}

function endOfString(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

function endOfNumber(text: string, from: number): number {
  let at = from;
  while (at < text.length && isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** Whether digits stand for themselves, and are no part of a number with a point or an exponent. */
function isWhole(text: string, start: number, end: number): boolean {
  return !/[.eE+-]/.test(text[start - 1] ?? '') && !/[.eE]/.test(text[end] ?? '');
}
