import { sizeBehind } from './log-fields.js';
import type { LogFindings, SizeDetails } from './log-findings.js';
import type { LogLine } from './log-line.js';
import type { SettingName } from './sighting-words.js';
import type { Signal } from './signals.js';

/** What is known of one kind of line. */
export interface LogRule {
  /** A part of the message that only such lines have, never split by colours: ASCII, and the search is slower for all when it has less than 12 characters. */
  readonly needle: string;
  /** True where it is read before the others of its line, which then only add what it leaves open. */
  readonly comesFirst?: boolean;
  read(line: LogLine, found: LogFindings): void;
}

/** A rule for lines that have a text. */
export function rule(needle: string, read: LogRule['read']): LogRule {
  return { needle, read };
}

/** A line that is a sign by itself. */
export function signal(needle: string, sign: Signal): LogRule {
  return rule(needle, (line, found) => found.addSignal(sign, line, { about: needle }));
}

/** A line that is a sign, with what it says behind its text as the value. */
export function signalWithRest(needle: string, sign: Signal): LogRule {
  return rule(needle, (line, found) => {
    const at = line.text.indexOf(needle) + needle.length;
    const rest = line.text
      .slice(at, at + MAX_REST_CHARS)
      .replace(/^[\s:.]+/, '')
      .trim();
    found.addSignal(sign, line, { value: rest === '' ? undefined : rest, about: needle });
  });
}

/** A line that says by itself how a worker runs. */
export function workerSetting(needle: string, name: SettingName, value: string): LogRule {
  return rule(needle, (line, found) =>
    found.addSetting(line, name, { side: 'worker', value, about: needle }),
  );
}

/** The block size of a worker, right behind `about` in a line; nothing where none stands there. */
export function addWorkerSize(
  line: LogLine,
  found: LogFindings,
  about: string,
  basis: SizeDetails['basis'],
): void {
  found.addSize(line, { side: 'worker', tokensPerBlock: sizeBehind(line.text, about), basis, about });
}

/** Characters of an error that are kept to distinguish errors. */
const MAX_REST_CHARS = 120;
