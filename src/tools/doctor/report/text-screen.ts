import { andMore } from '../../../core/text/lists.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import type { ReportDocument, ShownClue, ShownFix } from './document.js';
import { countOf } from './figures.js';
import { changedLines } from './safe-text.js';
import { ofWho } from './sentences.js';
import type { Table } from './table.js';
import type { Ink, TerminalText } from './terminal-text.js';

const VERDICT_INKS: Readonly<Record<ReportDocument['verdict'], Ink>> = {
  healthy: 'green',
  findings: 'red',
  unknown: 'yellow',
};

/** Behind the labels of the screen everything stands in one column. */
const LABEL_CHARS = 9;
const CLUES = 3;
const DIFF_LINES = 4;
/** An instruction that is cut is none: this is more than any has at 80 columns. */
const ADVICE_LINES = 8;
const SIZE_ROWS = 5;
const NAME_CHARS = 24;
/** The last column of the table of sizes is cut to what is left of the line, but not to less. */
const MIN_LAST_CHARS = 12;

/** The one screen: what is wrong, what to do, why, and how things stand. About 24 lines of 100 columns. */
export function writeScreen(
  out: TerminalText,
  report: ReportDocument,
  { mentionsVerbose }: { mentionsVerbose: boolean },
): void {
  const { causes, advice, memory, routing, unknowns } = report;
  const [first] = causes;
  writeVerdict(out, report, mentionsVerbose);
  out.gap();
  out.paragraph(label('Do this'), advice, { maxLines: ADVICE_LINES, leadInk: 'bold', ink: 'bold' });
  // What is healthy has a weak sign of something at most, which is no reason to do anything.
  const isFinding = report.verdict === 'findings';
  const fix = isFinding ? first?.fixes[0] : undefined;
  if (fix !== undefined) writeFix(out, fix, advice);
  const clues = (first?.cluesFor ?? []).slice(0, CLUES);
  if (clues.length > 0) out.gap();
  clues.forEach((clue, index) => {
    writeClue(out, label(index > 0 ? '' : isFinding ? 'Because' : 'But seen'), clue);
  });
  writeSizes(out, report.sizes);
  out.gap();
  const [tightest] = memory;
  if (tightest !== undefined) {
    const others = memory.length - 1;
    const more = others === 0 ? '' : `; and of ${countOf(others, 'other worker')} (--verbose)`;
    const sentence = ofWho(endOf(tightest.who, NAME_CHARS), tightest.sentence);
    line(out, 'Memory', `${sentence}${mentionsVerbose ? more : ''}`);
  }
  const [then, ...rest] = report.options;
  if (then !== undefined)
    line(
      out,
      'Then',
      `${then.says}${mentionsVerbose ? `${andMore(rest.length, 'options for memory')} (--verbose)` : ''}`,
    );
  if (routing !== undefined) line(out, 'Routing', routing.sentence);
  line(out, 'Read', report.sourcesSentence);
  const [unknown] = unknowns;
  if (unknown !== undefined) {
    const others = unknowns.length - 1;
    const more = others === 0 || !mentionsVerbose ? '' : `(${andMore(others).trim()}: --verbose)`;
    const isShort = unknown.length + 1 + more.length <= (out.columns - LABEL_CHARS) * 1.8;
    line(out, 'Unknown', isShort ? `${unknown} ${more}`.trimEnd() : unknown);
    // The end of a long one would be cut.
    if (!isShort && more !== '') out.paragraph(label(''), more, { maxLines: 1, ink: 'dim' });
  }
}

function writeVerdict(out: TerminalText, report: ReportDocument, mentionsVerbose: boolean): void {
  const { verdict, verdictText, headline, confidence, causes } = report;
  const suffix = confidence === undefined ? '' : ` (${confidence.name})`;
  out.paragraph('', `${verdictText}${suffix}: ${headline}`, { maxLines: 3, ink: VERDICT_INKS[verdict] });
  const others = causes.slice(1).map((cause) => cause.label);
  if (others.length > 0)
    out.paragraph('Also: ', `${others.join(', ')}${mentionsVerbose ? '; details with --verbose' : ''}`, {
      maxLines: 2,
      ink: 'dim',
      leadInk: 'dim',
    });
}

function writeFix(out: TerminalText, { says, effect, files, commands }: ShownFix, advice: string): void {
  const what = bare(says) === bare(advice) ? '' : `${says}: `;
  const where =
    files.length === 0
      ? ''
      : `, changes ${countOf(files.length, 'file')}: ${files.map(({ file }) => file).join(', ')}`;
  out.paragraph(label(''), `${what}${effect}${where}`, { maxLines: 2, ink: 'dim' });
  const { lines, more } = changedLines(files.map(({ diff }) => diff).join('\n'), DIFF_LINES);
  for (const changed of lines) out.raw(`${label('')}${changed}`, changed.startsWith('+') ? 'green' : 'red');
  if (more > 0) out.raw(`${label('')}… ${countOf(more, 'more changed line')}`, 'dim');
  const [command] = commands;
  if (lines.length === 0 && command !== undefined) out.raw(`${label('')}$ ${command}`, 'cyan');
}

/** Without the full stop that one sentence has and another has not. */
function bare(sentence: string): string {
  return sentence.replace(/\.$/, '');
}

/** The place is always shown, behind the sentence or below it: it is what a person looks at next. */
function writeClue(out: TerminalText, lead: string, { says, place: where }: ShownClue): void {
  const room = out.columns - LABEL_CHARS;
  const place = where === '' ? '' : `(${where})`;
  if (says.length + 1 + place.length <= room * 1.8) {
    out.paragraph(lead, `${says} ${place}`.trimEnd(), { maxLines: 3, leadInk: 'bold' });
    return;
  }
  out.paragraph(lead, says, { maxLines: 2, leadInk: 'bold' });
  out.paragraph(label(''), place, { maxLines: 1, ink: 'dim' });
}

function writeSizes(out: TerminalText, { columns, rows }: Table): void {
  if (rows.length === 0) return;
  const cells = rows
    .slice(0, SIZE_ROWS)
    .map(([side = '', who = '', ...rest]) => [side, endOf(who, NAME_CHARS), ...rest]);
  const titles = columns.map(({ title }) => title.toUpperCase());
  const last = titles.length - 1;
  const before = titles
    .slice(0, last)
    .map((title, at) => Math.max(title.length, ...cells.map((row) => row[at]?.length ?? 0)) + 2)
    .reduce((sum, width) => sum + width, 0);
  const lastChars = Math.max(MIN_LAST_CHARS, out.columns - LABEL_CHARS - before);
  const table = plainTable(titles);
  for (const row of cells) pushRow(table, [...row.slice(0, last), endOf(row[last] ?? '', lastChars)]);
  out.gap();
  const [top = '', ...others] = table.toString().split('\n');
  out.raw(`${out.ink(label('Blocks'), 'bold')}${out.ink(top, 'dim')}`);
  for (const other of others) out.raw(`${label('')}${other}`);
  if (rows.length > SIZE_ROWS)
    out.raw(`${label('')}… ${countOf(rows.length - SIZE_ROWS, 'more row')}`, 'dim');
}

/** The end of a path says more than its beginning. */
function endOf(text: string, maxChars: number): string {
  return text.length > maxChars ? `…${text.slice(text.length - maxChars + 1)}` : text;
}

function line(out: TerminalText, name: string, text: string): void {
  out.paragraph(label(name), text, { maxLines: 2, leadInk: 'bold' });
}

function label(name: string): string {
  return name.padEnd(LABEL_CHARS);
}
