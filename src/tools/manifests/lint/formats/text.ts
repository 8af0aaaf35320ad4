import { countOf } from '../../../../core/text/lists.js';
import { applyEdits } from '../../text-edit.js';
import { unifiedDiff } from '../../unified-diff.js';
import type { NotChecked } from '../facts/not-checked.js';
import type { Finding, Severity } from '../findings/finding.js';
import { notCheckedLine } from './not-checked-line.js';

export interface TextFormatOptions {
  /** Text of each file by name, for patches. */
  readonly texts: ReadonlyMap<string, string>;
  /** Whether a terminal shows it: severities in colour. */
  readonly isColoured: boolean;
  /** How many files were looked at, for the last line. */
  readonly fileCount: number;
  /** Programs that were seen and compared with nothing, for the line behind the last. */
  readonly notChecked?: readonly NotChecked[];
}

const COLOURS: Readonly<Record<Severity, number>> = { error: 31, warning: 33, note: 36 };

/** For people: each finding with its place, what happens, what to do and the change as a patch. */
export function formatText(findings: readonly Finding[], options: TextFormatOptions): string {
  const parts = findings.map((finding) => describe(finding, options));
  const summary = summaryOf(findings, options.fileCount) + notCheckedLine(options.notChecked ?? []);
  return [...parts, summary].join('\n');
}

function describe(finding: Finding, { texts, isColoured }: TextFormatOptions): string {
  const { file, line, column, severity, ruleId, message, consequence, advice, fix, related = [] } = finding;
  const word = isColoured ? `\u001b[${COLOURS[severity]}m${severity}\u001b[0m` : severity;
  const lines = [
    `${file}:${line}:${column}: ${word}: ${message} [${ruleId}]`,
    ...related.map(({ says, ...place }) => `    ${place.file}:${place.line}:${place.column}: ${says}`),
    `    At run time: ${consequence}`,
    `    To fix it: ${advice}`,
  ];
  const text = fix === undefined ? undefined : texts.get(fix.file);
  if (fix !== undefined && text !== undefined) {
    lines.push(`    ${fix.says} (--fix writes it):`, '');
    const patch = unifiedDiff(fix.file, text, applyEdits(text, fix.edits)).trimEnd();
    lines.push(...patch.split('\n').map((patchLine) => `    ${patchLine}`.trimEnd()));
  }
  return `${lines.join('\n')}\n`;
}

function summaryOf(findings: readonly Finding[], fileCount: number): string {
  const files = countOf(fileCount, 'file');
  if (findings.length === 0) return `No findings in ${files}.\n`;
  const counts = (['error', 'warning', 'note'] as const).flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [countOf(count, severity)];
  });
  return `${counts.join(', ')} in ${files}.\n`;
}
