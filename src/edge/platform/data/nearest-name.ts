import { createRequire } from 'node:module';

type Levenshtein = typeof import('fastest-levenshtein');

let loaded: Levenshtein | undefined;

/** Loaded when a name is wrong: to every start it would cost as much as reading all settings. */
function levenshtein(): Levenshtein {
  loaded ??= createRequire(import.meta.url)('fastest-levenshtein') as Levenshtein;
  return loaded;
}

/** The known name that takes the fewest changes of single characters, and how many; undefined where none is known. */
export function nearestName(
  name: string,
  known: readonly string[],
): { readonly name: string; readonly distance: number } | undefined {
  if (known.length === 0) return undefined;
  const { closest, distance } = levenshtein();
  const best = closest(name, known);
  return { name: best, distance: distance(name, best) };
}
