import { onOneLine } from '../../../core/text/printable.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import type { Clue, Diagnosis, ProposedFix } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import { countOf, countText } from './figures.js';
import type { Ink, Paper } from './paper.js';
import { changedLines, placeText, shownDiff } from './safe-text.js';
import { memorySentence, routingSentence, sourcesSentence } from './sentences.js';
import { sizeRows } from './size-rows.js';
import { DISTURBANCES, VERDICTS } from './words.js';

const VERDICT_INKS: Readonly<Record<Diagnosis['verdict'], Ink>> = {
  healthy: 'green',
  findings: 'red',
  unknown: 'yellow',
};

/** Behind the labels of the screen everything stands in one column. */
const LABEL_CHARS = 9;
const CLUES = 3;
const DIFF_LINES = 4;
const SIZE_ROWS = 5;
const NAME_CHARS = 24;

/** The one screen: what is wrong, what to do, why, and how things stand. About 24 lines of 100 columns. */
export function writeScreen(
  paper: Paper,
  diagnosis: Diagnosis,
  evidence: Evidence,
  { tellsOfMore }: { tellsOfMore: boolean },
): void {
  const [first] = diagnosis.assessments;
  writeVerdict(paper, diagnosis, tellsOfMore);
  paper.gap();
  paper.paragraph(label('Do this'), onOneLine(diagnosis.advice), {
    maxLines: 2,
    leadInk: 'bold',
    ink: 'bold',
  });
  const fix = first?.fixes[0];
  if (fix !== undefined) writeFix(paper, fix, onOneLine(diagnosis.advice));
  const clues = (first?.cluesFor ?? []).slice(0, CLUES);
  if (clues.length > 0) paper.gap();
  clues.forEach((clue, index) => {
    writeClue(paper, label(index === 0 ? 'Because' : ''), clue);
  });
  writeSizes(paper, evidence);
  paper.gap();
  const [memory] = diagnosis.memory;
  if (memory !== undefined) {
    const others = diagnosis.memory.length - 1;
    const more = others === 0 ? '' : `; and of ${countOf(others, 'other worker')} (--verbose)`;
    line(
      paper,
      'Memory',
      `${memorySentence({ ...memory, who: endOf(onOneLine(memory.who), NAME_CHARS) })}${tellsOfMore ? more : ''}`,
      2,
    );
  }
  if (diagnosis.routing !== undefined) line(paper, 'Routing', routingSentence(diagnosis.routing), 2);
  line(paper, 'Read', sourcesSentence(evidence.sources), 2);
  const [unknown] = diagnosis.unknowns;
  if (unknown !== undefined) {
    const others = diagnosis.unknowns.length - 1;
    const more = others === 0 || !tellsOfMore ? '' : ` (and ${countText(others)} more: --verbose)`;
    line(paper, 'Unknown', `${onOneLine(unknown)}${more}`, 2);
  }
}

function writeVerdict(
  paper: Paper,
  { verdict, headline, assessments }: Diagnosis,
  tellsOfMore: boolean,
): void {
  const [first] = assessments;
  const ink = VERDICT_INKS[verdict];
  const confidence = verdict === 'findings' && first !== undefined ? ` (${first.confidence})` : '';
  paper.paragraph('', `${VERDICTS[verdict]}${confidence}: ${onOneLine(headline)}`, { maxLines: 3, ink });
  const others = assessments.slice(1).map(({ cause, confidence: other }) => `${cause} (${other})`);
  if (others.length > 0)
    paper.paragraph('Also: ', `${others.join(', ')}${tellsOfMore ? '; --verbose tells of them' : ''}`, {
      maxLines: 2,
      ink: 'dim',
      leadInk: 'dim',
    });
}

function writeFix(paper: Paper, fix: ProposedFix, advice: string): void {
  const says = onOneLine(fix.says);
  const files = countOf(fix.files.length, 'file');
  const what = bare(says) === bare(advice) ? '' : `${says}: `;
  const where =
    fix.files.length === 0
      ? ''
      : `, changes ${files}: ${fix.files.map(({ file }) => onOneLine(file)).join(', ')}`;
  paper.paragraph(label(''), `${what}${DISTURBANCES[fix.disturbs]}${where}`, { maxLines: 2, ink: 'dim' });
  const diff = fix.files.map((file) => shownDiff(file)).join('\n');
  const { lines, more } = changedLines(diff, DIFF_LINES);
  for (const changed of lines) paper.raw(`${label('')}${changed}`, changed.startsWith('+') ? 'green' : 'red');
  if (more > 0) paper.raw(`${label('')}… ${countOf(more, 'more changed line')}`, 'dim');
  const [command] = fix.commands;
  if (lines.length === 0 && command !== undefined) paper.raw(`${label('')}$ ${onOneLine(command)}`, 'cyan');
}

/** Without the full stop that one sentence has and another has not. */
function bare(sentence: string): string {
  return sentence.replace(/\.$/, '');
}

/** The place is always told, behind the words or below them: it is what a person looks at next. */
function writeClue(paper: Paper, lead: string, { says, origin }: Clue): void {
  const room = paper.columns - LABEL_CHARS;
  const words = onOneLine(says);
  const place = origin === undefined ? '' : `(${placeText(origin)})`;
  if (words.length + 1 + place.length <= room * 1.8) {
    paper.paragraph(lead, `${words} ${place}`.trimEnd(), { maxLines: 3, leadInk: 'bold' });
    return;
  }
  paper.paragraph(lead, words, { maxLines: 2, leadInk: 'bold' });
  paper.paragraph(label(''), place, { maxLines: 1, ink: 'dim' });
}

function writeSizes(paper: Paper, evidence: Evidence): void {
  const rows = sizeRows(evidence);
  if (rows.length === 0) return;
  const cells = rows
    .slice(0, SIZE_ROWS)
    .map(({ side, who, tokensPerBlock, how, from }) => [
      side,
      endOf(who, NAME_CHARS),
      String(tokensPerBlock),
      how,
      from,
    ]);
  const table = plainTable(['SIDE', 'WHO', 'TOKENS/BLOCK', 'HOW KNOWN', 'FROM']);
  const head = ['SIDE', 'WHO', 'TOKENS/BLOCK', 'HOW KNOWN', ''];
  const room = paper.columns - LABEL_CHARS;
  const before = [0, 1, 2, 3]
    .map((at) => Math.max(head[at]?.length ?? 0, ...cells.map((row) => row[at]?.length ?? 0)) + 2)
    .reduce((sum, width) => sum + width, 0);
  const lastChars = Math.max(12, room - before);
  for (const row of cells) pushRow(table, [...row.slice(0, 4), endOf(row[4] ?? '', lastChars)]);
  paper.gap();
  const [top = '', ...others] = table.toString().split('\n');
  paper.raw(`${paper.ink(label('Blocks'), 'bold')}${paper.ink(top, 'dim')}`);
  for (const other of others) paper.raw(`${label('')}${other}`);
  if (rows.length > SIZE_ROWS)
    paper.raw(`${label('')}… ${countOf(rows.length - SIZE_ROWS, 'more row')}`, 'dim');
}

/** The end of a path tells more than its beginning. */
function endOf(text: string, maxChars: number): string {
  return text.length > maxChars ? `…${text.slice(text.length - maxChars + 1)}` : text;
}

function line(paper: Paper, name: string, text: string, maxLines: number): void {
  paper.paragraph(label(name), text, { maxLines, leadInk: 'bold' });
}

function label(name: string): string {
  return name.padEnd(LABEL_CHARS);
}
