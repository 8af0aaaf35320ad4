import { onOneLine } from '../../../core/text/printable.js';
import { unifiedDiff } from '../../manifests/unified-diff.js';
import type { Assessment, Diagnosis, ProposedFix } from '../diagnosis.js';
import { CONFIDENCES, DISTURBANCES, VERDICTS } from './labels.js';
import { bulletList, code, escaped, fenced } from './markdown.js';
import { safePath } from './safe-path.js';

/** A file of a plan, its path relative to the folder of the plan. */
export interface PlannedFile {
  readonly path: string;
  readonly text: string;
}

/** What a person would do by one fix: a step, or another way to do the same. */
interface Option {
  /** `1-block-size-mismatch`, `1b-block-size-mismatch`. */
  readonly folder: string;
  readonly fix: ProposedFix;
  /** Those whose text changes, each under the path that its patch has. */
  readonly changed: readonly {
    readonly path: string;
    /** As the operator named it. */
    readonly file: string;
    readonly before: string;
    readonly after: string;
  }[];
}

interface PlannedStep {
  readonly number: number;
  readonly assessment: Assessment;
  /** The best first. */
  readonly options: readonly Option[];
}

const PATCH = 'change.patch';
const PROPOSED = 'proposed';

/**
 * What a person would do, as files: a README with the steps in their order, and
 * for each fix a patch and the files as they would be. Texts are the operator's
 * own and whole, with whatever secrets they have: patches have to apply.
 */
export function writePlan(diagnosis: Diagnosis): readonly PlannedFile[] {
  const steps = diagnosis.assessments
    .filter(({ fixes }) => fixes.length > 0)
    .map((assessment, index) => stepOf(assessment, index + 1));
  const files = steps.flatMap(({ options }) => options.flatMap(filesOf));
  return [{ path: 'README.md', text: readme(diagnosis, steps) }, ...files];
}

function stepOf(assessment: Assessment, number: number): PlannedStep {
  const name = assessment.cause.replaceAll('_', '-');
  const options = assessment.fixes.map((fix, index) => ({
    folder: `${number}${index === 0 ? '' : otherLetter(index)}-${name}`,
    fix,
    changed: changedFiles(fix),
  }));
  return { number, assessment, options };
}

/** b, c, … z, then numbers: nobody has that many, but names must not meet. */
function otherLetter(index: number): string {
  return index < 26 ? String.fromCharCode('a'.charCodeAt(0) + index) : `z${index}`;
}

function changedFiles({ files }: ProposedFix): Option['changed'] {
  const taken = new Set<string>();
  return files
    .filter(({ before, after }) => before !== after)
    .map(({ file, before, after }) => ({ path: freePath(safePath(file), taken), file, before, after }));
}

/** Two names can have the same path, or one to a folder of the other; on some file systems case does not count. */
function freePath(path: string, taken: Set<string>): string {
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? path : `${number}/${path}`;
    const key = free.toLowerCase();
    const meets = [...taken].some(
      (other) => other === key || other.startsWith(`${key}/`) || key.startsWith(`${other}/`),
    );
    if (meets) continue;
    taken.add(key);
    return free;
  }
}

function filesOf({ folder, changed }: Option): readonly PlannedFile[] {
  if (changed.length === 0) return [];
  const patch = changed.map(({ path, before, after }) => unifiedDiff(path, before, after)).join('');
  return [
    { path: `${folder}/${PATCH}`, text: patch },
    ...changed.map(({ path, after }) => ({ path: `${folder}/${PROPOSED}/${path}`, text: after })),
  ];
}

function readme(diagnosis: Diagnosis, steps: readonly PlannedStep[]): string {
  const parts = [
    '# What to change',
    `${VERDICTS[diagnosis.verdict]}: ${escaped(diagnosis.headline)}`,
    `Nothing has been changed. ${steps.length === 0 ? 'There is nothing to change.' : 'Take the steps in this order, check after each whether it is fixed, and stop as soon as it is.'}`,
    ...(steps.some(({ options }) => options.some(({ changed }) => changed.length > 0))
      ? [
          `Each step with files has a folder: \`${PATCH}\` for \`patch -p1\` or \`git apply\`, and below \`${PROPOSED}/\` the files as they would be. These are whole files, with whatever secrets the originals have: do not send them around. Two steps that change the same file start from the same original; take their patches then, not the files.`,
        ]
      : []),
    ...steps.map(stepText),
    ...(diagnosis.unknowns.length === 0
      ? []
      : [`## What could not be determined\n\n${bulletList(diagnosis.unknowns.map(escaped))}`]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function stepText({ number, assessment, options }: PlannedStep): string {
  const { cause, confidence, headline } = assessment;
  const heading = `## Step ${number}: ${escaped(options[0]?.fix.says ?? headline)}`;
  const why = `Against \`${cause}\` (${CONFIDENCES[confidence]}): ${escaped(headline)}.`;
  const warning =
    confidence === 'possible' ? ['Take this step only when something else confirms the cause.'] : [];
  const bodies = options.map((option, index) =>
    index === 0 ? optionText(option) : `### Or: ${escaped(option.fix.says)}\n\n${optionText(option)}`,
  );
  return [heading, why, ...warning, ...bodies].join('\n\n');
}

function optionText({ folder, fix, changed }: Option): string {
  const patch = code(`${folder}/${PATCH}`);
  const parts = [
    escaped(fix.why),
    `What it disturbs: it ${DISTURBANCES[fix.disturbs]}.`,
    ...(changed.length === 0 ? [] : [`Files: ${patch} changes ${changed.map(nameText).join(', ')}.`]),
    ...(fix.commands.length === 0 ? [] : [`To do it:\n\n${fenced('sh', linesOf(fix.commands))}`]),
    ...(fix.verify.length === 0 ? [] : [`To check that it is fixed:\n\n${bulletList(fix.verify.map(code))}`]),
    goBack(fix, changed.length > 0, patch),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function nameText({ path, file }: Option['changed'][number]): string {
  return path === file ? code(path) : `${code(path)} (your ${code(file)})`;
}

function linesOf(commands: readonly string[]): string {
  return commands.map((command) => onOneLine(command)).join('\n');
}

function goBack({ disturbs, commands }: ProposedFix, hasPatch: boolean, patch: string): string {
  const again = disturbs === 'nothing' ? '' : ` That ${DISTURBANCES[disturbs]} again.`;
  if (hasPatch) {
    const apply = commands.length === 0 ? 'apply the files' : 'run the same commands';
    return `To go back: undo the patch (\`patch -R -p1\` with ${patch}) and ${apply}.${again}`;
  }
  return commands.length === 0 && disturbs === 'nothing'
    ? ''
    : `To go back: note the old values first, and set them again.${again}`;
}
