/** Quoted texts of one file that are joined: the file is parsed once more for each. */
const MAX_JOINED = 20;
/** Characters of a file, and of one quoted text, that are looked at. */
const MAX_TEXT_LENGTH = 256 * 1024;
const MAX_QUOTED_LENGTH = 64 * 1024;

/** What the parser says of a quoted text whose next line is not further in. */
const IS_OPEN = /^Missing closing (['"])quote$/;

/** Why a text cannot be read, and where. */
export interface TextFault {
  readonly at: number;
  readonly message: string;
}

/**
 * A text of the same length in which quoted texts stand on one line: YAML wants their further lines further in than their key,
 * and kubectl reads them all the same (seen with 1.32). `faultOf` gives the first fault of a text. Undefined where that is no such fault,
 * or remains.
 */
export function withJoinedQuotes(
  text: string,
  faultOf: (text: string) => TextFault | undefined,
): string | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  let joined = text;
  for (let count = 0; count <= MAX_JOINED; count += 1) {
    const fault = faultOf(joined);
    if (fault === undefined) return count === 0 ? undefined : joined;
    const [, quote] = IS_OPEN.exec(fault.message) ?? [];
    const next = quote === undefined ? undefined : joinedAt(joined, fault.at, quote);
    if (next === undefined) return undefined;
    joined = next;
  }
  return undefined;
}

/** A text with blanks for the line ends from an offset on, where one is, to the closing quote, which ends its line. */
function joinedAt(text: string, at: number, quote: string): string | undefined {
  if (!/^\r?\n/.test(text.slice(at, at + 2))) return undefined;
  for (let end = text.indexOf(quote, at); end !== -1 && end - at < MAX_QUOTED_LENGTH; ) {
    const isDoubled = quote === "'" && text[end + 1] === "'";
    if (!isDoubled && !(quote === '"' && isEscaped(text, end))) {
      const isLast = /^[ \t]*(?:#.*)?(?:\r?\n|$)/.test(text.slice(end + 1, end + 200));
      return isLast
        ? text.slice(0, at) + text.slice(at, end).replace(/[\r\n]/g, ' ') + text.slice(end)
        : undefined;
    }
    end = text.indexOf(quote, end + (isDoubled ? 2 : 1));
  }
  return undefined;
}

/** Whether an odd number of backslashes stands before an offset. */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text[start - 1] === '\\') start -= 1;
  return (at - start) % 2 === 1;
}
