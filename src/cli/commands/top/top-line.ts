import { onOneLine } from '../../../core/text/printable.js';
import { cutToWidth, textWidth } from '../../../core/text/text-width.js';
import type { ViewTone } from '../../../core/view/view-document.js';
import { wrapLine } from '../../shared/wrap-line.js';

/** A line of the screen. */
export interface Line {
  readonly text: string;
  readonly tone: ViewTone | 'title';
}

/** A line in as many as it needs, those that follow with the indent of the first and `hang` more. */
export function wrapped({ text, tone }: Line, columns: number, hang = 0): Line[] {
  const indent = /^ */.exec(text)?.[0] ?? '';
  // Wrapped with the indent of those that follow, which the first one then gives back.
  const lines = wrapLine(`${' '.repeat(hang)}${text}`, columns).split('\n');
  return lines.map((line, at) => ({ text: at === 0 ? indent + line.trimStart() : line, tone }));
}

/** SGR codes; what they say is said in words as well. */
const COLOURS: Readonly<Partial<Record<Line['tone'], string>>> = {
  bad: '\u001b[1;31m',
  warn: '\u001b[33m',
  title: '\u001b[1m',
};

const END = '\u001b[0m';

/** A line within a width, on a terminal with colours where those are wanted. Nothing in it steers the terminal. */
export function drawLine({ text, tone }: Line, columns: number, hasColours: boolean): string {
  const line = onOneLineKeepingGaps(text);
  const cut = textWidth(line) <= columns ? line : `${cutToWidth(line, Math.max(0, columns - 1))}…`;
  const colour = hasColours ? COLOURS[tone] : undefined;
  return colour === undefined || cut === '' ? cut : `${colour}${cut}${END}`;
}

/** Columns are set with spaces, which stay. */
function onOneLineKeepingGaps(text: string): string {
  const indent = /^ */.exec(text)?.[0] ?? '';
  return (
    indent +
    text
      .slice(indent.length)
      .split(/( {2,})/)
      .map((part, at) => (at % 2 === 1 ? part : onOneLine(part) + (part.endsWith(' ') ? ' ' : '')))
      .join('')
  ).trimEnd();
}
