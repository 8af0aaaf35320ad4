import { countOf } from '../../../core/text/lists.js';
import type { Finding } from '../../manifests/lint/findings/finding.js';
import { applyEdits, type TextEdit, touches } from '../../manifests/text-edit.js';
import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';

/**
 * What `lint` would change in the manifests, for findings of some rules. Those
 * of one rule are one fix, as one without the others would leave the fault.
 * Files whose text was not given are only described.
 */
export function fixesFrom(
  { evidence }: Pick<Measurements, 'evidence'>,
  ruleIds: readonly string[],
  said: Pick<ProposedFix, 'why' | 'disturbs' | 'verify'>,
): readonly ProposedFix[] {
  return ruleIds.flatMap((ruleId) => {
    const findings = evidence.findings.filter((finding) => finding.ruleId === ruleId);
    const fixes = findings.flatMap(({ fix }) => (fix === undefined ? [] : [fix]));
    const [first] = fixes;
    if (first === undefined) return [];
    const files = changedFiles(evidence.manifests, fixes);
    const commands = files.length > 0 ? [] : [...new Set(findings.map(({ advice }) => `# ${advice}`))];
    const others = fixes.length - 1;
    const says = others > 0 ? `${first.says} (and in ${countOf(others, 'more place')})` : first.says;
    return [{ ...said, says, files, commands }];
  });
}

function changedFiles(
  manifests: Measurements['evidence']['manifests'],
  fixes: readonly NonNullable<Finding['fix']>[],
): ProposedFix['files'] {
  return manifests.flatMap(({ file, text }) => {
    const edits: TextEdit[] = [];
    for (const fix of fixes) {
      const isFree = !fix.edits.some((edit) => edits.some((other) => touches(edit, other)));
      if (fix.file === file && isFree) edits.push(...fix.edits);
    }
    const after = changed(text, edits);
    return after === text ? [] : [{ file, before: text, after }];
  });
}

/** Edits that do not fit the text, because it is another than lint saw, change nothing. */
function changed(text: string, edits: readonly TextEdit[]): string {
  const fit = edits.every(({ start, end }) => start >= 0 && end >= start && end <= text.length);
  return fit ? applyEdits(text, edits) : text;
}
