const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/**
 * Whether a JSON text, from `start` to `end` of its bytes, has a number that
 * JavaScript does not keep: a float that is a whole number (`1.0`, `2e3`, `-0`),
 * which becomes an integer, an integer beyond 2^53, or more than a double holds.
 * A template of Python's prints such a number as it was, and an engine that is
 * asked would get another one.
 */
export function losesNumber(text: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = text[at] as number;
    if (byte === QUOTE) {
      at += 1;
      while (at < end && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
    } else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
      const from = at;
      while (at + 1 < end && isOfNumber(text[at + 1] as number)) at += 1;
      const written = String.fromCharCode(...text.subarray(from, Math.min(at + 1, from + MAX_DIGITS)));
      if (at + 1 - from > MAX_DIGITS || isLost(written)) return true;
    }
  }
  return false;
}

function isLost(written: string): boolean {
  const value = Number(written);
  if (!Number.isInteger(value)) return !Number.isFinite(value);
  return /[.eE]|^-0$/.test(written) || !Number.isSafeInteger(value);
}

/** Longest number that is looked at; no double needs as many. */
const MAX_DIGITS = 64;

/** Digits, `+`, `-`, `.`, `e` and `E`. */
function isOfNumber(byte: number): boolean {
  return (
    (byte >= ZERO && byte <= NINE) ||
    byte === 0x2b ||
    byte === MINUS ||
    byte === 0x2e ||
    byte === 0x65 ||
    byte === 0x45
  );
}
