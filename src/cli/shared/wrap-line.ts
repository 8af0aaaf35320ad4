import { cutToWidth, textWidth } from '../../core/text/text-width.js';

/** Wraps a line at spaces, with the same indent for what follows; a word that is too long is split. */
export function wrapLine(line: string, columns: number): string {
  const indent = /^ */.exec(line)?.[0] ?? '';
  const lines: string[] = [];
  let rest = line;
  while (textWidth(rest) > columns) {
    const most = cutToWidth(rest, columns).length;
    const space = rest.lastIndexOf(' ', most);
    const end = space > indent.length ? space : most;
    lines.push(rest.slice(0, end).trimEnd());
    rest = indent + rest.slice(end).trimStart();
  }
  return [...lines, rest].join('\n');
}
