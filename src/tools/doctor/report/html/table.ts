import { type Html, html } from '../../../../edge/http/html.js';
import { countOf } from '../figures.js';
import type { Table } from '../table.js';

/** Rows of one table; the JSON report has them all. */
const MAX_ROWS = 500;

/** A table, with numbers aligned to the right. */
export function table({ columns, rows }: Table): Html {
  const classes = columns.map(({ isNumber }) => (isNumber ? 'number' : ''));
  const more = rows.length - MAX_ROWS;
  return html`<div class="scroll"><table><thead><tr>${columns.map(({ title }, index) => html`<th scope="col" class="${classes[index] ?? ''}">${title}</th>`)}</tr></thead><tbody>
${rows.slice(0, MAX_ROWS).map((row) => html`<tr>${row.map((cell, index) => html`<td class="${classes[index] ?? ''}">${cell}</td>`)}</tr>\n`)}</tbody></table></div>${more > 0 ? html`<p class="faint">and ${countOf(more, 'more row')}; the JSON report has them all</p>` : ''}`;
}
