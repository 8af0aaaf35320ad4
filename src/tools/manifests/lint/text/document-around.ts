/** The document that a line is in: a line `---` never stands inside of one. */
export function documentAround(text: string, line: number): string {
  const lines = text.split('\n');
  const isBoundary = (at: number): boolean => /^---(?:\s|$)/.test(lines[at] ?? '');
  let first = Math.min(line, lines.length) - 1;
  while (first > 0 && !isBoundary(first)) first -= 1;
  let last = Math.min(line, lines.length);
  while (last < lines.length && !isBoundary(last)) last += 1;
  return lines.slice(first, last).join('\n');
}
