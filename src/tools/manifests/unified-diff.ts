import { createRequire } from 'node:module';

type Diff = typeof import('diff');

let loaded: Diff | undefined;

/** Loaded for the first change: most runs propose none, and it has twenty files. */
function diff(): Diff {
  loaded ??= createRequire(import.meta.url)('diff') as Diff;
  return loaded;
}

/** Lines around a change, as `diff -u` has them. */
const CONTEXT_LINES = 3;

/**
 * The change of one file as `patch -p1` and `git apply` take it: headers
 * `--- a/FILE` and `+++ b/FILE`, then the hunks. Empty when nothing differs.
 */
export function unifiedDiff(file: string, before: string, after: string): string {
  if (before === after) return '';
  const name = file.replace(/^\/+/, '');
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = diff();
  return createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, {
    context: CONTEXT_LINES,
    headerOptions: FILE_HEADERS_ONLY,
  });
}
