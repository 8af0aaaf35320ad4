import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { runProgram } from './run-program.mjs';

/** Nothing found, findings, bad usage. */
const EXIT_CODES = [0, 1, 2];

/** What lint says of a repository, all files together as one view. */
export async function lintTree(name, folder, { docs, timeoutMs, heapMb }) {
  const args = ['lint', '--json', '--fail-on', 'note', ...(docs ? ['--docs'] : []), '.'];
  const run = await runProgram(args, { folder, timeoutMs, heapMb, exitCodes: EXIT_CODES });
  const { code, ms, cpuMs, peakBytes } = run;
  const measured = { end: run.end, code, ms, cpuMs, peakBytes };
  let answer;
  try {
    answer = JSON.parse(run.stdout);
  } catch {
    // Bad usage alone has an answer in words.
    const end = run.end === 'exit' && run.code !== 2 ? 'crash' : run.end;
    return { ...measured, end, findings: [], bySeverity: {}, byRule: {}, said: lastLines(run.stderr) };
  }
  const seen = new Map();
  const findings = answer.findings.map((finding) => {
    const { rule_id: rule, file, line, severity, message, advice, fix } = finding;
    const key = [name, file, rule, line].join('\n');
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    const id = createHash('sha256').update(`${key}\n${nth}`).digest('hex').slice(0, 12);
    return {
      id,
      name,
      path: join(folder, file),
      file,
      line,
      rule,
      severity,
      message,
      advice,
      hasFix: fix !== null,
    };
  });
  return {
    ...measured,
    findings,
    bySeverity: countBy(findings, ({ severity }) => severity),
    byRule: countBy(findings, ({ rule, severity }) => `${rule} ${severity}`),
    unreadable: countBy(
      findings.filter(({ rule }) => rule === 'unreadable'),
      ({ message }) => reasonOf(message),
    ),
    said: lastLines(run.stderr),
  };
}

/** A message without its names and numbers. */
export function reasonOf(message) {
  return message
    .replace(/"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`/g, '…')
    .replace(/\d+/g, 'N')
    .slice(0, 120);
}

/** How many there are of each word, most first. */
export function countBy(list, wordOf) {
  const counts = new Map();
  for (const one of list) counts.set(wordOf(one), (counts.get(wordOf(one)) ?? 0) + 1);
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]));
}

/** The end of what a program wrote to standard error. */
export function lastLines(text) {
  return text.trimEnd().split('\n').slice(-5).join('\n').slice(-1_000);
}
