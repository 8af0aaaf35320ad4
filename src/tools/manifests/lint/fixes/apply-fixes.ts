import { applyEdits, type TextEdit, touches } from '../../text-edit.js';
import type { Finding } from '../findings/finding.js';

/** A file's text under the name that findings have for it. */
export interface NamedText {
  readonly file: string;
  readonly text: string;
}

/** Rounds of fixing: a fix that had to wait for another gets its turn, and a fix that undoes another cannot go on for ever. */
const MAX_ROUNDS = 10;

/**
 * Applies every fix that can be applied, looks again, and goes on until none is
 * left: fixes of the same place follow one another. Returns the texts, changed
 * or not, and what is still found in them.
 */
export function fixAll(
  texts: readonly NamedText[],
  lint: (texts: readonly NamedText[]) => readonly Finding[],
): { readonly texts: readonly NamedText[]; readonly findings: readonly Finding[]; readonly applied: number } {
  let current = texts;
  let findings = lint(current);
  let applied = 0;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const next = applyFixes(current, findings);
    if (next.applied === 0) break;
    current = next.texts;
    applied += next.applied;
    findings = lint(current);
  }
  return { texts: current, findings, applied };
}

/** One round: the fixes in their order, without those that touch what an earlier one changes. */
function applyFixes(
  texts: readonly NamedText[],
  findings: readonly Finding[],
): { readonly texts: readonly NamedText[]; readonly applied: number } {
  const known = new Map(texts.map(({ file, text }) => [file, text]));
  const edits = new Map<string, TextEdit[]>();
  let applied = 0;
  for (const { fix } of findings) {
    if (fix === undefined || !known.has(fix.file)) continue;
    const taken = edits.get(fix.file) ?? [];
    if (fix.edits.some((edit) => taken.some((other) => touches(edit, other)))) continue;
    edits.set(fix.file, [...taken, ...fix.edits]);
    applied += 1;
  }
  return {
    applied,
    texts: texts.map(({ file, text }) => ({ file, text: applyEdits(text, edits.get(file) ?? []) })),
  };
}
