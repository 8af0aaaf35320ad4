const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const ZERO = 0x30;
const NINE = 0x39;
const COMMA = 0x2c;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** The highest token id that fits into what a block's hash is made of. */
const MAX_TOKEN_ID = 2 ** 32 - 1;
/** Token ids of one list: longer than any context there is, and 8 MiB of them. */
const MAX_TOKENS = 2 * 1024 * 1024;

/**
 * Reads the JSON text of a list of token ids, also as the only member of
 * another list, without making a JavaScript value of each. `count` is an upper
 * bound of its members. Undefined for anything else, and for a longer list.
 */
export function readTokenIdList(text: Uint8Array, count: number): Uint32Array | undefined {
  if (count > MAX_TOKENS) return undefined;
  const tokens = new Uint32Array(count + 1);
  let length = 0;
  let at = skipSpaces(text, 0);
  if (text[at] !== OPEN) return undefined;
  at = skipSpaces(text, at + 1);
  const isNested = text[at] === OPEN;
  if (isNested) at = skipSpaces(text, at + 1);
  for (;;) {
    const first = text[at];
    let digit = first;
    let token = 0;
    while (digit !== undefined && digit >= ZERO && digit <= NINE) {
      token = token * 10 + digit - ZERO;
      // JSON writes no number with a zero before it.
      if (token > MAX_TOKEN_ID || (first === ZERO && token > 0)) return undefined;
      at += 1;
      digit = text[at];
      if (first === ZERO && digit === ZERO) return undefined;
    }
    if (digit === first || length > count) return undefined;
    tokens[length] = token;
    length += 1;
    at = skipSpaces(text, at);
    if (text[at] === CLOSE) break;
    if (text[at] !== COMMA) return undefined;
    at = skipSpaces(text, at + 1);
  }
  at = skipSpaces(text, at + 1);
  if (isNested) {
    if (text[at] !== CLOSE) return undefined;
    at = skipSpaces(text, at + 1);
  }
  return at === text.length ? tokens.subarray(0, length) : undefined;
}

function skipSpaces(text: Uint8Array, from: number): number {
  let at = from;
  while (at < text.length && SPACES.has(text[at] as number)) at += 1;
  return at;
}
