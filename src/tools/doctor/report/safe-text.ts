import { onOneLine, withoutControls } from '../../../core/text/printable.js';
import { unifiedDiff } from '../../manifests/unified-diff.js';
import type { ProposedFix } from '../diagnosis.js';
import type { Origin } from '../evidence.js';
import { masked } from '../logs/masking.js';

/** Where something was seen, fit for a person's screen: URLs may have credentials. */
export function placeText(origin: Origin): string {
  return onOneLine(masked(origin.place));
}

/** What stood there, on one line. */
export function rawText(origin: Origin): string {
  return onOneLine(masked(origin.text));
}

const SECRET_WORD = /[\w.-]*(?:token|secret|passw|api[_-]?key|access[_-]?key|credential)[\w.-]*/.source;
/** `name: DB_PASSWORD`, whose value stands on the line after it. */
const SECRET_NAME = new RegExp(`^\\s*(?:- +)?name:\\s*['"]?${SECRET_WORD}['"]?\\s*$`, 'i');
/** The same where its value stands before it: no item of a list begins here. */
const SECRET_NAME_BEHIND = new RegExp(`^\\s*name:\\s*['"]?${SECRET_WORD}['"]?\\s*$`, 'i');
/** `{name: DB_PASSWORD, value: …}`. */
const SECRET_IN_FLOW = new RegExp(
  `(name['"]?:\\s*['"]?${SECRET_WORD}['"]?\\s*,\\s*['"]?value['"]?:\\s*)[^,}]+`,
  'gi',
);
const VALUE = /^(\s*(?:- +)?value:\s*)\S.*$/;

/** The change of one file as a patch that may be shown to anyone. It is not for `patch`, which `writePlan` has. */
export function shownDiff({ file, before, after }: ProposedFix['files'][number]): string {
  return withoutControls(
    unifiedDiff(onOneLine(file), withoutSecrets(before), withoutSecrets(after)),
  ).trimEnd();
}

/** A manifest whose variables with names of secrets have no values. */
function withoutSecrets(text: string): string {
  const lines = text.split('\n');
  /** Where the key of a hidden value stands, whose further lines stand deeper. */
  let hiddenAt: number | undefined;
  return lines
    .map((line, index) => {
      const indent = line.search(/\S/);
      if (hiddenAt !== undefined && indent > hiddenAt) return `${line.slice(0, indent)}[masked]`;
      hiddenAt = undefined;
      const value = VALUE.exec(line)?.[1];
      if (value === undefined || !isSecret(line, lines[index - 1], lines[index + 1]))
        return masked(line).replace(SECRET_IN_FLOW, '$1[masked]');
      hiddenAt = value.search(/v/);
      return `${value}[masked]`;
    })
    .join('\n');
}

/** Whether the name next to a value, in the same item of a list, is that of a secret. */
function isSecret(value: string, above = '', below = ''): boolean {
  return /^\s*-/.test(value)
    ? SECRET_NAME_BEHIND.test(below)
    : SECRET_NAME.test(above) || SECRET_NAME_BEHIND.test(below);
}

/** Only the lines that come and go, at most `maxLines`, and how many were left out. */
export function changedLines(diff: string, maxLines: number): { lines: readonly string[]; more: number } {
  const all = diff.split('\n').filter((line) => /^[+-](?!-- |\+\+ )/.test(line));
  return { lines: all.slice(0, maxLines), more: Math.max(0, all.length - maxLines) };
}
