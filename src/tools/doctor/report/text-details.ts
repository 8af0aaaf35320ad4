import { onOneLine } from '../../../core/text/printable.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import type { Assessment, Clue, Diagnosis, ProposedFix } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import type { MemoryArithmetic } from '../memory/memory-arithmetic.js';
import { amountText, countText, dateText } from './figures.js';
import type { Ink, Paper } from './paper.js';
import { rateRows } from './rate-rows.js';
import type { ReportOptions } from './report-options.js';
import { placeText, rawText, shownDiff } from './safe-text.js';
import { sourceDetail, sourceName } from './sentences.js';
import { sparkline } from './series.js';
import { settingRows } from './setting-rows.js';
import { sizeRows } from './size-rows.js';
import { CONFIDENCES, DISTURBANCES, STATUSES } from './words.js';

/** Everything behind the first screen. */
export function writeDetails(
  paper: Paper,
  diagnosis: Diagnosis,
  evidence: Evidence,
  { version, generatedAtMs }: ReportOptions,
): void {
  diagnosis.assessments.forEach((assessment, index) => {
    title(paper, `Cause ${index + 1}: ${assessment.cause}`);
    writeAssessment(paper, assessment);
  });
  for (const memory of diagnosis.memory) {
    title(paper, memory.who === '' ? 'Memory' : `Memory of ${onOneLine(memory.who)}`);
    writeArithmetic(paper, memory);
  }
  const { routing } = diagnosis;
  if (routing !== undefined && routing.decisionsByWorker.size > 0) {
    title(paper, 'Decisions by worker');
    const rows = [...routing.decisionsByWorker].map(([worker, count]) => [
      worker === '' ? 'others' : worker,
      countText(count),
    ]);
    writeTable(paper, ['WORKER', 'DECISIONS'], rows);
  }
  writeRates(paper, evidence);
  const sizes = sizeRows(evidence);
  if (sizes.length > 0) {
    title(paper, 'Block sizes');
    writeTable(
      paper,
      ['SIDE', 'WHO', 'TOKENS/BLOCK', 'HOW KNOWN', 'FROM'],
      sizes.map(({ side, who, tokensPerBlock, how, from }) => [side, who, String(tokensPerBlock), how, from]),
    );
  }
  const settings = settingRows(evidence);
  if (settings.length > 0) {
    title(paper, 'Settings');
    writeTable(
      paper,
      ['SIDE', 'WHO', 'SETTING', 'VALUE', 'FROM'],
      settings.map(({ side, who, name, value, from }) => [side, who, name, value, from]),
    );
  }
  title(paper, 'Sources');
  writeTable(
    paper,
    ['SOURCE', 'KIND', 'STATUS', 'DETAIL'],
    evidence.sources.map((source) => [
      sourceName(source),
      source.kind,
      STATUSES[source.status],
      sourceDetail(source),
    ]),
  );
  if (diagnosis.unknowns.length > 0) {
    title(paper, 'What could not be told');
    for (const unknown of diagnosis.unknowns) paper.paragraph('  - ', onOneLine(unknown));
  }
  paper.gap();
  paper.raw(`kv-accord ${onOneLine(version)}, ${dateText(generatedAtMs)}`, 'dim');
}

function writeAssessment(paper: Paper, assessment: Assessment): void {
  paper.paragraph('', onOneLine(assessment.headline), { ink: 'bold' });
  paper.paragraph('Confidence: ', CONFIDENCES[assessment.confidence]);
  paper.gap();
  paper.paragraph('', onOneLine(assessment.explanation));
  writeClues(paper, 'Speaks for it', '  + ', assessment.cluesFor, 'green');
  writeClues(paper, 'Speaks against it', '  - ', assessment.cluesAgainst, 'red');
  assessment.fixes.forEach((fix, index) => {
    writeFix(paper, `Fix ${index + 1}: `, fix);
  });
}

function writeClues(paper: Paper, heading: string, lead: string, clues: readonly Clue[], leadInk: Ink): void {
  if (clues.length === 0) return;
  paper.gap();
  paper.raw(heading, 'bold');
  for (const { says, origin } of clues) {
    paper.paragraph(lead, onOneLine(says), { leadInk });
    if (origin === undefined) continue;
    paper.paragraph('      ', placeText(origin), { ink: 'cyan' });
    const raw = rawText(origin);
    if (raw !== '') paper.paragraph('      | ', raw, { leadInk: 'dim', ink: 'dim' });
  }
}

function writeFix(paper: Paper, lead: string, fix: ProposedFix): void {
  paper.gap();
  paper.paragraph(lead, onOneLine(fix.says), { leadInk: 'bold', ink: 'bold' });
  paper.paragraph('  ', `${onOneLine(fix.why)} It ${DISTURBANCES[fix.disturbs]}.`);
  for (const file of fix.files) {
    const diff = shownDiff(file);
    if (diff === '') continue;
    paper.gap();
    for (const row of diff.split('\n')) paper.raw(`  ${row}`, inkOf(row));
  }
  writeCommands(paper, '  To do it:', fix.commands, '  $ ');
  writeCommands(paper, '  To see that it is cured:', fix.verify, '  - ');
}

function writeCommands(paper: Paper, heading: string, commands: readonly string[], lead: string): void {
  if (commands.length === 0) return;
  paper.gap();
  paper.raw(heading);
  for (const command of commands) paper.raw(`${lead}${onOneLine(command)}`, 'cyan');
}

/** What colour a line of a diff has. */
function inkOf(row: string): Ink | undefined {
  if (/^(?:---|\+\+\+|@@)/.test(row)) return 'dim';
  if (row.startsWith('+')) return 'green';
  return row.startsWith('-') ? 'red' : undefined;
}

function writeArithmetic(paper: Paper, { steps }: MemoryArithmetic): void {
  for (const { says, expression, value, unit, origins } of steps) {
    paper.paragraph('  ', onOneLine(says));
    paper.paragraph('      ', `${onOneLine(expression)} = ${amountText(value, unit)}`, { ink: 'bold' });
    const places = [...new Set(origins.map(placeText))];
    if (places.length > 0) paper.paragraph('      from ', places.join(', '), { ink: 'dim', leadInk: 'dim' });
  }
}

function writeRates(paper: Paper, { logs }: Evidence): void {
  const rows = rateRows(logs);
  if (rows.length === 0) return;
  title(paper, 'Over time');
  const nameChars = Math.max(...rows.map(({ what }) => what.length));
  const countChars = Math.max(...rows.map(({ total }) => countText(total).length));
  let log: string | undefined;
  for (const row of rows) {
    if (row.log !== log)
      paper.paragraph('', `${row.log}${row.span === '' ? '' : `, ${row.span}`}`, { ink: 'cyan' });
    log = row.log;
    const room = Math.max(10, paper.columns - nameChars - countChars - 8);
    const lead = `  ${row.what.padEnd(nameChars)}  ${countText(row.total).padStart(countChars)}  `;
    paper.raw(`${lead}${sparkline(row.series.counts, room)}`);
  }
}

function writeTable(paper: Paper, head: string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) {
    paper.raw('none');
    return;
  }
  const table = plainTable(head);
  for (const row of rows) pushRow(table, row);
  const [top = '', ...others] = table.toString().split('\n');
  paper.raw(top, 'dim');
  for (const other of others) paper.raw(other);
}

function title(paper: Paper, text: string): void {
  paper.gap();
  paper.raw(`── ${text} ${'─'.repeat(Math.max(3, paper.columns - text.length - 4))}`, 'bold');
}
