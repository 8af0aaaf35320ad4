import { onOneLine } from '../../../core/text/printable.js';
import type { Assessment, Clue, Diagnosis, ProposedFix } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import { amountText, countText, dateText } from './figures.js';
import { bulletList, code, escaped, fenced, tableOf } from './markdown.js';
import { rateRows } from './rate-rows.js';
import type { ReportOptions } from './report-options.js';
import { placeText, rawText, shownDiff } from './safe-text.js';
import { memorySentence, routingSentence, sourceDetail, sourceName } from './sentences.js';
import { sparkline } from './series.js';
import { settingRows } from './setting-rows.js';
import { sizeRows } from './size-rows.js';
import { CONFIDENCES, DISTURBANCES, STATUSES, VERDICTS } from './words.js';

/** Characters of a rate in a table. */
const SPARKLINE_CHARS = 48;

/** For tickets: everything, in the Markdown that GitHub, GitLab and Jira's importers take. */
export function markdownReport(
  diagnosis: Diagnosis,
  evidence: Evidence,
  { version, generatedAtMs }: ReportOptions,
): string {
  const [first] = diagnosis.assessments;
  const confidence =
    diagnosis.verdict === 'findings' && first !== undefined
      ? `Confidence: ${CONFIDENCES[first.confidence]}.`
      : '';
  const parts = [
    `# ${VERDICTS[diagnosis.verdict]}: ${escaped(diagnosis.headline)}`,
    confidence,
    `**Do this:** ${escaped(diagnosis.advice)}`,
    section(
      'Block sizes',
      tableOf(
        ['Side', 'Who', 'Tokens per block', 'How known', 'From'],
        sizeRows(evidence).map(({ side, who, tokensPerBlock, how, from }) => [
          side,
          escaped(who),
          String(tokensPerBlock),
          how,
          escaped(from),
        ]),
      ),
    ),
    ...diagnosis.assessments.map(assessmentPart),
    section(
      'Memory',
      diagnosis.memory
        .map((memory) => `${escaped(memorySentence(memory))}\n\n${stepsOf(memory.steps)}`)
        .join('\n\n'),
    ),
    routingPart(diagnosis),
    ratesPart(evidence),
    section(
      'Settings',
      tableOf(
        ['Side', 'Who', 'Setting', 'Value', 'From'],
        settingRows(evidence).map(({ side, who, name, value, from }) => [
          side,
          escaped(who),
          name,
          escaped(value),
          escaped(from),
        ]),
      ),
    ),
    section(
      'Sources',
      tableOf(
        ['Source', 'Kind', 'Status', 'Detail'],
        evidence.sources.map((source) => [
          escaped(sourceName(source)),
          source.kind,
          STATUSES[source.status],
          escaped(sourceDetail(source)),
        ]),
      ),
    ),
    section('What could not be told', bulletList(diagnosis.unknowns.map(escaped))),
    `kv-accord ${escaped(version)}, ${dateText(generatedAtMs)}`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function section(title: string, body: string): string {
  return body === '' ? '' : `## ${title}\n\n${body}`;
}

function assessmentPart(assessment: Assessment, index: number): string {
  const { cause, confidence, headline, explanation, cluesFor, cluesAgainst, fixes } = assessment;
  return [
    `## Cause ${index + 1}: ${escaped(headline)}`,
    `\`${cause}\`, ${CONFIDENCES[confidence]}.`,
    escaped(explanation),
    cluesFor.length === 0 ? '' : `Speaks for it:\n\n${bulletList(cluesFor.map(clueItem))}`,
    cluesAgainst.length === 0 ? '' : `Speaks against it:\n\n${bulletList(cluesAgainst.map(clueItem))}`,
    ...fixes.map(fixPart),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function clueItem({ says, origin }: Clue): string {
  if (origin === undefined) return escaped(says);
  const raw = rawText(origin);
  return `${escaped(says)} ${code(placeText(origin))}${raw === '' ? '' : `  \n  ${code(raw)}`}`;
}

function fixPart(fix: ProposedFix, index: number): string {
  return [
    `### Fix ${index + 1}: ${escaped(fix.says)}`,
    `${escaped(fix.why)} It ${DISTURBANCES[fix.disturbs]}.`,
    ...fix.files.map((file) => fenced('diff', shownDiff(file))),
    fix.commands.length === 0
      ? ''
      : `To do it:\n\n${fenced('sh', fix.commands.map((command) => onOneLine(command)).join('\n'))}`,
    fix.verify.length === 0 ? '' : `To see that it is cured:\n\n${bulletList(fix.verify.map(code))}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function stepsOf(steps: Diagnosis['memory'][number]['steps']): string {
  return tableOf(
    ['Step', 'Arithmetic', 'Result', 'From'],
    steps.map(({ says, expression, value, unit, origins }) => [
      escaped(says),
      escaped(expression),
      amountText(value, unit),
      escaped([...new Set(origins.map(placeText))].join(', ')),
    ]),
  );
}

function routingPart({ routing }: Diagnosis): string {
  if (routing === undefined) return '';
  const workers = tableOf(
    ['Worker', 'Decisions'],
    [...routing.decisionsByWorker].map(([worker, count]) => [
      worker === '' ? 'others' : escaped(worker),
      countText(count),
    ]),
  );
  return section(
    'Routing',
    [escaped(routingSentence(routing)), workers].filter((part) => part !== '').join('\n\n'),
  );
}

function ratesPart({ logs }: Evidence): string {
  return section(
    'Over time',
    tableOf(
      ['Log', 'What', 'Count', 'When', 'Rate'],
      rateRows(logs).map(({ log, what, total, span, series }) => [
        escaped(log),
        what,
        countText(total),
        span,
        sparkline(series.counts, SPARKLINE_CHARS),
      ]),
    ),
  );
}
