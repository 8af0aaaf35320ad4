import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { requireBuild } from '../support/program.js';
import { isNewer, readElf } from './read-elf.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/production-tree.mjs', import.meta.url));

/** What Debian 12 has: glibc 2.36, and libstdc++ of GCC 12.2. zeromq also ships libraries that need more. */
const BOOKWORM: Readonly<Record<string, string>> = { GLIBC: '2.36', GLIBCXX: '3.4.30', CXXABI: '1.3.13' };

/** This machine's processor, as builders of images call it. */
const OWN = process.arch === 'x64' ? 'amd64' : process.arch;

let folder = '';
beforeAll(() => {
  requireBuild();
  folder = mkdtempSync(join(tmpdir(), 'kv-accord-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Makes the tree for one processor; the result is its folder. */
function makeTree(arch: string): string {
  const out = join(folder, arch);
  const script = ['--experimental-import-meta-resolve', SCRIPT, out, '--arch', arch];
  if (!existsSync(out)) execFileSync(process.execPath, script, { stdio: ['ignore', 'ignore', 'pipe'] });
  return out;
}

/** Runs Node in a tree, and returns what it printed. */
function runNode(tree: string, ...args: readonly string[]): string {
  return execFileSync(process.execPath, args, {
    cwd: tree,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
}

/** The paths of all files of a tree, and of its folders. */
function pathsOf(tree: string): string[] {
  return readdirSync(tree, { recursive: true, encoding: 'utf8' });
}

describe('the tree for production', { timeout: 120_000 }, () => {
  it('runs as far as the help of its commands', () => {
    const tree = makeTree(OWN);
    expect(runNode(tree, 'dist/cli/main.js', '--version')).toBe(`${manifest.version}\n`);
    for (const name of ['sidecar', 'frontend', 'lint']) {
      expect(runNode(tree, 'dist/cli/main.js', name, '--help')).toContain(`kv-accord ${name}`);
    }
  });

  it('has every module that the program is made of, and every package that these name', () => {
    const tree = makeTree(OWN);
    const modules = readdirSync(join(tree, 'dist/parts')).map((name) => `./dist/parts/${name}`);
    const named = Object.keys(manifest.dependencies).filter((name) =>
      existsSync(join(tree, 'node_modules', name)),
    );
    const source = `
      const failed = [];
      for (const name of ${JSON.stringify([...modules, ...named])}) {
        await import(name.startsWith('.') ? new URL(name, 'file://${tree}/').href : name)
          .catch((error) => failed.push(name + ': ' + error.message));
      }
      console.log(JSON.stringify(failed));
      process.exit();`;
    expect(modules.length).toBeGreaterThan(20);
    expect(named.length).toBeGreaterThan(15);
    expect(JSON.parse(runNode(tree, '--input-type=module', '--eval', source))).toEqual([]);
  });

  it('has the packages that the program imports, and none that only development needs', () => {
    const tree = makeTree(OWN);
    const text = readdirSync(join(tree, 'dist'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.js'))
      .map((path) => readFileSync(join(tree, 'dist', path), 'utf8'))
      .join('\n');
    for (const name of Object.keys(manifest.dependencies)) {
      const isImported = new RegExp(
        `(from|import|import\\(|createRequire\\(import\\.meta\\.url\\)\\() ?["']${name}["'/]`,
      ).test(text);
      if (isImported) expect([name, existsSync(join(tree, 'node_modules', name))]).toEqual([name, true]);
    }
    for (const name of ['typescript', 'vitest', '@types', 'node-addon-api']) {
      expect(existsSync(join(tree, 'node_modules', name))).toBe(false);
    }
  });

  it('keeps the terms of every package that states them in a file of its own', () => {
    const tree = makeTree(OWN);
    const root = fileURLToPath(new URL('../..', import.meta.url));
    const packages = pathsOf(tree).filter((path) =>
      /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path),
    );
    for (const path of packages) {
      const terms = readdirSync(join(root, path, '..')).filter((name) => /^(licen[cs]e|notice)/i.test(name));
      for (const name of terms) expect(existsSync(join(tree, path, '..', name))).toBe(true);
    }
    expect(packages.length).toBeGreaterThan(50);
  });

  it('has no source maps, types or tests', () => {
    const needless = pathsOf(makeTree(OWN)).filter((path) =>
      /\.map$|\.[cm]?ts$|node_modules\/(@[^/]+\/)?[^/]+\/tests?\//.test(path),
    );
    expect(needless).toEqual([]);
  });

  it.each([
    ['amd64', 'x64'],
    ['arm64', 'arm64'],
  ])('for %s has one native library, which a Debian 12 of that processor can load', (arch, processor) => {
    const tree = makeTree(arch);
    const libraries = pathsOf(tree).filter((path) => /\.(node|so|dylib|dll)$/.test(path));
    expect(libraries).toHaveLength(1);
    const elf = readElf(join(tree, libraries[0] ?? ''));
    expect(elf.processor).toBe(processor);
    expect(elf.needs).toHaveProperty('GLIBC');
    for (const [name, version] of Object.entries(elf.needs)) {
      expect([name, version, isNewer(version, BOOKWORM[name] ?? '0')]).toEqual([name, version, false]);
    }
  });

  it('can be read by every user and says always the same time, so that its layer stays the same', () => {
    const tree = makeTree(OWN);
    const programs = pathsOf(tree).filter((path) => {
      const { mode, mtime } = statSync(join(tree, path));
      expect([path, mtime.getUTCFullYear()]).toEqual([path, 1985]);
      expect([path, mode & 0o444]).toEqual([path, 0o444]);
      return (mode & 0o111) !== 0 && !statSync(join(tree, path)).isDirectory();
    });
    expect(programs).toEqual(Object.values(manifest.bin));
  });

  it('is not made over something else, and not for a processor without a library', () => {
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, ['--experimental-import-meta-resolve', SCRIPT, ...args], {
        encoding: 'utf8',
      });
    expect(run(folder)).toMatchObject({ status: 1, stderr: `production-tree: ${folder} is there already\n` });
    const other = run(join(folder, 'other'), '--arch', 's390x');
    expect(other.status).toBe(1);
    expect(other.stderr).toBe('production-tree: --arch "s390x" must be one of x64, amd64, arm64\n');
  });
});
