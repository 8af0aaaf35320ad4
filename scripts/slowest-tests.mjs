// Lists the ten slowest test files and the ten slowest tests.
//
//   node scripts/slowest-tests.mjs            runs `npm test` first
//   node scripts/slowest-tests.mjs REPORT...  reads what vitest has written with --reporter=json
//
// Times are on the clock, and a busy machine makes them longer. The time of a file has no imports in it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const COUNT = 10;
const ROOT = fileURLToPath(new URL('..', import.meta.url));

const given = process.argv.slice(2);
const files = (given.length > 0 ? given : [runTests()]).flatMap(
  (path) => JSON.parse(readFileSync(path, 'utf8')).testResults,
);
show(
  'files',
  files.map(({ name, startTime, endTime }) => ({ ms: endTime - startTime, name: pathOf(name) })),
);
show(
  'tests',
  files.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ duration, fullName }) => ({
      ms: duration ?? 0,
      name: `${pathOf(name)}: ${fullName}`,
    })),
  ),
);

/** The report of a run of all tests. A test that fails is a matter of the run, and is listed as well. */
function runTests() {
  const report = join(ROOT, '.cache', 'test-report.json');
  mkdirSync(dirname(report), { recursive: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  spawnSync('npm', ['test', '--', ...reporters], { cwd: ROOT, stdio: 'inherit' });
  return report;
}

function pathOf(path) {
  return relative(ROOT, path);
}

function show(what, all) {
  const slowest = all.sort((a, b) => b.ms - a.ms).slice(0, COUNT);
  const totalS = all.reduce((sum, { ms }) => sum + ms, 0) / 1_000;
  console.log(`the slowest of ${all.length} ${what}, which take ${totalS.toFixed(1)} s one after the other:`);
  for (const { ms, name } of slowest) console.log(`${(ms / 1_000).toFixed(1).padStart(8)} s  ${name}`);
}
