import { posix } from 'node:path';
import { applyPatch, parsePatch } from 'diff';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { writePlan } from '../../../../src/tools/doctor/report/write-plan.js';
import { healthy, mismatch } from '../support/diagnoses.js';
import { hostileText, speakingOnly } from '../support/hostile.js';

it('has a folder for each fix, with a patch and the files as they would be', () => {
  const plan = writePlan(mismatch());
  expect(plan.map(({ path }) => path)).toEqual([
    'README.md',
    '1-block-size-mismatch/change.patch',
    '1-block-size-mismatch/proposed/deploy/graph.yaml',
    '2-cache-churn/change.patch',
    '2-cache-churn/proposed/engine/config.yaml',
  ]);
});

it('has patches that apply, and come to the proposed files', () => {
  const plan = new Map(writePlan(mismatch()).map(({ path, text }) => [path, text]));
  const before = mismatch().assessments[0]?.fixes[0]?.files[0]?.before ?? '';
  const [patch] = parsePatch(plan.get('1-block-size-mismatch/change.patch') ?? '');
  expect(patch?.newFileName).toBe('b/deploy/graph.yaml');
  expect(patch === undefined ? undefined : applyPatch(before, patch)).toBe(
    plan.get('1-block-size-mismatch/proposed/deploy/graph.yaml'),
  );
});

it('lists the steps in their order: what each disturbs, how to check it, how to go back', () => {
  expect(writePlan(mismatch())[0]?.text).toBe(README);
});

it('says so when there is nothing to do', () => {
  const [readme, ...others] = writePlan(healthy());
  expect(readme?.text).toContain('There is nothing to change.');
  expect(others).toEqual([]);
});

it('stays in its folder, and no file takes the place of another, whatever files are called', () => {
  fc.assert(
    fc.property(fc.array(hostileText, { minLength: 1, maxLength: 6 }), hostileText, (names, words) => {
      const diagnosis = speakingOnly(mismatch(), words);
      const [first] = diagnosis.assessments;
      const fix = first?.fixes[0];
      if (first === undefined || fix === undefined) throw new Error('the fixture has a fix');
      const files = names.map((file, index) => ({ file, before: 'a\n', after: `${index}\n` }));
      const plan = writePlan({
        ...diagnosis,
        assessments: [{ ...first, fixes: [{ ...fix, files }] }],
      });
      const paths = plan.map(({ path }) => path);
      expect(paths).toHaveLength(names.length + 2);
      expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(paths.length);
      for (const path of paths) {
        expect(posix.normalize(path)).toBe(path);
        expect(path).toMatch(/^[A-Za-z0-9._@+=/-]+$/);
        expect(path.startsWith('..') || path.startsWith('/')).toBe(false);
        expect(paths.some((other) => other.startsWith(`${path}/`))).toBe(false);
      }
      const patches = parsePatch(plan[1]?.text ?? '');
      expect(patches.map(({ newFileName }) => newFileName)).toEqual(
        paths.slice(2).map((path) => path.replace('1-block-size-mismatch/proposed/', 'b/')),
      );
    }),
  );
});

const README = `# What to change

FINDING: the frontend uses a block size of 16 tokens, and 2 workers use 32

Nothing has been changed. Take the steps in this order, check after each whether it is fixed, and stop as soon as it is.

Each step with files has a folder: \`change.patch\` for \`patch -p1\` or \`git apply\`, and below \`proposed/\` the files as they would be. These are whole files, with whatever secrets the originals have: do not send them around. Two steps that change the same file start from the same original; take their patches then, not the files.

## Step 1: Set DYN\\_KV\\_CACHE\\_BLOCK\\_SIZE=32 on the frontend

Against \`block_size_mismatch\` (certain, the numbers themselves contradict each other): the frontend uses a block size of 16 tokens, and 2 workers use 32.

The workers keep what they have cached.

What it disturbs: it restarts the frontend.

Files: \`1-block-size-mismatch/change.patch\` changes \`deploy/graph.yaml\`.

To do it:

\`\`\`sh
kubectl apply -f deploy/graph.yaml
\`\`\`

To check that it is fixed:

- \`kubectl logs frontend | grep "cached blocks": more than 0 from the second turn on\`

To go back: undo the patch (\`patch -R -p1\` with \`1-block-size-mismatch/change.patch\`) and run the same commands. That restarts the frontend again.

### Or: Set --kv-block-size 16 on the workers

TensorRT-LLM takes a block size of 16 too, but every worker begins with an empty cache.

What it disturbs: it restarts all workers.

To do it:

\`\`\`sh
kubectl rollout restart deployment/worker
\`\`\`

To check that it is fixed:

- \`kv-accord doctor --kube inference\`

To go back: note the old values first, and set them again. That restarts all workers again.

## Step 2: Lower max\\_num\\_seqs to 48

Against \`cache_churn\` (possible, one sign of it was seen): an idle prefix stays 41 seconds.

Take this step only when something else confirms the cause.

Half of the cache is left for prefixes.

What it disturbs: it restarts one worker at a time.

Files: \`2-cache-churn/change.patch\` changes \`engine/config.yaml\` (your \`../engine/config.yaml\`).

To go back: undo the patch (\`patch -R -p1\` with \`2-cache-churn/change.patch\`) and apply the files. That restarts one worker at a time again.

## What could not be determined

- How many tokens engines really had cached: their /metrics was not given (--metrics URL).
- How many follow-ups there are: no log reports conversations.
`;
