import type { Finding } from '../findings/finding.js';
import { MAX_RELATED } from '../findings/lint-rule.js';
import { mayDecide } from './deciding-words.js';

/** A line that begins with a flag. */
const FLAG_LINE = /^[ \t]*(--[A-Za-z][\w-]*)/;

/** Lines of one command that are followed. */
const MAX_LINES = 200;

/**
 * Findings of a script, with the arguments that their command has lost: lines that begin with a flag behind one without a backslash, or behind
 * a comment between them, are commands of their own.
 */
export function withLostArguments(
  findings: readonly Finding[],
  textOf: (file: string) => string | undefined,
): readonly Finding[] {
  const known = new Map<string, readonly string[] | undefined>();
  const linesOf = (file: string): readonly string[] | undefined => {
    if (!known.has(file)) known.set(file, textOf(file)?.split('\n'));
    return known.get(file);
  };
  return findings.map((finding) => {
    const lines = linesOf(finding.file);
    const lost = lines === undefined ? undefined : lostBehind(lines, finding.line - 1);
    if (lost === undefined || !mayDecide(lost.flag)) return finding;
    // What it would add is there, and is not given.
    const { fix: _fix, ...rest } = finding;
    const { file, related = [] } = finding;
    const place = { file, line: lost.line, column: 1, says: `${lost.flag} begins a command of its own` };
    return {
      ...rest,
      advice: `Join line ${lost.line} (${lost.flag}) to the command in front of it: no backslash leads to it, so it is a command of its own, and its arguments are lost. If they are not meant for it: ${finding.advice}`,
      related: [...related, place].slice(-MAX_RELATED),
    };
  });
}

/** The first flag that a command has lost, of which one line is given. */
function lostBehind(
  lines: readonly string[],
  first: number,
): { readonly line: number; readonly flag: string } | undefined {
  let last = first;
  for (; last < first + MAX_LINES && /\\[ \t\r]*$/.test(lines[last] ?? ''); last += 1)
    // A comment ends the command, whatever it ends in.
    if (/^[ \t]*#/.test(lines[last] ?? '')) break;
  let next = last + 1;
  while (next < last + MAX_LINES && /^[ \t]*#/.test(lines[next] ?? '')) next += 1;
  const flag = FLAG_LINE.exec(lines[next] ?? '')?.[1];
  return flag === undefined ? undefined : { line: next + 1, flag };
}
