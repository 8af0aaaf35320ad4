/** Widest line for reading; wider terminals gain nothing. */
const MAX_WIDTH = 110;
/** Below it the margin of a log line leaves no room for its words. */
const MIN_WIDTH = 60;

/** How wide text is set: the terminal's width within bounds; the widest where there is none, or where it says 0. */
export function readingWidth(columns: number | undefined): number {
  return Math.max(MIN_WIDTH, Math.min(columns || MAX_WIDTH, MAX_WIDTH));
}

/**
 * Breaks text at spaces into lines of at most `width` characters; a longer
 * word keeps a line of its own. Line feeds in the text stay, and what begins
 * with spaces is continued below its first word.
 */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, width));
}

function wrapLine(line: string, width: number): string[] {
  const indent = /^ */.exec(line)?.[0] ?? '';
  const lines: string[] = [];
  let current = indent;
  for (const word of line.split(' ').filter((part) => part !== '')) {
    const isFirst = current === indent;
    if (!isFirst && current.length + 1 + word.length > width) {
      lines.push(current);
      current = indent + word;
    } else {
      current += isFirst ? word : ` ${word}`;
    }
  }
  return [...lines, current];
}

/** Puts `first` before the first line and as many spaces before the others. */
export function hang(first: string, lines: readonly string[]): string[] {
  const rest = ' '.repeat(first.length);
  return lines.map((line, index) => (index === 0 ? first + line : rest + line).trimEnd());
}

/** Cuts each line of a table to `width`; what is lost shows as an ellipsis. */
export function cutLines(text: string, width: number): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line));
}
