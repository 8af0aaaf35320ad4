/** What is wrong with a JSON text that is larger than what is taken. */
export type JsonExcess = 'too_deep' | 'too_many_values';

/** Deepest nesting; tools with JSON schemas in them come to about twenty. */
export const MAX_JSON_DEPTH = 128;

/** Arrays and objects: each takes about a hundred bytes once it is parsed, from as few as two in the text. */
const MAX_CONTAINERS = 262_144;
/** Members of objects. */
const MAX_MEMBERS = 1_048_576;
/** Elements of arrays and members of objects: a batch of prompts as token ids has millions. */
const MAX_ELEMENTS = 8_388_608;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Looks over a text before it is parsed: a few megabytes of brackets would
 * become gigabytes of objects, or a nesting on which everything that walks
 * through it fails. Whether it is JSON at all is for the parser to say.
 */
export function findJsonExcess(text: Uint8Array): JsonExcess | undefined {
  let depth = 0;
  let containers = 0;
  let members = 0;
  let elements = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case QUOTE:
        at = endOfString(text, at + 1);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        containers += 1;
        if (depth > MAX_JSON_DEPTH) return 'too_deep';
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COLON:
        members += 1;
        break;
      case COMMA:
        elements += 1;
        break;
      default:
    }
  }
  const isTooMany = containers > MAX_CONTAINERS || members > MAX_MEMBERS || elements > MAX_ELEMENTS;
  return isTooMany ? 'too_many_values' : undefined;
}

/** Bytes that are looked at one by one before the search for the next quote is left to the platform. */
const STEPS = 64;

/** Where the string ends that begins at `at`: the place of its closing quote, or the end of the text. */
function endOfString(text: Uint8Array, begin: number): number {
  let at = begin;
  for (;;) {
    const stop = Math.min(at + STEPS, text.length);
    for (; at < stop; at += 1) {
      const byte = text[at];
      if (byte === QUOTE) return at;
      if (byte === BACKSLASH) at += 1;
    }
    if (at >= text.length) return text.length;
    // Prompts and images are long, and a search in one go is many times faster than steps.
    const quote = text.indexOf(QUOTE, at);
    if (quote === -1) return text.length;
    if (!isEscaped(text, at, quote)) return quote;
    at = quote + 1;
  }
}

/** Whether an odd number of backslashes stands before `place`; `from` is known not to be escaped. */
function isEscaped(text: Uint8Array, from: number, place: number): boolean {
  let first = place;
  while (first > from && text[first - 1] === BACKSLASH) first -= 1;
  return (place - first) % 2 === 1;
}
