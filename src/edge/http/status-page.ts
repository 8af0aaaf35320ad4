import { andMore } from '../../core/text/lists.js';
import type { HttpAnswer } from './answer.js';
import { type Html, html } from './html.js';

/** How good something is. */
export type Tone = 'good' | 'warn' | 'bad' | 'plain';

/** A cell of a table. */
export type Cell = string | { readonly text: string; readonly tone: Tone };

export interface StatusTable {
  readonly title: string;
  /** One sentence about all rows, such as counts by state. */
  readonly note?: string;
  readonly columns: readonly string[];
  /** In the order in which a person should see them. */
  readonly rows: readonly (readonly Cell[])[];
}

/** What the status page shows. All of it is text; nothing in it is taken for HTML. */
export interface StatusContent {
  /** `kv-accord aggregator`. */
  readonly title: string;
  /** The one sentence that a person came for: `Gate open: 4 workers agree on 32 tokens per block`. */
  readonly headline: { readonly text: string; readonly tone: Tone };
  /** Single values: name and text. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly tables: readonly StatusTable[];
}

/** Rows of one table, which come worst first; what is more is counted. The API has them all. */
const MAX_ROWS = 500;
/** Characters of one cell. */
const MAX_CELL_LENGTH = 500;
/** The page asks again by itself: often enough to watch a roll-out, seldom enough to be no load. */
const REFRESH_SECONDS = 5;

/** Nothing is loaded from anywhere and nothing runs: the page is one file, readable in an offline cluster. */
const CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** Renders the status page. */
export function renderStatusPage(content: StatusContent): HttpAnswer {
  const { title, headline, facts, tables } = content;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}">
<title>${title}</title>
<style>
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --warn: #9a6700; --bad: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --warn: #d29922; --bad: #f85149; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.1rem; } h2 { font-size: 1rem; margin-top: 2rem; }
.headline { border-left: .4rem solid; font-size: 1.2rem; padding: .4rem .8rem; white-space: pre-line; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { border-bottom: 1px solid var(--line); padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top; }
td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; } footer { margin-top: 2rem; opacity: .7; }
</style>
</head>
<body>
<h1>${title}</h1>
<p class="headline ${headline.tone}" role="status">${headline.text}</p>
<table>${facts.map(([name, value]) => html`<tr><th scope="row">${cut(name)}</th><td>${cut(value)}</td></tr>`)}</table>
${tables.map(renderTable)}
<footer><a href="/readyz?verbose">readyz</a> · <a href="/metrics">metrics</a> · <a href="/api/v1/openapi.json">API</a> · this page asks again every ${REFRESH_SECONDS} s</footer>
</body>
</html>
`;
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: page.text,
    headers: { 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' },
  };
}

function renderTable({ title, note = '', columns, rows }: StatusTable): Html {
  const more = andMore(rows.length - MAX_ROWS).trimStart();
  return html`<h2>${title} (${rows.length})</h2>
${note === '' ? '' : html`<p>${note}</p>`}
<div class="scroll"><table>
<tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr>
${rows.slice(0, MAX_ROWS).map((row) => html`<tr>${row.map(renderCell)}</tr>\n`)}</table></div>
${more !== '' ? html`<p>${more}; the API has them all</p>` : ''}`;
}

function renderCell(cell: Cell): Html {
  if (typeof cell === 'string') return html`<td>${cut(cell)}</td>`;
  return html`<td class="${cell.tone}">${cut(cell.text)}</td>`;
}

function cut(text: string): string {
  return text.length > MAX_CELL_LENGTH ? `${text.slice(0, MAX_CELL_LENGTH)}…` : text;
}
