import { existsSync, readFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';

/** Kept in any case: what a package is, and under which terms. */
const ALWAYS = /^(package\.json|(licen[cs]e|notice|copying|copyright|authors|patents).*)$/i;

/** By their names: Node reads none of these. It does not strip types below node_modules, so that .ts is source too. */
const FILES = [
  [/\.map$/, 'source maps'],
  [/\.[cm]?ts$|\.tsx$|\.d\.ts\.\w+$|\.tsbuildinfo$/, 'types and TypeScript'],
  [/\.(md|markdown|html|css|png|svg|gif|jpg|jpeg|ya?ml|flow|patch)$/i, 'documentation and settings'],
  [/\.(cc?|cpp|h|hpp|gyp|gypi|cmake)$|^CMakeLists\.txt$|^vcpkg.*\.json$/, 'native sources'],
];

/** Folders at the root of a package, left out when the program loads nothing in them. */
const FOLDERS = [
  ...['test', 'tests', '__tests__', 'spec', 'integration', 'fixtures', 'coverage'],
  ...['bench', 'benches', 'benchmark', 'benchmarks', 'example', 'examples', 'demo', 'doc', 'docs'],
  ...['src', 'scripts', 'tools', 'vendor', 'cli', '.github', '.vscode', '.nyc_output'],
];

/** The same code once more, for other loaders; left out when the program loads nothing in them. */
const BUILDS = ['esm', 'esnext', 'es', 'mjs', 'module', 'cjs', 'commonjs', 'umd', 'browser', 'min'];

/**
 * Why each file of a package is left out of an image, or undefined when it is in.
 * What only may be superfluous is left out when `loaded` has nothing of it.
 */
export function leftOut(folder, files, { loaded, arch }) {
  const name = folder.slice(folder.lastIndexOf(`node_modules${sep}`) + 'node_modules/'.length);
  const used = files.filter((file) => loaded.has(file));
  const isUsed = (below) => used.some((file) => file.startsWith(below + sep));
  const addon = name === 'zeromq' ? addonFor(folder, arch) : undefined;

  return (file) => {
    const path = relative(folder, file);
    const parts = path.split(sep);
    if (used.length === 0) return 'packages of which nothing is loaded';
    if (ALWAYS.test(parts.at(-1)) && parts.length === 1) return undefined;
    if (parts.at(-1).endsWith('.node')) return file === addon ? undefined : 'libraries for other platforms';
    // All that is loaded of it is the finder of the library; the rest is a compiler's driver.
    if (name === 'cmake-ts') return loaded.has(file) ? undefined : 'native sources';
    if (FOLDERS.includes(parts[0]) && parts.length > 1 && !isUsed(join(folder, parts[0]))) {
      return 'tests, documents and sources';
    }
    const build = parts.findIndex((part, depth) => depth < parts.length - 1 && BUILDS.includes(part));
    if (build !== -1 && !isUsed(join(folder, ...parts.slice(0, build + 1))))
      return 'builds for other loaders';
    if (/\.min\.[cm]?js$/.test(path) && !loaded.has(file)) return 'builds for other loaders';
    return FILES.find(([pattern]) => pattern.test(basename(path)))?.[1];
  };
}

/**
 * The library that zeromq loads on Debian: of those for the processor and glibc
 * the one for the newest Node, as its loader chooses. All are made for Node-API,
 * so that any newer Node takes it too; the older ones need not load, and one of
 * them asks for a newer glibc than Debian 12 has.
 */
function addonFor(folder, arch) {
  const build = join(folder, 'build');
  const manifest = JSON.parse(readFileSync(join(build, 'manifest.json'), 'utf8'));
  const [newest] = Object.entries(manifest)
    .map(([key, path]) => ({ ...JSON.parse(key), file: join(build, path) }))
    .filter((config) => config.os === 'linux' && config.arch === arch && config.libc === 'glibc')
    .sort((a, b) => b.abi - a.abi);
  if (newest === undefined || !existsSync(newest.file)) {
    throw new Error(`zeromq has no library for linux, ${arch} and glibc`);
  }
  return newest.file;
}
