import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { sourcesBelow } from '../parts/files-below.mjs';
import { countBy, lastLines, reasonOf } from './lint-tree.mjs';
import { runProgram } from './run-program.mjs';

/** Done, changes without --write, bad usage or a refusal. */
const EXIT_CODES = [0, 1, 2];
const EXTENSIONS = ['.yaml', '.yml', '.json'];
/** Files of one call, which are one view of a deployment. */
const BATCH = 400;
const INJECT = ['inject', '--insecure'];

/**
 * Injects into a copy of all manifests, and takes it out again: the bytes must
 * be the same. Refusals are counted by their reason, and what is refused is
 * left out of the second try.
 */
export async function tryInject(folder, { timeoutMs, heapMb }) {
  const totals = {
    files: 0,
    changed: 0,
    roundTrips: 0,
    broken: [],
    unstable: [],
    crashes: [],
    refusals: [],
    kinds: [],
    notes: [],
  };
  const startedAt = performance.now();
  const found = sourcesBelow(folder, EXTENSIONS);
  totals.files = found.length;
  // Only what can be a workload.
  const all = found.filter((file) => /^\s*(?:-\s+)?"?kind"?\s*:/m.test(readFileSync(file, 'latin1')));
  const work = mkdtempSync(join(tmpdir(), 'kv-accord-inject-'));
  try {
    const run = (args) => runProgram(args, { folder: work, timeoutMs, heapMb, exitCodes: EXIT_CODES });
    const changed = await lookAt(folder, all, totals, { timeoutMs, heapMb });
    const files = all.filter((file) => changed.has(file));
    for (let at = 0; at < files.length; at += BATCH)
      await roundTrip(files.slice(at, at + BATCH), { folder, work, run, totals });
  } finally {
    rmSync(work, { recursive: true });
  }
  return {
    ...totals,
    refusals: countBy(totals.refusals, ({ message }) => reasonOf(message)),
    refusedFiles: totals.refusals,
    notes: countBy(totals.notes, reasonOf),
    kinds: countBy(totals.kinds, (kind) => kind),
    ms: Math.round(performance.now() - startedAt),
  };
}

/** Which files would be changed, all together; refusals are counted here. */
async function lookAt(folder, files, totals, { timeoutMs, heapMb }) {
  const changed = new Set();
  for (let at = 0; at < files.length; at += BATCH) {
    const batch = files.slice(at, at + BATCH).map((file) => `./${relative(folder, file)}`);
    const answer = await runProgram([...INJECT, '--json', '--', ...batch], {
      folder,
      timeoutMs,
      heapMb,
      exitCodes: EXIT_CODES,
    });
    if (answer.end !== 'exit') {
      totals.crashes.push({ files: batch.length, end: answer.end, said: lastLines(answer.stderr) });
      continue;
    }
    const result = parsed(answer.stdout);
    // Without an answer every file is looked at by itself.
    if (result === undefined) for (const file of batch) changed.add(join(folder, file));
    for (const one of result?.files ?? []) if (one.changed) changed.add(join(folder, one.file));
    totals.refusals.push(...(result?.refused ?? []));
  }
  return changed;
}

async function roundTrip(files, { folder, work, run, totals }) {
  const copies = new Map(files.map((file) => [join(work, relative(folder, file)), file]));
  for (const [copy, file] of copies) {
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
  }
  const names = () => [...copies.keys()].map((copy) => `./${relative(work, copy)}`);
  const failed = (what, answer) =>
    totals.crashes.push({
      files: files.length,
      end: `${what}: ${answer.end}`,
      said: lastLines(answer.stderr),
    });
  // Every refused file is left out; those that remain may be refused for what was in it.
  for (let round = 0; round < 3 && copies.size > 0; round += 1) {
    const answer = await run([...INJECT, '--json', '--', ...names()]);
    if (answer.end !== 'exit') return failed('inject', answer);
    const result = parsed(answer.stdout);
    if (result === undefined) {
      totals.refusals.push({ message: lastLines(answer.stderr) });
      return;
    }
    if (round === 0) totals.notes.push(...result.notes.map(({ text }) => text));
    if (result.refused.length === 0) break;
    for (const { file } of result.refused) copies.delete(join(work, file));
  }
  if (copies.size === 0) return;
  const written = await run([...INJECT, '--write', '--', ...names()]);
  if (written.end !== 'exit') return failed('inject --write', written);
  const changed = [...copies].filter(([copy, file]) => !readFileSync(copy).equals(readFileSync(file)));
  const once = new Map(changed.map(([copy]) => [copy, readFileSync(copy)]));
  for (const [copy, file] of changed)
    totals.kinds.push(...changedKinds(readFileSync(file, 'utf8'), readFileSync(copy, 'utf8')));
  const again = await run([...INJECT, '--write', '--', ...names()]);
  if (again.end !== 'exit') return failed('inject again', again);
  const unstable = changed.filter(([copy]) => !readFileSync(copy).equals(once.get(copy)));
  totals.unstable.push(...unstable.map(([, file]) => relative(folder, file)));
  const removed = await run(['inject', '--remove', '--write', '--', ...names()]);
  if (removed.end !== 'exit') return failed('inject --remove', removed);
  totals.changed += changed.length;
  for (const [copy, file] of changed) {
    if (readFileSync(copy).equals(readFileSync(file))) totals.roundTrips += 1;
    else totals.broken.push(relative(folder, file));
  }
}

/** The kinds of the documents that are not as they were; others may have been added between them. */
function changedKinds(before, after) {
  const documents = (text) => text.split(/^---.*$/m).map((document) => document.trim());
  const now = new Set(documents(after));
  return documents(before)
    .filter((document) => !now.has(document))
    .map((document) => /^\s*"?kind"?:\s*"?([A-Za-z]+)/m.exec(document)?.[1] ?? 'unknown');
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
