import type { CauseSection, ReportDocument, ShownClue, ShownFix } from './document.js';
import { countText } from './figures.js';
import { bulletList, code, escaped, fenced, markdownTable } from './markdown.js';
import { ofWho } from './sentences.js';
import { sparkline } from './series.js';
import { tableOf } from './table.js';

/** Characters of a rate in a table. */
const SPARKLINE_CHARS = 48;

/** For tickets: everything, in the Markdown that GitHub, GitLab and Jira's importers take. */
export function markdownReport(report: ReportDocument): string {
  const { verdictText, headline, advice, confidence, causes, memory, routing, rates } = report;
  return `${joined([
    `# ${verdictText}: ${escaped(headline)}`,
    confidence === undefined ? '' : `Confidence: ${confidence.text}.`,
    `**Do this:** ${escaped(advice)}`,
    section('Block sizes', markdownTable(report.sizes)),
    ...causes.map(causePart),
    section('Options for memory, the one that brings most first', joined(report.options.map(fixPart))),
    section('Questions', joined([report.checksSentence, markdownTable(report.checks)])),
    section('Memory', joined(memory.map(memoryPart))),
    routing === undefined
      ? ''
      : section('Routing', joined([escaped(routing.sentence), markdownTable(routing.byWorkerTable)])),
    section(
      'Over time',
      markdownTable(
        tableOf(
          ['Log', 'What', '#Count', 'When', 'Rate'],
          rates.map(({ log, what, total, span, series }) => [
            log,
            what,
            countText(total),
            span,
            sparkline(series.counts, SPARKLINE_CHARS),
          ]),
        ),
      ),
    ),
    section('Settings', markdownTable(report.settings)),
    section('Sources', markdownTable(report.sources)),
    section('What could not be determined', bulletList(report.unknowns.map(escaped))),
    `kv-accord ${escaped(report.version)}, ${report.date}`,
  ])}\n`;
}

/** Paragraphs, without those that are empty. */
function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

function section(title: string, body: string): string {
  return body === '' ? '' : `## ${title}\n\n${body}`;
}

function causePart(cause: CauseSection, index: number): string {
  const { id, confidenceText, headline, explanation, cluesFor, cluesAgainst, fixes } = cause;
  return joined([
    `## Cause ${index + 1}: ${escaped(headline)}`,
    `\`${id}\`, ${confidenceText}.`,
    escaped(explanation),
    cluesFor.length === 0 ? '' : `Evidence for it:\n\n${bulletList(cluesFor.map(clueItem))}`,
    cluesAgainst.length === 0 ? '' : `Evidence against it:\n\n${bulletList(cluesAgainst.map(clueItem))}`,
    ...fixes.map(fixPart),
  ]);
}

function clueItem({ says, place, raw }: ShownClue): string {
  if (place === '') return escaped(says);
  return `${escaped(says)} ${code(place)}${raw === '' ? '' : `  \n  ${code(raw)}`}`;
}

function fixPart({ says, why, effect, files, commands, verify }: ShownFix, index: number): string {
  return joined([
    `### Fix ${index + 1}: ${escaped(says)}`,
    `${escaped(why)} It ${effect}.`,
    ...files.map(({ diff }) => fenced('diff', diff)),
    commands.length === 0 ? '' : `To do it:\n\n${fenced('sh', commands.join('\n'))}`,
    verify.length === 0 ? '' : `To check that it is fixed:\n\n${bulletList(verify.map(code))}`,
  ]);
}

function memoryPart({ who, sentence, steps }: ReportDocument['memory'][number]): string {
  const arithmetic = tableOf(
    ['Step', 'Arithmetic', 'Result', 'From'],
    steps.map(({ says, expression, result, places }) => [says, expression, result, places]),
  );
  return joined([escaped(ofWho(who, sentence)), markdownTable(arithmetic)]);
}
