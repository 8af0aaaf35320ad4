import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it('lists the ten slowest files and tests of the reports that it is given', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kv-accord-report-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const report = join(folder, 'report.json');
  const testResults = Array.from({ length: 12 }, (_, at) => ({
    name: join(ROOT, `test/room/${at}.test.ts`),
    startTime: 5_000,
    endTime: 5_000 + 1_000 * at,
    // A skipped test has no duration.
    assertionResults: [{ fullName: `does ${at}`, duration: 900 * at }, { fullName: `skips ${at}` }],
  }));
  writeFileSync(report, JSON.stringify({ testResults }));

  const run = spawnSync(process.execPath, [join(ROOT, 'scripts/slowest-tests.mjs'), report], {
    encoding: 'utf8',
  });
  expect(run).toMatchObject({ status: 0, stderr: '' });
  const lines = run.stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(22);
  expect(lines[0]).toBe('the slowest of 12 files, which take 66.0 s one after the other:');
  expect(lines[1]).toBe('    11.0 s  test/room/11.test.ts');
  expect(lines[10]).toBe('     2.0 s  test/room/2.test.ts');
  expect(lines[11]).toBe('the slowest of 24 tests, which take 59.4 s one after the other:');
  expect(lines[12]).toBe('     9.9 s  test/room/11.test.ts: does 11');
});
