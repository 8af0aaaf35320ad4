import { unifiedDiff } from '../../manifests/unified-diff.js';
import { onOneLine, withoutControls } from '../../platform/printable.js';
import type { Clue, ProposedFix } from '../diagnosis.js';
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

/** A clue with its place behind it. */
export function clueText({ says, origin }: Clue): string {
  return origin === undefined ? onOneLine(says) : `${onOneLine(says)} (${placeText(origin)})`;
}

/** `name: DB_PASSWORD`, whose value stands on a line of its own. */
const SECRET_NAME =
  /^[ +-]\s*(?:- )?name:\s*['"]?[\w.-]*(?:token|secret|passw|password|api_?key|access_?key|credential)[\w.-]*['"]?\s*$/i;
const VALUE = /^([ +-]\s*value:\s*)\S.*$/;

/** The change of one file as a patch that may be shown to anybody. It is not for `patch`, which `writePlan` has. */
export function shownDiff({ file, before, after }: ProposedFix['files'][number]): string {
  let isSecret = false;
  const lines = unifiedDiff(onOneLine(file), before, after)
    .split('\n')
    .map((line) => {
      const value = isSecret ? VALUE.exec(line) : null;
      isSecret = SECRET_NAME.test(line);
      return withoutControls(value === null ? masked(line) : `${value[1] ?? ''}[masked]`);
    });
  return lines.join('\n').trimEnd();
}

/** Only the lines that come and go, at most `maxLines`, and how many were left out. */
export function changedLines(diff: string, maxLines: number): { lines: readonly string[]; more: number } {
  const all = diff.split('\n').filter((line) => /^[+-](?!-- |\+\+ )/.test(line));
  return { lines: all.slice(0, maxLines), more: Math.max(0, all.length - maxLines) };
}
