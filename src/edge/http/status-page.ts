import { andMore } from '../../core/text/lists.js';
import type { HttpAnswer } from './answer.js';
import { type Html, html, verbatim } from './html.js';
import { PAGE_STYLE, PAGE_STYLE_HASH } from './page-style.js';

/** How good something is. */
export type Tone = 'good' | 'warn' | 'bad' | 'plain';

/** A cell of a table. */
export type Cell = string | { readonly text: string; readonly tone: Tone };

/** A table of the status page. */
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

/** It is no data. */
const STYLE = verbatim(PAGE_STYLE);

/** Apart, because the build would make a function of another package of a template that has it. */
const SCRIPT_END = verbatim('</script>');

/** Who frames it, what it may be based on and where its forms go: nobody and nowhere. */
const CLOSED_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/** Nothing is loaded and nothing runs: the page is one file, readable in an offline cluster. */
const PLAIN_POLICY = `${CLOSED_POLICY}; style-src ${PAGE_STYLE_HASH}`;
/** The web app comes from this server and asks this server alone. */
const APP_POLICY = `${CLOSED_POLICY}; style-src ${PAGE_STYLE_HASH} 'self'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`;

/** Where the web app that takes the page over comes from. */
export interface PageApp {
  /** Relative to the page. */
  readonly script: string;
  readonly style: string;
}

/** Renders the status page; with a web app, which takes it over where scripts run. */
export function renderStatusPage(content: StatusContent, app?: PageApp): HttpAnswer {
  const { title, headline, facts, tables } = content;
  const body = html`<main class="plain" id="plain">
<h1>${title}</h1>
<p class="headline ${headline.tone}" role="status">${headline.text}</p>
<div class="scroll"><table>${facts.map(([name, value]) => html`<tr><th scope="row">${cut(name)}</th><td>${cut(value)}</td></tr>`)}</table></div>
${tables.map(renderTable)}
<footer><a href="readyz?verbose">readyz</a> · <a href="metrics">metrics</a> · <a href="api/v1/openapi.json">API</a> · without scripts this page asks again every ${REFRESH_SECONDS} s</footer>
</main>`;
  return pageOf(200, title, body, { app, isRefreshed: true });
}

/** The page for a caller who may see nothing yet: the reason, and the web app, which can send a token. */
export function renderSignIn(title: string, problem: string, app: PageApp): HttpAnswer {
  const body = html`<main class="plain" id="plain" data-sign-in="${problem}">
<h1>${title}</h1>
<p class="headline warn" role="status">${problem}</p>
<p>With scripts this page asks for a token. Without: <code>curl -H 'authorization: Bearer TOKEN'</code>.</p>
</main>`;
  const page = pageOf(401, title, body, { app, isRefreshed: false });
  return { ...page, headers: { ...page.headers, 'www-authenticate': 'Bearer' } };
}

function pageOf(
  status: number,
  title: string,
  body: Html,
  { app, isRefreshed }: { readonly app: PageApp | undefined; readonly isRefreshed: boolean },
): HttpAnswer {
  const refresh = html`<meta http-equiv="refresh" content="${REFRESH_SECONDS}">`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${isRefreshed ? (app === undefined ? refresh : html`<noscript>${refresh}</noscript>`) : ''}
<title>${title}</title>
<style>${STYLE}</style>
${app === undefined ? '' : html`<link rel="stylesheet" href="${app.style}"><script type="module" src="${app.script}">${SCRIPT_END}`}
</head>
<body>
${body}
</body>
</html>
`;
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    body: page.text,
    headers: {
      'content-security-policy': app === undefined ? PLAIN_POLICY : APP_POLICY,
      'referrer-policy': 'no-referrer',
    },
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
