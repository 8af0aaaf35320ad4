// Checks the licences of all packages in the lock file, without a network.
//
//   node scripts/check-licences.mjs [LOCK]    exits 1 and names each package whose licence is not allowed; LOCK is
//                                             package-lock.json by default
//
// npm writes what a package's own manifest says into the lock file. A platform package that no registry could look up
// (scripts/complete-lock.mjs) has no entry of its own, and counts by the package that it belongs to.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import satisfies from 'spdx-satisfies';

/** What may be in the image and the package: nothing that asks more than to be named. */
const PRODUCTION = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
];
/** Files under it stay under it, and others may stand beside them: libzmq, unchanged, and tools. */
const FILE_BY_FILE = ['MPL-2.0'];
/** What only development uses is passed on to nobody. */
const DEVELOPMENT = [...PRODUCTION, 'CC-BY-3.0', 'CC-BY-4.0', 'CC0-1.0'];

const file = process.argv[2] ?? fileURLToPath(new URL('../package-lock.json', import.meta.url));
const { packages } = JSON.parse(readFileSync(file, 'utf8'));

const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
/** Licences of the packages that ship binaries, by the name of the platform package. */
const ownersLicence = new Map(
  Object.values(packages).flatMap(({ optionalDependencies = {}, license }) =>
    Object.keys(optionalDependencies).map((name) => [name, license]),
  ),
);

for (const [path, { version, license, dev, optional }] of Object.entries(packages)) {
  if (path === '') continue;
  const name = nameOf(path);
  const said = license ?? (optional === true ? ownersLicence.get(name) : undefined);
  const allowed = [...(dev === true ? DEVELOPMENT : PRODUCTION), ...FILE_BY_FILE];
  if (said !== undefined && isAllowed(said, allowed)) continue;
  console.error(
    `${file}: ${name} ${version} is under ${said ?? 'a licence that it does not name'}, which is not on the list of ` +
      `scripts/check-licences.mjs (${dev === true ? 'development' : 'production'}); take another package, or add the ` +
      'SPDX name there with the reason',
  );
  process.exitCode = 1;
}

/** Whether an SPDX expression can be kept to with these licences; what is no expression cannot. */
function isAllowed(expression, allowed) {
  try {
    return satisfies(expression, allowed);
  } catch {
    return false;
  }
}
