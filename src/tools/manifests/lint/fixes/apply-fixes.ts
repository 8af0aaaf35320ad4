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
  const first = new Map(texts.map(({ file, text }) => [file, text]));
  const seen = new Map(texts.map(({ file, text }) => [file, [text]]));
  const counts = new Map<string, number>();
  // Files in which one change asks for another, which asks for the first again: they stay as they were.
  const circling = new Set<string>();
  let current = texts;
  let findings = lint(current);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const next = applyFixes(
      current,
      findings.filter(({ fix }) => fix === undefined || !circling.has(fix.file)),
    );
    if (next.applied.size === 0) break;
    for (const [file, count] of next.applied) counts.set(file, (counts.get(file) ?? 0) + count);
    for (const { file, text } of next.texts) {
      if (!next.applied.has(file)) continue;
      const before = seen.get(file) ?? [];
      if (before.includes(text)) circling.add(file);
      else seen.set(file, [...before, text]);
    }
    current = next.texts.map((one) =>
      circling.has(one.file) ? { ...one, text: first.get(one.file) ?? one.text } : one,
    );
    findings = lint(current);
  }
  const applied = [...counts].reduce((sum, [file, count]) => sum + (circling.has(file) ? 0 : count), 0);
  return { texts: current, findings, applied };
}

/** One round: the fixes in their order, without those that touch what an earlier one changes. */
function applyFixes(
  texts: readonly NamedText[],
  findings: readonly Finding[],
): { readonly texts: readonly NamedText[]; readonly applied: ReadonlyMap<string, number> } {
  const known = new Map(texts.map(({ file, text }) => [file, text]));
  const edits = new Map<string, TextEdit[]>();
  const applied = new Map<string, number>();
  for (const { fix } of findings) {
    if (fix === undefined || !known.has(fix.file)) continue;
    const taken = edits.get(fix.file) ?? [];
    if (fix.edits.some((edit) => taken.some((other) => touches(edit, other)))) continue;
    edits.set(fix.file, [...taken, ...fix.edits]);
    applied.set(fix.file, (applied.get(fix.file) ?? 0) + 1);
  }
  return {
    applied,
    texts: texts.map(({ file, text }) => ({ file, text: applyEdits(text, edits.get(file) ?? []) })),
  };
}
