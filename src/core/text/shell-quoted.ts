/** A text as one word of a POSIX shell, whatever it has. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
