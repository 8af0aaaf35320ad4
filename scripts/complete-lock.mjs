// Completes package-lock.json for every platform.
//
//   node scripts/complete-lock.mjs            adds what is missing
//   node scripts/complete-lock.mjs --check    exits 1 when something is missing
//
// Tools ship their binaries as optional packages, one for each platform. When
// npm cannot look one of them up, as behind a mirror that carries some
// platforms only, it leaves that package out of the lock file without a word,
// and `npm ci` then refuses the whole file wherever the same happens again. An
// entry with its exact version and platform is enough for both sides: `npm ci`
// skips it on other platforms and installs it on its own.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../package-lock.json', import.meta.url));

/** Words in package names that tell an operating system, as Node names it. */
const SYSTEMS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
/** Words that tell a processor, with Node's name for it. */
const PROCESSORS = {
  arm64: 'arm64',
  x64: 'x64',
  ia32: 'ia32',
  arm: 'arm',
  armv7: 'arm',
  loong64: 'loong64',
  mips64el: 'mips64el',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
};

/** The lock entry of an optional package that was not looked up; undefined when its name tells no platform. */
function entryFor(name, version, owner) {
  const words = name.split(/[-/]/);
  const os = SYSTEMS.find((system) => words.includes(system));
  const cpu = words.map((word) => PROCESSORS[word]).find(Boolean);
  if (os === undefined || cpu === undefined || !/^\d+\.\d+\.\d+$/.test(version)) return undefined;
  const isMusl = words.some((word) => word.startsWith('musl'));
  const isGnu = words.some((word) => word.startsWith('gnu'));
  return {
    version,
    cpu: [cpu],
    ...(owner.dev === true ? { dev: true } : {}),
    ...(os === 'linux' && (isMusl || isGnu) ? { libc: [isMusl ? 'musl' : 'glibc'] } : {}),
    optional: true,
    os: [os],
  };
}

const lock = JSON.parse(readFileSync(file, 'utf8'));
const missing = [];
for (const owner of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (key in lock.packages) continue;
    const entry = entryFor(name, version, owner);
    if (entry === undefined) {
      console.error(`package-lock.json: ${name} ${version} is missing, and its name tells no platform`);
      process.exitCode = 1;
    } else {
      missing.push([key, entry]);
    }
  }
}

if (process.argv.includes('--check')) {
  if (missing.length > 0) {
    const names = missing.map(([key]) => key.replace('node_modules/', '')).join(', ');
    console.error(`package-lock.json lacks other platforms, run "node scripts/complete-lock.mjs": ${names}`);
    process.exitCode = 1;
  }
} else if (missing.length > 0) {
  // npm keeps the entries in the order of their names.
  const sorted = Object.entries(lock.packages).concat(missing);
  sorted.sort(([a], [b]) => (a < b ? -1 : 1));
  lock.packages = Object.fromEntries(sorted);
  writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);
  console.log(`package-lock.json: added ${missing.length} packages of other platforms`);
}
