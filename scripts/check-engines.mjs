// Checks that no package of the lock file refuses a Node that package.json supports.
//
//   node scripts/check-engines.mjs [LOCK]    exits 1 and names each package that does; LOCK is package-lock.json by default
//
// npm warns (EBADENGINE) on the Node that runs it alone, so a package that refuses another supported line is found by
// its users. This compares the ranges themselves. Optional packages count too: which of them are installed differs
// from machine to machine.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import semver from 'semver';

const file = process.argv[2] ?? fileURLToPath(new URL('../package-lock.json', import.meta.url));
const { packages } = JSON.parse(readFileSync(file, 'utf8'));
const supported = packages[''].engines?.node;
if (supported === undefined) throw new Error(`${file}: the root package has no engines.node`);

for (const [path, { version, engines }] of Object.entries(packages)) {
  const wanted = engines?.node;
  // A range that nobody can read refuses no Node: npm takes it as "any" as well.
  if (wanted === undefined || semver.validRange(wanted) === null || semver.subset(supported, wanted))
    continue;
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  console.error(
    `${file}: ${name} ${version} wants Node ${wanted}, and kv-accord supports ${supported}. ` +
      `Take another version, by package.json's "overrides" if need be; "npm explain ${name}" says who asks for it.`,
  );
  process.exitCode = 1;
}
