import { onOneLine } from '../../../core/text/printable.js';
import { plainTable, pushRow } from '../../../edge/platform/plain-table.js';
import type { Assessment, Clue, Diagnosis, ProposedFix } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import type { MemoryArithmetic } from '../memory/memory-arithmetic.js';
import { amountText, countText, dateText } from './figures.js';
import { CONFIDENCES, DISTURBANCES, STATUSES } from './labels.js';
import { rateRows } from './rate-rows.js';
import type { ReportOptions } from './report-options.js';
import { placeText, rawText, shownDiff } from './safe-text.js';
import { sourceDetail, sourceName } from './sentences.js';
import { sparkline } from './series.js';
import { settingRows } from './setting-rows.js';
import { sizeRows } from './size-rows.js';
import type { Ink, TerminalText } from './terminal-text.js';

/** Everything behind the first screen. */
export function writeDetails(
  out: TerminalText,
  diagnosis: Diagnosis,
  evidence: Evidence,
  { version, generatedAtMs }: ReportOptions,
): void {
  diagnosis.assessments.forEach((assessment, index) => {
    title(out, `Cause ${index + 1}: ${assessment.cause}`);
    writeAssessment(out, assessment);
  });
  for (const memory of diagnosis.memory) {
    title(out, memory.who === '' ? 'Memory' : `Memory of ${onOneLine(memory.who)}`);
    writeArithmetic(out, memory);
  }
  const { routing } = diagnosis;
  if (routing !== undefined && routing.decisionsByWorker.size > 0) {
    title(out, 'Decisions by worker');
    const rows = [...routing.decisionsByWorker].map(([worker, count]) => [
      worker === '' ? 'others' : worker,
      countText(count),
    ]);
    writeTable(out, ['WORKER', 'DECISIONS'], rows);
  }
  writeRates(out, evidence);
  const sizes = sizeRows(evidence);
  if (sizes.length > 0) {
    title(out, 'Block sizes');
    writeTable(
      out,
      ['SIDE', 'WHO', 'TOKENS/BLOCK', 'HOW KNOWN', 'FROM'],
      sizes.map(({ side, who, tokensPerBlock, how, from }) => [side, who, String(tokensPerBlock), how, from]),
    );
  }
  const settings = settingRows(evidence);
  if (settings.length > 0) {
    title(out, 'Settings');
    writeTable(
      out,
      ['SIDE', 'WHO', 'SETTING', 'VALUE', 'FROM'],
      settings.map(({ side, who, name, value, from }) => [side, who, name, value, from]),
    );
  }
  title(out, 'Sources');
  writeTable(
    out,
    ['SOURCE', 'KIND', 'STATUS', 'DETAIL'],
    evidence.sources.map((source) => [
      sourceName(source),
      source.kind,
      STATUSES[source.status],
      sourceDetail(source),
    ]),
  );
  if (diagnosis.unknowns.length > 0) {
    title(out, 'What could not be told');
    for (const unknown of diagnosis.unknowns) out.paragraph('  - ', onOneLine(unknown));
  }
  out.gap();
  out.raw(`kv-accord ${onOneLine(version)}, ${dateText(generatedAtMs)}`, 'dim');
}

function writeAssessment(out: TerminalText, assessment: Assessment): void {
  out.paragraph('', onOneLine(assessment.headline), { ink: 'bold' });
  out.paragraph('Confidence: ', CONFIDENCES[assessment.confidence]);
  out.gap();
  out.paragraph('', onOneLine(assessment.explanation));
  writeClues(out, 'Speaks for it', '  + ', assessment.cluesFor, 'green');
  writeClues(out, 'Speaks against it', '  - ', assessment.cluesAgainst, 'red');
  assessment.fixes.forEach((fix, index) => {
    writeFix(out, `Fix ${index + 1}: `, fix);
  });
}

function writeClues(
  out: TerminalText,
  heading: string,
  lead: string,
  clues: readonly Clue[],
  leadInk: Ink,
): void {
  if (clues.length === 0) return;
  out.gap();
  out.raw(heading, 'bold');
  for (const { says, origin } of clues) {
    out.paragraph(lead, onOneLine(says), { leadInk });
    if (origin === undefined) continue;
    out.paragraph('      ', placeText(origin), { ink: 'cyan' });
    const raw = rawText(origin);
    if (raw !== '') out.paragraph('      | ', raw, { leadInk: 'dim', ink: 'dim' });
  }
}

function writeFix(out: TerminalText, lead: string, fix: ProposedFix): void {
  out.gap();
  out.paragraph(lead, onOneLine(fix.says), { leadInk: 'bold', ink: 'bold' });
  out.paragraph('  ', `${onOneLine(fix.why)} It ${DISTURBANCES[fix.disturbs]}.`);
  for (const file of fix.files) {
    const diff = shownDiff(file);
    if (diff === '') continue;
    out.gap();
    for (const row of diff.split('\n')) out.raw(`  ${row}`, inkOf(row));
  }
  writeCommands(out, '  To do it:', fix.commands, '  $ ');
  writeCommands(out, '  To see that it is cured:', fix.verify, '  - ');
}

function writeCommands(out: TerminalText, heading: string, commands: readonly string[], lead: string): void {
  if (commands.length === 0) return;
  out.gap();
  out.raw(heading);
  for (const command of commands) out.raw(`${lead}${onOneLine(command)}`, 'cyan');
}

/** What colour a line of a diff has. */
function inkOf(row: string): Ink | undefined {
  if (/^(?:---|\+\+\+|@@)/.test(row)) return 'dim';
  if (row.startsWith('+')) return 'green';
  return row.startsWith('-') ? 'red' : undefined;
}

function writeArithmetic(out: TerminalText, { steps }: MemoryArithmetic): void {
  for (const { says, expression, value, unit, origins } of steps) {
    out.paragraph('  ', onOneLine(says));
    out.paragraph('      ', `${onOneLine(expression)} = ${amountText(value, unit)}`, { ink: 'bold' });
    const places = [...new Set(origins.map(placeText))];
    if (places.length > 0) out.paragraph('      from ', places.join(', '), { ink: 'dim', leadInk: 'dim' });
  }
}

function writeRates(out: TerminalText, { logs }: Evidence): void {
  const rows = rateRows(logs);
  if (rows.length === 0) return;
  title(out, 'Over time');
  const nameChars = Math.max(...rows.map(({ what }) => what.length));
  const countChars = Math.max(...rows.map(({ total }) => countText(total).length));
  let log: string | undefined;
  for (const row of rows) {
    if (row.log !== log)
      out.paragraph('', `${row.log}${row.span === '' ? '' : `, ${row.span}`}`, { ink: 'cyan' });
    log = row.log;
    const room = Math.max(10, out.columns - nameChars - countChars - 8);
    const lead = `  ${row.what.padEnd(nameChars)}  ${countText(row.total).padStart(countChars)}  `;
    out.raw(`${lead}${sparkline(row.series.counts, room)}`);
  }
}

function writeTable(out: TerminalText, head: string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) {
    out.raw('none');
    return;
  }
  const table = plainTable(head);
  for (const row of rows) pushRow(table, row);
  const [top = '', ...others] = table.toString().split('\n');
  out.raw(top, 'dim');
  for (const other of others) out.raw(other);
}

function title(out: TerminalText, text: string): void {
  out.gap();
  out.raw(`── ${text} ${'─'.repeat(Math.max(3, out.columns - text.length - 4))}`, 'bold');
}
