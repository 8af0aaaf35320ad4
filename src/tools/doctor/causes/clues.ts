import type { Finding } from '../../manifests/lint/findings/finding.js';
import type { ClueAgainst, ClueFor, Symptom } from '../confidence.js';
import type { Origin } from '../evidence.js';

/** A clue for a cause: one sentence with the real numbers, and where it was read. */
export function clueFor(
  weight: ClueFor['weight'],
  says: string,
  origin: Origin | undefined,
  symptom?: Symptom,
): ClueFor {
  return { says, origin, weight, ...(symptom === undefined ? {} : { symptom }) };
}

/** A clue against a cause. */
export function clueAgainst(
  weight: ClueAgainst['weight'],
  says: string,
  origin: Origin | undefined,
): ClueAgainst {
  return { says, origin, weight };
}

/** What `make` says of something that was seen; nothing when it was not (`undefined` or `false`). */
export function when<T, Clue>(
  seen: T | undefined | false,
  make: (seen: T) => Clue | readonly Clue[],
): readonly Clue[] {
  return seen === undefined || seen === false ? [] : ([make(seen)].flat() as readonly Clue[]);
}

/** What `lint` found in a manifest, as a clue. */
export function findingClue({ message, file, line, column }: Finding, weight: ClueFor['weight']): ClueFor {
  return clueFor(weight, `${message}.`, { place: `${file}:${line}:${column}`, text: '' });
}
