const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const ZERO = 0x30;
const COMMA = 0x2c;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** The highest token id that fits into what a block's hash is made of. */
const MAX_TOKEN_ID = 2 ** 32 - 1;
const MAX_DIGITS = 10;
/** Token ids of one list: longer than any context there is, and 8 MiB of them. */
const MAX_TOKENS = 2 * 1024 * 1024;
/** Where a list is put together before its length is known, for one after the other; a longer one than the second gets its own. */
let room = new Uint32Array(4_096);
const MAX_ROOM = 128 * 1024;

/**
 * Reads the JSON text of a list of token ids, also as the only member of
 * another list, without making a JavaScript value of each. `count` is an upper
 * bound of its members; default as many as are taken at all. Undefined for
 * anything else, and for a longer list.
 */
export function readTokenIdList(text: Uint8Array, count: number = MAX_TOKENS): Uint32Array | undefined {
  if (count > MAX_TOKENS) return undefined;
  const end = text.length;
  let tokens = room;
  let length = 0;
  let at = skipSpaces(text, 0);
  if (text[at] !== OPEN) return undefined;
  at = skipSpaces(text, at + 1);
  const isNested = text[at] === OPEN;
  if (isNested) at = skipSpaces(text, at + 1);
  for (;;) {
    const begin = at;
    let token = 0;
    while (at < end) {
      const digit = (text[at] as number) - ZERO;
      if (digit < 0 || digit > 9) break;
      token = token * 10 + digit;
      at += 1;
    }
    const digits = at - begin;
    // JSON writes no number with a zero before it.
    if (digits === 0 || digits > MAX_DIGITS || token > MAX_TOKEN_ID || length > count) return undefined;
    if (text[begin] === ZERO && digits > 1) return undefined;
    if (length === tokens.length) tokens = grown(tokens);
    tokens[length] = token;
    length += 1;
    if (text[at] !== COMMA) {
      at = skipSpaces(text, at);
      if (text[at] === CLOSE) break;
      if (text[at] !== COMMA) return undefined;
    }
    at += 1;
    if (at < end && (text[at] as number) <= SPACE) at = skipSpaces(text, at);
  }
  at = skipSpaces(text, at + 1);
  if (isNested) {
    if (text[at] !== CLOSE) return undefined;
    at = skipSpaces(text, at + 1);
  }
  return at === text.length ? tokens.slice(0, length) : undefined;
}

function grown(tokens: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * tokens.length);
  larger.set(tokens);
  if (larger.length <= MAX_ROOM) room = larger;
  return larger;
}

function skipSpaces(text: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = text[at];
    if (byte !== SPACE && byte !== LINE_FEED && byte !== RETURN && byte !== TAB) return at;
    at += 1;
  }
}
