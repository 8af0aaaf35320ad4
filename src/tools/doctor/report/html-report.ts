import { type Html, html } from '../../../edge/http/html.js';
import type { CauseSection, ReportDocument, ShownClue, ShownFix } from './document.js';
import { memoryPart } from './html/memory-part.js';
import { blockRuler } from './html/plots.js';
import { ratesPart } from './html/rates-part.js';
import { routingPart } from './html/routing-part.js';
import { STYLE } from './html/style.js';
import { table } from './html/table.js';
import type { Table } from './table.js';

/** Nothing is loaded from anywhere and nothing runs, whatever a foreign log has in it. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const TONES: Readonly<Record<ReportDocument['verdict'], string>> = {
  healthy: 'good',
  findings: 'bad',
  unknown: 'warn',
};

const FIRST_CLUES = 3;

/** One page that needs nothing but itself. */
export function htmlReport(report: ReportDocument): string {
  const { headline, version, date, isoDate, rates, causes, unknowns, sources, settings } = report;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="${CONTENT_SECURITY_POLICY}"/>
<meta name="referrer" content="no-referrer"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>kv-accord doctor: ${headline}</title>
<style>${ownStyle()}</style>
</head>
<body>
<header>
<div class="product"><span>kv-accord doctor ${version}</span><time datetime="${isoDate}">${date}</time></div>
${verdictPart(report)}
</header>
<main>
<div class="grid">
${columns(report)}
</div>
${ratesPart(rates)}
${section('Causes in full', causes, (all) => all.map(causePart))}
${section('Options for memory, the one that brings most first', report.options, (all) =>
  all.map((fix, index) => html`<h3>Option ${index + 1}: ${fix.says}</h3>${fixBody(fix)}`),
)}
${tableSection('Questions', report.checks)}
${section('What could not be determined', unknowns, (all) => html`<ul>${all.map((unknown) => html`<li>${unknown}</li>`)}</ul>`)}
<section><h2>Sources</h2>${table(sources)}</section>
${tableSection('Settings', settings)}
</main>
<footer>Read-only: nothing was changed, restarted or deployed. Proposed changes are for a person to apply.</footer>
</body>
</html>
`;
  return page.text;
}

/** The style of this program, in which nothing foreign is; escaped quotes would break it. */
function ownStyle(): Html {
  // A template without parts is HTML as it stands.
  return html(Object.assign([STYLE], { raw: [STYLE] }));
}

function section<T>(
  title: string,
  items: readonly T[],
  body: (items: readonly T[]) => Html | readonly Html[],
): Html {
  return items.length === 0 ? html`` : html`<section><h2>${title}</h2>${body(items)}</section>`;
}

function tableSection(title: string, rows: Table): Html {
  return section(title, rows.rows, () => table(rows));
}

/** Two columns of about the same height. */
function columns(report: ReportDocument): readonly Html[] {
  const { sizes, sizeRows, routing, memory, causes } = report;
  const clues = (causes[0]?.cluesFor ?? []).slice(0, FIRST_CLUES);
  const advice = advicePart(report);
  const because = section('Because', clues, (all) => clueList(all, ''));
  const sizePart = section(
    'Block sizes',
    sizes.rows,
    () => html`<figure>${blockRuler(sizeRows)}</figure>${table(sizes)}`,
  );
  const routingHtml = routingPart(routing);
  const memoryHtml = memoryPart(memory);
  const [left, right] =
    clues.length === 0
      ? [
          [advice, routingHtml],
          [sizePart, memoryHtml],
        ]
      : [
          [advice, because],
          [sizePart, routingHtml, memoryHtml],
        ];
  return [html`<div class="column">${left}</div>`, html`<div class="column">${right}</div>`];
}

function verdictPart({ verdict, verdictText, headline, confidence, causes }: ReportDocument): Html {
  const pill = confidence === undefined ? '' : html` <span class="pill">${confidence.text}</span>`;
  const others = causes.slice(1).map((cause) => cause.label);
  const also = others.length === 0 ? '' : html`<p class="faint">Also: ${others.join(', ')}</p>`;
  return html`<div class="verdict ${TONES[verdict]}"><span class="badge">${verdictText}</span>${pill}
<h1>${headline}</h1>${also}</div>`;
}

function advicePart({ advice, causes }: ReportDocument): Html {
  const fix = causes[0]?.fixes[0];
  return html`<section><h2>Do this</h2><p class="advice">${advice}</p>
${fix === undefined ? '' : fixBody(fix)}</section>`;
}

function fixBody({ why, effect, files, commands, verify }: ShownFix): Html {
  return html`<p>${why} <span class="pill">${effect}</span></p>
${files.map(({ diff }) => diffBlock(diff))}${lines('To do it', commands)}${lines('To check that it is fixed', verify)}`;
}

function diffBlock(diff: string): Html {
  if (diff === '') return html``;
  return html`<pre>${diff.split('\n').map((row) => html`<span class="row ${rowTone(row)}">${row}</span>`)}</pre>`;
}

function rowTone(row: string): string {
  if (/^(?:---|\+\+\+|@@)/.test(row)) return 'hunk';
  if (row.startsWith('+')) return 'plus';
  return row.startsWith('-') ? 'minus' : '';
}

function lines(heading: string, texts: readonly string[]): Html {
  if (texts.length === 0) return html``;
  return html`<h3>${heading}</h3><pre class="commands">${texts.map((text) => html`<span class="row">${text}</span>`)}</pre>`;
}

function clueList(clues: readonly ShownClue[], tone: string): Html {
  return html`<ul class="clues ${tone}">${clues.map(
    ({ says, place, raw }) =>
      html`<li>${says}${place === '' ? '' : html` <span class="place">${place}</span>`}${raw === '' ? '' : html`<code class="raw">${raw}</code>`}</li>`,
  )}</ul>`;
}

function causePart(cause: CauseSection): Html {
  const { id, confidence, headline, explanation, cluesFor, cluesAgainst, fixes } = cause;
  const clues = (heading: string, all: readonly ShownClue[], tone: string): Html | string =>
    all.length === 0 ? '' : html`<h3>${heading}</h3>${clueList(all, tone)}`;
  return html`<details class="cause"><summary>${headline} <span class="pill">${id}, ${confidence}</span></summary>
<p>${explanation}</p>
${clues('Evidence for it', cluesFor, '')}${clues('Evidence against it', cluesAgainst, 'against')}
${fixes.map((fix, index) => html`<h3>Fix ${index + 1}: ${fix.says}</h3>${fixBody(fix)}`)}</details>`;
}
