import { onOneLine } from '../../../core/text/printable.js';
import { type Html, html } from '../../../edge/http/html.js';
import type { Assessment, Clue, Diagnosis, ProposedFix } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import { dateText, isoText } from './figures.js';
import { memoryPart } from './html/memory-part.js';
import { blockRuler } from './html/plots.js';
import { ratesPart } from './html/rates-part.js';
import { routingPart } from './html/routing-part.js';
import { STYLE } from './html/style.js';
import { table } from './html/table.js';
import type { ReportOptions } from './report-options.js';
import { placeText, rawText, shownDiff } from './safe-text.js';
import { sourceDetail, sourceName } from './sentences.js';
import { settingRows } from './setting-rows.js';
import { sizeRows } from './size-rows.js';
import { CONFIDENCES, DISTURBANCES, STATUSES, VERDICTS } from './words.js';

/** Nothing is loaded from anywhere and nothing runs, whatever a foreign log has in it. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const TONES: Readonly<Record<Diagnosis['verdict'], string>> = {
  healthy: 'good',
  findings: 'bad',
  unknown: 'warn',
};

const FIRST_CLUES = 3;

/** One page that needs nothing but itself. */
export function htmlReport(
  diagnosis: Diagnosis,
  evidence: Evidence,
  { version, generatedAtMs }: ReportOptions,
): string {
  const headline = onOneLine(diagnosis.headline);
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
<div class="product"><span>kv-accord doctor ${version}</span><time datetime="${isoText(generatedAtMs)}">${dateText(generatedAtMs)}</time></div>
${verdictPart(diagnosis)}
</header>
<main>
<div class="grid">
${columns(diagnosis, evidence)}
</div>
${ratesPart(evidence)}
${causesPart(diagnosis)}
${unknownsPart(diagnosis)}
${sourcesPart(evidence)}
${settingsPart(evidence)}
</main>
<footer>Read-only: nothing was changed, restarted or deployed. Proposed changes are for a person to apply.</footer>
</body>
</html>
`;
  return page.text;
}

/** Our own words, in which nothing foreign is; escaped quotes would break them. */
function ownStyle(): Html {
  // A template without parts is HTML as it stands.
  return html(Object.assign([STYLE], { raw: [STYLE] }));
}

/** Two columns of about the same height. */
function columns(diagnosis: Diagnosis, evidence: Evidence): readonly Html[] {
  const advice = advicePart(diagnosis);
  const sizes = sizesPart(evidence);
  const routing = routingPart(diagnosis.routing);
  const memory = memoryPart(diagnosis.memory, evidence);
  const because = becausePart(diagnosis);
  const [left, right] =
    because === undefined
      ? [
          [advice, routing],
          [sizes, memory],
        ]
      : [
          [advice, because],
          [sizes, routing, memory],
        ];
  return [html`<div class="column">${left}</div>`, html`<div class="column">${right}</div>`];
}

function verdictPart({ verdict, headline, assessments }: Diagnosis): Html {
  const [first, ...others] = assessments;
  const confidence =
    verdict === 'findings' && first !== undefined
      ? html` <span class="pill">${CONFIDENCES[first.confidence]}</span>`
      : '';
  const also =
    others.length === 0
      ? ''
      : html`<p class="faint">Also: ${others.map(({ cause, confidence: other }) => `${cause} (${other})`).join(', ')}</p>`;
  return html`<div class="verdict ${TONES[verdict]}"><span class="badge">${VERDICTS[verdict]}</span>${confidence}
<h1>${onOneLine(headline)}</h1>${also}</div>`;
}

function advicePart({ advice, assessments }: Diagnosis): Html {
  const fix = assessments[0]?.fixes[0];
  return html`<section><h2>Do this</h2><p class="advice">${onOneLine(advice)}</p>
${fix === undefined ? '' : fixBody(fix)}</section>`;
}

function fixBody(fix: ProposedFix): Html {
  return html`<p>${onOneLine(fix.why)} <span class="pill">${DISTURBANCES[fix.disturbs]}</span></p>
${fix.files.map((file) => diffBlock(shownDiff(file)))}${lines('To do it', fix.commands)}${lines('To see that it is cured', fix.verify)}`;
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
  return html`<h3>${heading}</h3><pre class="commands">${texts.map((text) => html`<span class="row">${onOneLine(text)}</span>`)}</pre>`;
}

function becausePart({ assessments }: Diagnosis): Html | undefined {
  const clues = (assessments[0]?.cluesFor ?? []).slice(0, FIRST_CLUES);
  return clues.length === 0 ? undefined : html`<section><h2>Because</h2>${clueList(clues, '')}</section>`;
}

function clueList(clues: readonly Clue[], tone: string): Html {
  return html`<ul class="clues ${tone}">${clues.map(({ says, origin }) => {
    const raw = origin === undefined ? '' : rawText(origin);
    return html`<li>${onOneLine(says)}${origin === undefined ? '' : html` <span class="place">${placeText(origin)}</span>`}${raw === '' ? '' : html`<code class="raw">${raw}</code>`}</li>`;
  })}</ul>`;
}

function sizesPart(evidence: Evidence): Html {
  const rows = sizeRows(evidence);
  if (rows.length === 0) return html``;
  return html`<section><h2>Block sizes</h2><figure>${blockRuler(rows)}</figure>${table(
    ['Side', 'Who', '#Tokens', 'How known', 'From'],
    rows.map(({ side, who, tokensPerBlock, how, from }) => [side, who, String(tokensPerBlock), how, from]),
  )}</section>`;
}

function causesPart({ assessments }: Diagnosis): Html {
  if (assessments.length === 0) return html``;
  return html`<section><h2>Causes in full</h2>${assessments.map(causePart)}</section>`;
}

function causePart(assessment: Assessment): Html {
  const { cause, confidence, headline, explanation, cluesFor, cluesAgainst, fixes } = assessment;
  const against =
    cluesAgainst.length === 0 ? '' : html`<h3>Speaks against it</h3>${clueList(cluesAgainst, 'against')}`;
  return html`<details class="cause"><summary>${onOneLine(headline)} <span class="pill">${cause}, ${confidence}</span></summary>
<p>${onOneLine(explanation)}</p>
${cluesFor.length === 0 ? '' : html`<h3>Speaks for it</h3>${clueList(cluesFor, '')}`}${against}
${fixes.map((fix, index) => html`<h3>Fix ${index + 1}: ${onOneLine(fix.says)}</h3>${fixBody(fix)}`)}</details>`;
}

function unknownsPart({ unknowns }: Diagnosis): Html {
  if (unknowns.length === 0) return html``;
  return html`<section><h2>What could not be told</h2><ul>${unknowns.map((unknown) => html`<li>${onOneLine(unknown)}</li>`)}</ul></section>`;
}

function sourcesPart({ sources }: Evidence): Html {
  return html`<section><h2>What was read</h2>${table(
    ['Source', 'Kind', 'Status', 'What it gave, or why not'],
    sources.map((source) => [sourceName(source), source.kind, STATUSES[source.status], sourceDetail(source)]),
  )}</section>`;
}

function settingsPart(evidence: Evidence): Html {
  const rows = settingRows(evidence);
  if (rows.length === 0) return html``;
  return html`<section><h2>Settings that were seen</h2>${table(
    ['Side', 'Who', 'Setting', 'Value', 'From'],
    rows.map(({ side, who, name, value, from }) => [side, who, name, value, from]),
  )}</section>`;
}
