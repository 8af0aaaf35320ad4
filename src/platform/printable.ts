/**
 * What must never reach a terminal: the control characters of both tables,
 * with them every escape sequence, and the signs that turn the direction of
 * writing or break lines without being line feeds. Line feeds and tabs stay.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Makes foreign words fit for a person's terminal: workers, engines and peers
 * choose them, and they must not move the cursor, write titles or pretend.
 */
export function withoutControls(text: string): string {
  return text.replace(UNPRINTABLE, '\ufffd');
}

/** The same on one line, cut with an ellipsis after `maxChars` characters when that is given. */
export function onOneLine(text: string, maxChars: number = Number.POSITIVE_INFINITY): string {
  const line = withoutControls(text.replace(/\s+/g, ' ').trim());
  return line.length > maxChars ? `${line.slice(0, maxChars)}…` : line;
}
