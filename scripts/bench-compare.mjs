// Runs the benches of an earlier revision and of this one in turns, on one machine, and writes their figures side by side
// into bench/README.md.
//
//   node scripts/bench-compare.mjs REVISION                       all benches, twice each; more than an hour
//   node scripts/bench-compare.mjs REVISION --quick               shortly: to see that it works
//   node scripts/bench-compare.mjs REVISION prefix-index fleet    these
//
// Where the earlier revision locks other packages than this one, "npm ci" installs its own.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { figuresOf, sideBySide, tableOf } from './bench-compare/figures.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const [revision, ...words] = process.argv.slice(2);
const isQuick = words.includes('--quick');
const named = words.filter((word) => !word.startsWith('--'));
if (revision === undefined || revision.startsWith('-')) {
  console.error('usage: node scripts/bench-compare.mjs REVISION [BENCH...] [--quick]');
  process.exit(2);
}

/** One bench takes minutes at most; soak, which takes ten, is not among those that run by default. */
const TIMEOUT_MS = 30 * 60_000;
/** Each side goes first once: what warms up or tires the machine does so for both. */
const ORDER = ['before', 'after', 'after', 'before'];
const [BEGIN, END] = ['<!-- side by side -->', '<!-- /side by side -->'];

const other = mkdtempSync(join(tmpdir(), 'kv-accord-bench-'));
const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
const folders = { before: other, after: root };
git('worktree', 'add', '--detach', '--force', other, revision);
try {
  install();
  for (const folder of Object.values(folders))
    execFileSync('npm', ['run', '-s', 'prebench'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const runs = { before: [], after: [] };
  for (const side of isQuick ? ORDER.slice(0, 2) : ORDER) {
    const figures = new Map();
    for (const bench of benches()) {
      console.error(`${side}: ${bench}`);
      const { stdout, status } = spawnSync(
        process.execPath,
        [`.cache/bench/bench/${bench}.js`, ...(isQuick ? ['--quick'] : [])],
        { cwd: folders[side], encoding: 'utf8', timeout: TIMEOUT_MS, stdio: ['ignore', 'pipe', 'inherit'] },
      );
      if (status !== 0) console.error(`${side}: ${bench} ended with ${status}`);
      for (const [name, figure] of figuresOf(bench, stdout ?? '')) figures.set(name, figure);
    }
    runs[side].push(figures);
  }
  write(sideBySide(runs.before, runs.after));
} finally {
  git('worktree', 'remove', '--force', other);
  rmSync(other, { recursive: true, force: true });
}

/** Gives the earlier revision its packages: those of this tree where both lock the same ones, else its own. */
function install() {
  const [ours, theirs] = [root, other].map((folder) =>
    readFileSync(join(folder, 'package-lock.json'), 'utf8'),
  );
  if (ours === theirs) return symlinkSync(join(root, 'node_modules'), join(other, 'node_modules'));
  console.error('before: npm ci, because its package-lock.json differs');
  execFileSync('npm', ['ci'], { cwd: other, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Those that were named, or all that both revisions have but soak. */
function benches() {
  if (named.length > 0) return named;
  const of = (folder) =>
    readdirSync(join(folder, 'bench'))
      .filter((name) => name.endsWith('.ts') && !['run.ts', 'soak.ts', 'worker-sessions.ts'].includes(name))
      .map((name) => name.replace(/\.ts$/, ''));
  return of(root).filter((name) => of(other).includes(name));
}

function write(rows) {
  const page = join(root, 'bench/README.md');
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`bench/README.md has no ${BEGIN} … ${END}`);
  const day = new Date().toISOString().slice(0, 10);
  const load = loadavg()[0]?.toFixed(1);
  const runs = isQuick
    ? 'one short run of each, which shows only that they run'
    : 'medians of two runs of each';
  const says = `${day}, ${git('rev-parse', '--short', revision)} before and ${git('rev-parse', '--short', 'HEAD')} after, in turns on one machine (load ${load} at the end); ${runs}.`;
  writeFileSync(page, `${text.slice(0, from)}${BEGIN}\n${says}\n\n${tableOf(rows)}\n${text.slice(to)}`);
}
