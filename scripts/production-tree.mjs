// Copies what production needs out of a built checkout, for the container image:
//
//   node --experimental-import-meta-resolve scripts/production-tree.mjs OUT [--arch x64|arm64]
//
// OUT gets package.json, LICENSE, dist, node_modules and sbom.cdx.json. --arch
// says for which processor (also amd64, as builders of images call it); default
// this machine's. Needs `npm ci` and `npm run build` before it, and no network.
//
// node_modules gets the packages that the lock file does not call `dev`, without
// what Node never reads there; ./production-tree/left-out.mjs has the rules. A
// rule that would leave out a file that the program loads ends it with status 1.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { filesBelow } from './parts/files-below.mjs';
import { readSbom } from './parts/sbom.mjs';
import { leftOut } from './production-tree/left-out.mjs';
import { loadedFiles } from './production-tree/loaded-files.mjs';

/** When all files were last written, as far as an image reports; npm's packages say this everywhere. */
const WRITTEN = new Date('1985-10-26T08:15:00Z');
const PROCESSORS = { x64: 'x64', amd64: 'x64', arm64: 'arm64' };

const root = fileURLToPath(new URL('..', import.meta.url));
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { arch: { type: 'string', default: process.arch } },
});
const [out] = positionals;
const arch = PROCESSORS[values.arch || process.arch];
if (out === undefined || positionals.length > 1) fail('the one argument is the folder to make');
if (arch === undefined) fail(`--arch "${values.arch}" must be one of ${Object.keys(PROCESSORS).join(', ')}`);
if (existsSync(out)) fail(`${out} is there already`);

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const packages = Object.entries(lock.packages)
  // An optional package of another platform is in the lock file, and not on the disk.
  .filter(([path, entry]) => path !== '' && entry.dev !== true && existsSync(join(root, path)))
  .map(([path]) => path);

const programs = Object.values(manifest.bin);
const ownFiles = filesBelow(join(root, 'dist')).filter((file) => !file.endsWith('.map'));
const loaded = loadedFiles(ownFiles);

const kept = [];
const present = new Set();
const dropped = {};
let droppedBytes = 0;
for (const path of packages) {
  const folder = join(root, path);
  // Packages inside a package are in the lock file too, with a path of their own.
  const files = filesBelow(folder, (name) => name === 'node_modules');
  if (files.some((file) => loaded.has(file))) present.add(path);
  const reasonOf = leftOut(folder, files, { loaded, arch });
  for (const file of files) {
    const reason = reasonOf(file);
    if (reason === undefined) {
      kept.push(file);
      continue;
    }
    if (loaded.has(file))
      fail(`${relative(root, file)} would be left out (${reason}), and the program loads it`);
    const { size } = statSync(file);
    dropped[reason] = (dropped[reason] ?? 0) + size;
    droppedBytes += size;
  }
}

const outFiles = [join(root, 'package.json'), join(root, 'LICENSE'), ...ownFiles, ...kept];
let keptBytes = 0;
for (const file of outFiles) {
  const path = relative(root, file);
  const copy = join(out, path);
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(file, copy);
  // Readable for every user, whatever the umask of the checkout was.
  chmodSync(copy, programs.includes(path) ? 0o755 : 0o644);
  keptBytes += statSync(copy).size;
}
const sbom = readSbom(root, (path) => present.has(path));
writeFileSync(join(out, 'sbom.cdx.json'), `${JSON.stringify(sbom, undefined, 2)}\n`, { mode: 0o644 });

// The same files make the same layer of an image, whenever they are copied.
for (const path of ['.', ...readdirSync(out, { recursive: true })])
  utimesSync(join(out, path), WRITTEN, WRITTEN);

console.log(`${out}: ${outFiles.length} files, ${mb(keptBytes)}, ${present.size} packages, for ${arch}`);
console.log(`left out: ${mb(droppedBytes)}`);
for (const [reason, size] of Object.entries(dropped).sort(([, a], [, b]) => b - a)) {
  console.log(`  ${mb(size).padStart(8)}  ${reason}`);
}

function mb(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function fail(message) {
  console.error(`production-tree: ${message}`);
  process.exit(1);
}
