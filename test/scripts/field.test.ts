import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FAULTY = join(ROOT, 'test/fixtures/manifests/faulty/block-size-mismatch-epp.yaml');
const LOG = join(ROOT, 'test/fixtures/doctor-logs/sglang-0.5.23.cpu.txt');
const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: engine}
spec:
  selector: {matchLabels: {app: engine}}
  template:
    metadata:
      labels: {app: engine}
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          command: [vllm, serve, model, --block-size, "32"]
`;

function repositories(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'kv-accord-field-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

function field(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/field.mjs'), ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

it('counts what lint, inject and doctor say of each repository, and changes nothing in it', () => {
  const folder = repositories({
    'a/graph.yaml': readFileSync(FAULTY, 'utf8'),
    'a/run.log': readFileSync(LOG, 'utf8'),
    'b/deploy/engine.yaml': DEPLOYMENT,
    'b/deploy/broken.yaml': 'kind: Deployment\nspec: [\n',
  });
  const run = field('--json', folder);
  expect(run).toMatchObject({ status: 0, stderr: 'a\nb\n' });
  const { repositories: found, sample } = JSON.parse(run.stdout);
  expect(found).toMatchObject([
    {
      name: 'a',
      lint: { end: 'exit', code: 1, byRule: { 'block-size-mismatch error': 1 } },
      doctor: { logs: 1, crashes: [], byVerdict: { unknown: 1 } },
    },
    {
      name: 'b',
      lint: { end: 'exit' },
      inject: { files: 2, changed: 1, roundTrips: 1, broken: [], unstable: [], kinds: { Deployment: 1 } },
      doctor: { logs: 0 },
    },
  ]);
  expect(Object.keys(found[1].inject.refusals)).toHaveLength(1);
  expect(found[0].lint.peakBytes).toBeGreaterThan(10_000_000);
  expect(sample[0]).toMatchObject({ name: 'a', file: 'graph.yaml', rule: 'block-size-mismatch' });
  expect(sample[0].lines.some((line: string) => line.startsWith('>'))).toBe(true);
  expect(readFileSync(join(folder, 'b/deploy/engine.yaml'), 'utf8')).toBe(DEPLOYMENT);

  const judged = join(folder, '.judged');
  writeFileSync(judged, `${JSON.stringify({ id: sample[0].id, is: 'wrong', why: 'as a try' })}\n`);
  const second = field('--only', 'lint', '--judged', judged, join(folder, 'a'));
  expect(second.status).toBe(0);
  expect(second.stdout).toMatch(/block-size-mismatch error +1 found +0 right +1 wrong/);
  expect(second.stdout).toContain('errors: 0.0 % right (0 of 1 judged, 1 found)');
  expect(second.stdout).toContain('== 0 findings to judge');
});

it('says what is wrong with what it is given', () => {
  const folder = repositories({ 'a/x.yaml': 'a: 1\n', '.judged': '{"id":"x","is":"maybe"}\n' });
  expect(field()).toMatchObject({
    status: 2,
    stderr: 'field: name a repository, or a folder of repositories\n',
  });
  expect(field('--only', 'guess', folder).stderr).toBe(
    'field: --only must name some of lint, inject, doctor, not guess\n',
  );
  expect(field('--sample', '-1', folder).status).not.toBe(0);
  // Before the repositories are read, and in one line.
  expect(field('--sample', 'x', folder)).toMatchObject({
    status: 2,
    stderr: 'field: --sample must be a whole number, not x\n',
  });
  const none = join(folder, 'none');
  expect(field(none).stderr).toBe(`field: ${none} must be a folder, and there is none of that name\n`);
  expect(field('--sampel', '3', folder).stderr).toMatch(/^field: Unknown option '--sampel'.*\n$/);
  expect(field('--judged', none, folder).stderr).toMatch(/^field: ENOENT.*\n$/);
  expect(field('--help')).toMatchObject({ status: 0, stderr: '' });
  expect(field('--judged', join(folder, '.judged'), folder).stderr).toContain(
    'must be {"id":"…","is":"right"',
  );
});
