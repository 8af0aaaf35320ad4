/** Characters of a line that a sentence quotes. */
const MAX_QUOTE_CHARS = 180;

/** The beginning of a line, without quotation marks that would end the quote. */
export function quotedLine(text: string): string {
  const plain = text.replaceAll('"', "'");
  return plain.length <= MAX_QUOTE_CHARS ? plain : `${plain.slice(0, MAX_QUOTE_CHARS - 1)}…`;
}
