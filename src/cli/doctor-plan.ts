import type { Assessment, Diagnosis, ProposedFix } from '../doctor/diagnosis.js';
import { masked } from '../doctor/logs/masking.js';
import { unifiedDiff } from '../manifests/unified-diff.js';
import { withoutControls } from '../platform/printable.js';

/** Longest part of a path that is made of a name that others gave. */
const MAX_PART_CHARS = 100;

const RESTARTS: Readonly<Record<ProposedFix['disturbs'], string>> = {
  nothing: 'It disturbs nothing.',
  frontend: 'The frontend has to be restarted for it.',
  one_worker_at_a_time: 'Workers have to be restarted for it, one at a time.',
  all_workers: 'All workers have to be restarted for it.',
};

/** What `--write-plan` writes, by its path below the folder: a README of the steps, the files as they would be, and patches. */
export function planFiles(diagnosis: Diagnosis): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const chapters: string[] = [];
  let number = 0;
  for (const assessment of diagnosis.assessments) {
    for (const fix of assessment.fixes) {
      number += 1;
      const folder = `fix-${number}`;
      for (const { file, before, after } of fix.files) {
        const path = pathOf(file);
        files.set(`${folder}/files/${path}`, after);
        files.set(`${folder}/patches/${path}.patch`, unifiedDiff(file, before, after));
      }
      chapters.push(chapterOf(number, folder, fix, assessment));
    }
  }
  const head = [
    '# What kv-accord doctor proposes',
    '',
    `**${diagnosis.headline}**`,
    '',
    diagnosis.advice,
    '',
    'Nothing of this was applied. Look at each change, apply it yourself, and see by the commands below that it helped. The fixes are in order: the first ones have the best evidence and disturb the least, and later ones may be other ways to the same end.',
    '',
  ];
  if (chapters.length === 0) head.push('There is nothing to change.', '');
  return new Map([['README.md', withoutControls(masked([...head, ...chapters].join('\n')))], ...files]);
}

function chapterOf(number: number, folder: string, fix: ProposedFix, { headline }: Assessment): string {
  const { says, why, disturbs, files, commands, verify } = fix;
  const lines = [`## ${number}. ${says}`, '', `For: ${headline}`, '', why, '', RESTARTS[disturbs], ''];
  for (const { file, before, after } of files) {
    const path = pathOf(file);
    lines.push(`\`${file}\`, as it would be: \`${folder}/files/${path}\``, '');
    lines.push('```diff', unifiedDiff(file, before, after).trimEnd(), '```', '');
  }
  if (commands.length > 0) lines.push('Commands:', '', '```sh', ...commands, '```', '');
  if (verify.length > 0) lines.push('To see that it is cured:', '', '```sh', ...verify, '```', '');
  return lines.join('\n');
}

/** A path that stays below the plan's folder, whatever a file is called: `/etc/x`, `../x`, `cluster:Pod/ns/name`, `-`. */
function pathOf(file: string): string {
  const parts = file
    .split(/[/\\]/)
    .filter((part) => part !== '' && part !== '.')
    .map((part) => (part === '..' ? 'parent' : part.replace(/[^\w.-]/g, '_').slice(0, MAX_PART_CHARS)));
  const path = parts.join('/');
  return path === '' || path === '-' ? 'standard-input.yaml' : path;
}
