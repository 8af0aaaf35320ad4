import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import type { CauseSection, MemorySection, ReportDocument, ShownClue, ShownFix } from './document.js';
import { countText } from './figures.js';
import { sparkline } from './series.js';
import type { Table } from './table.js';
import type { Ink, TerminalText } from './terminal-text.js';

/** Everything behind the first screen. */
export function writeDetails(out: TerminalText, report: ReportDocument): void {
  const { causes, memory, routing, unknowns, version, date } = report;
  causes.forEach((cause, index) => {
    title(out, `Cause ${index + 1}: ${cause.id}`);
    writeCause(out, cause);
  });
  if (report.options.length > 0) {
    title(out, 'Options for memory, the one that brings most first');
    report.options.forEach((fix, index) => {
      writeFix(out, `Option ${index + 1}: `, fix);
    });
  }
  if (report.checks.rows.length > 0) {
    title(out, 'Questions');
    out.paragraph('', `${report.checksSentence}.`);
    for (const [asks = '', answer = '', from = ''] of report.checks.rows) {
      out.paragraph('  ', asks, { ink: 'bold' });
      out.paragraph('      ', answer);
      if (from !== '-') out.paragraph('      from ', from, { ink: 'dim', leadInk: 'dim' });
    }
  }
  for (const one of memory) {
    title(out, one.who === '' ? 'Memory' : `Memory of ${one.who}`);
    writeArithmetic(out, one);
  }
  if (routing !== undefined) writeTable(out, 'Decisions by worker', routing.byWorkerTable);
  writeRates(out, report);
  writeTable(out, 'Block sizes', report.sizes);
  writeTable(out, 'Settings', report.settings);
  writeTable(out, 'Sources', report.sources);
  if (unknowns.length > 0) {
    title(out, 'What could not be determined');
    for (const unknown of unknowns) out.paragraph('  - ', unknown);
  }
  out.gap();
  out.raw(`kv-accord ${version}, ${date}`, 'dim');
}

function writeCause(out: TerminalText, cause: CauseSection): void {
  out.paragraph('', cause.headline, { ink: 'bold' });
  out.paragraph('Confidence: ', cause.confidenceText);
  out.gap();
  out.paragraph('', cause.explanation);
  writeClues(out, 'Evidence for it', '  + ', cause.cluesFor, 'green');
  writeClues(out, 'Evidence against it', '  - ', cause.cluesAgainst, 'red');
  cause.fixes.forEach((fix, index) => {
    writeFix(out, `Fix ${index + 1}: `, fix);
  });
}

function writeClues(
  out: TerminalText,
  heading: string,
  lead: string,
  clues: readonly ShownClue[],
  leadInk: Ink,
): void {
  if (clues.length === 0) return;
  out.gap();
  out.raw(heading, 'bold');
  for (const { says, place, raw } of clues) {
    out.paragraph(lead, says, { leadInk });
    if (place !== '') out.paragraph('      ', place, { ink: 'cyan' });
    if (raw !== '') out.paragraph('      | ', raw, { leadInk: 'dim', ink: 'dim' });
  }
}

function writeFix(
  out: TerminalText,
  lead: string,
  { says, why, effect, files, commands, verify }: ShownFix,
): void {
  out.gap();
  out.paragraph(lead, says, { leadInk: 'bold', ink: 'bold' });
  out.paragraph('  ', `${why} It ${effect}.`);
  for (const { diff } of files) {
    if (diff === '') continue;
    out.gap();
    for (const row of diff.split('\n')) out.raw(`  ${row}`, inkOf(row));
  }
  writeCommands(out, '  To do it:', commands, '  $ ');
  writeCommands(out, '  To check that it is fixed:', verify, '  - ');
}

function writeCommands(out: TerminalText, heading: string, commands: readonly string[], lead: string): void {
  if (commands.length === 0) return;
  out.gap();
  out.raw(heading);
  for (const command of commands) out.raw(`${lead}${command}`, 'cyan');
}

/** What colour a line of a diff has. */
function inkOf(row: string): Ink | undefined {
  if (/^(?:---|\+\+\+|@@)/.test(row)) return 'dim';
  if (row.startsWith('+')) return 'green';
  return row.startsWith('-') ? 'red' : undefined;
}

function writeArithmetic(out: TerminalText, { steps }: MemorySection): void {
  for (const { says, expression, result, places } of steps) {
    out.paragraph('  ', says);
    out.paragraph('      ', `${expression} = ${result}`, { ink: 'bold' });
    if (places !== '') out.paragraph('      from ', places, { ink: 'dim', leadInk: 'dim' });
  }
}

function writeRates(out: TerminalText, { rates }: ReportDocument): void {
  if (rates.length === 0) return;
  title(out, 'Over time');
  const nameChars = Math.max(...rates.map(({ what }) => what.length));
  const countChars = Math.max(...rates.map(({ total }) => countText(total).length));
  const room = Math.max(10, out.columns - nameChars - countChars - 8);
  let last: string | undefined;
  for (const { log, what, total, span, series } of rates) {
    if (log !== last) out.paragraph('', `${log}${span === '' ? '' : `, ${span}`}`, { ink: 'cyan' });
    last = log;
    const lead = `  ${what.padEnd(nameChars)}  ${countText(total).padStart(countChars)}  `;
    out.raw(`${lead}${sparkline(series.counts, room)}`);
  }
}

/** A table below its title; nothing without rows. */
function writeTable(out: TerminalText, name: string, { columns, rows }: Table): void {
  if (rows.length === 0) return;
  title(out, name);
  const table = plainTable(columns.map((column) => column.title.toUpperCase()));
  for (const row of rows) pushRow(table, row);
  const [top = '', ...others] = table.toString().split('\n');
  out.raw(top, 'dim');
  for (const other of others) out.raw(other);
}

function title(out: TerminalText, text: string): void {
  out.gap();
  out.raw(`── ${text} ${'─'.repeat(Math.max(3, out.columns - text.length - 4))}`, 'bold');
}
