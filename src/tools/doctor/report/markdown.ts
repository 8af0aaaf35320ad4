import { onOneLine } from '../../../core/text/printable.js';
import type { Table } from './table.js';

/** Signs that mean something somewhere in Markdown, or in the HTML that it allows. */
const MEANINGFUL = /[\\`*_{}[\]<>|~&#!]/g;
/** What makes a list, a heading or a rule at the beginning of a line. */
const LEADING = /^(?:[-+=]|\d{1,9}[.)])/;
/** What forges turn into links by themselves: no ticket shall mention people or link anywhere because a log says so. */
const AUTOMATIC = /(@(?=\w)|:(?=\/\/)|\bwww(?=\.))/gi;

/** Foreign text as text. */
export function escaped(text: string): string {
  return onOneLine(text)
    .replace(MEANINGFUL, '\\$&')
    .replace(AUTOMATIC, '$1\u200b')
    .replace(LEADING, (lead) => (/^\d/.test(lead) ? `${lead.slice(0, -1)}\\${lead.slice(-1)}` : `\\${lead}`));
}

/** Text as it is, in a fence that nothing in it can end. */
export function fenced(language: string, text: string): string {
  if (text === '') return '';
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text}\n${fence}`;
}

/** The same within a line. */
export function code(text: string): string {
  const line = onOneLine(text);
  if (line === '') return '';
  const fence = '`'.repeat(longestRun(line) + 1);
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}

/** A list with a line for each item. */
export function bulletList(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}

/** A table; empty without rows. */
export function markdownTable({ columns, rows }: Table): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const titles = columns.map(({ title }) => title);
  return [line(titles), line(titles.map(() => '---')), ...rows.map((row) => line(row.map(escaped)))].join(
    '\n',
  );
}
