import { placesIn, type SourceFile } from '../source-file.js';
import { readFleets } from './facts/fleet.js';
import { findNotChecked, type NotChecked } from './facts/not-checked.js';
import type { Finding } from './findings/finding.js';
import { findUnreadable } from './rules/unreadable.js';
import { FLEET_RULES } from './rules.js';
import type { TextSource } from './text/span.js';

/**
 * Everything that is wrong with a set of manifests and shell scripts, which are
 * one view of a deployment: programs of different files are compared where they
 * serve together. Pure; findings come rule by rule. `onNotChecked` is called once, with
 * the programs that were seen and compared with nothing.
 */
export function lintFiles(
  files: readonly SourceFile[],
  shellFiles: readonly { readonly file: string; readonly text: string }[],
  onNotChecked: (programs: readonly NotChecked[]) => void = () => undefined,
): readonly Finding[] {
  const fleets = readFleets(files, shellFiles.map(toTextSource));
  onNotChecked(findNotChecked(fleets));
  return [
    ...files.flatMap((file) => findUnreadable(file)),
    ...FLEET_RULES.flatMap(({ check }) => fleets.flatMap((fleet) => check(fleet, fleets))),
  ];
}

/** Programs that the files start and that are known here: with none, nothing is compared. */
export function countPrograms(
  files: readonly SourceFile[],
  shellFiles: readonly { readonly file: string; readonly text: string }[],
): number {
  const fleets = readFleets(files, shellFiles.map(toTextSource));
  return fleets.reduce((count, { launches }) => count + launches.length, 0);
}

function toTextSource({ file, text }: { readonly file: string; readonly text: string }): TextSource {
  return { file, text, placeOf: placesIn(text) };
}
