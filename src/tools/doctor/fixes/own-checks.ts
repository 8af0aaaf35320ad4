import type { ProposedFix } from '../diagnosis.js';
import type { Origin } from '../evidence.js';
import type { LogSummary } from '../logs/log-summary.js';

/** `kubectl logs WORKER --since=10m | grep -ciE "refused|not reached"    # should be 0`: lines that have to be gone. */
const COUNT =
  /^kubectl logs (\S+)((?: --\S+){0,4}) \| grep -c([iE]{0,2}) (?:"([^"]+)"|(\S+)) +# (.*should be 0.*)$/;
/** What stands before a message, and splits no sentence. */
const LEVEL = /^(?:ERROR|ERR|WARN|WARNING|INFO|DEBUG|CRITICAL|FATAL):?$/;
/** A word that is the same in each such line: no number, no id, no path. */
const PLAIN_WORD = /^[("'[]{0,2}([A-Za-z_][A-Za-z_'-]*[:,;]?)([."'\])]{0,3})$/;
const MIN_CHARS = 8;
const MAX_WORDS = 8;

/**
 * Checks that count lines of a log, for lines such as those of the finding: one that matches none of them would show 0
 * before anything was repaired. It gets the words of the first of them then.
 */
export function withOwnChecks(
  fixes: readonly ProposedFix[],
  origins: readonly Origin[],
  logs: readonly LogSummary[],
): readonly ProposedFix[] {
  const firsts = new Set(logs.flatMap(({ signals }) => [...signals.values()].map(({ first }) => first.text)));
  // Of settings there is none: the line of a program's start comes again, with another value.
  const lines = origins.map(({ text }) => text).filter((text) => text !== '' && firsts.has(text));
  const [line] = lines;
  if (line === undefined) return fixes;
  return fixes.map((fix) => ({ ...fix, verify: fix.verify.map((check) => ownCheck(check, lines, line)) }));
}

function ownCheck(check: string, lines: readonly string[], line: string): string {
  const [, pod = 'POD', options = '', flags = '', quoted, bare = '', expected = ''] = COUNT.exec(check) ?? [];
  if (expected === '') return check;
  const pattern = new RegExp(quoted ?? bare, flags.includes('i') ? 'i' : '');
  if (lines.some((one) => pattern.test(one))) return check;
  const words = ownWords(line);
  if (words === undefined) return check;
  // Which program wrote the line is not said: a frontend only where its own lines were asked for.
  return `kubectl logs ${pod === 'FRONTEND' ? 'POD' : pod}${options} | grep -cE "${words}"    # ${expected}`;
}

/** The longest run of plain words in a line, for `grep`; of a frame of a traceback its file and function. @internal */
export function ownWords(line: string): string | undefined {
  const [, file, place] = /([\w-]{1,80}\.py)", line \d{1,7}, in (\w{1,80})/.exec(line) ?? [];
  if (file !== undefined) return `${file}.*in ${place}`;
  const runs: string[][] = [[]];
  for (const token of line.split(' ')) {
    const [, word, end = ''] = PLAIN_WORD.exec(token) ?? [];
    if (word === undefined || LEVEL.test(token)) {
      runs.push([]);
      continue;
    }
    if (token.search(/[A-Za-z_]/) > 0) runs.push([]);
    runs.at(-1)?.push(word);
    if (end !== '') runs.push([]);
  }
  const texts = runs.map((run) =>
    run
      .slice(0, MAX_WORDS)
      .join(' ')
      .replace(/[:,;]$/, ''),
  );
  const longest = texts.reduce((best, text) => (text.length > best.length ? text : best), '');
  return longest.length < MIN_CHARS ? longestName(line) : longest;
}

/** Where no words stand side by side: `ucs_handle_error`. */
function longestName(line: string): string | undefined {
  const names = line.match(/[A-Za-z_]{8,80}/g) ?? [];
  return names.sort((a, b) => b.length - a.length)[0];
}
