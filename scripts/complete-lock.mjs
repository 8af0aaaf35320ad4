// Completes package-lock.json for every platform.
//
//   node scripts/complete-lock.mjs [LOCK]            adds what is missing, and hashes that the registry knows now
//   node scripts/complete-lock.mjs --check [LOCK]    exits 1 when something is missing, or a package has no hash;
//                                                    needs no network
//
// Tools ship their binaries as optional packages, one for each platform. When
// npm cannot look one of them up, as behind a mirror that carries some
// platforms only, it leaves that package out of the lock file without a word,
// and `npm ci` then refuses the whole file wherever the same happens again. An
// entry with its exact version and platform is enough for both sides: `npm ci`
// skips it on other platforms and installs it on its own. Such an entry has no
// hash until this runs where the registry has the package.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const isCheck = process.argv[2] === '--check';
const file = process.argv[isCheck ? 3 : 2] ?? fileURLToPath(new URL('../package-lock.json', import.meta.url));

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

/** The lock entry of an optional package that was not looked up; undefined when no platform is in its name. */
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
      console.error(`package-lock.json: ${name} ${version} is missing, and no platform is in its name`);
      process.exitCode = 1;
    } else {
      missing.push([key, entry]);
    }
  }
}

/** Entries without a hash: npm would install them whatever their bytes are. */
const unhashed = Object.entries(lock.packages).filter(
  ([key, entry]) => key !== '' && entry.integrity === undefined,
);

if (isCheck) {
  if (missing.length > 0) {
    const names = missing.map(([key]) => key.replace('node_modules/', '')).join(', ');
    console.error(`${file} lacks other platforms, run "node scripts/complete-lock.mjs": ${names}`);
    process.exitCode = 1;
  }
  for (const [key, { version }] of unhashed) {
    console.error(
      `${file}: ${key.replace('node_modules/', '')} ${version} has no integrity: run "node scripts/complete-lock.mjs", ` +
        'or take a version whose packages of all platforms the registry has',
    );
    process.exitCode = 1;
  }
} else {
  for (const [key, entry] of missing) lock.packages[key] = entry;
  const without = [...unhashed, ...missing];
  const found = without.filter(([key, entry]) => fillFromRegistry(key, entry));
  if (missing.length > 0 || found.length > 0) {
    // npm keeps the entries in the order of their names.
    const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
    lock.packages = Object.fromEntries(sorted);
    writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);
  }
  console.log(
    `${file}: added ${missing.length} packages of other platforms, and ${found.length} of ${without.length} missing hashes`,
  );
}

/** Takes hash, licence and engines of an entry from the registry; false where it does not have the version. */
function fillFromRegistry(key, entry) {
  const name = key.replace('node_modules/', '');
  try {
    const fields = ['dist.integrity', 'license', 'engines'];
    const answer = execFileSync('npm', ['view', `${name}@${entry.version}`, ...fields, '--json'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const { 'dist.integrity': integrity, license, engines } = JSON.parse(answer);
    if (typeof integrity !== 'string') return false;
    Object.assign(entry, { integrity, ...(license && { license }), ...(engines && { engines }) });
    return true;
  } catch {
    // The registry does not have it; --check says what that means.
    return false;
  }
}
