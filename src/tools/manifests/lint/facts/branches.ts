import type { Launch } from '../launches/launch.js';

/** Ways through the scripts of one fleet that are looked at. */
const MAX_WAYS = 200;

/**
 * Programs that serve together, once for each branch of their scripts: with what is outside of every branch, and never with those of
 * another branch. What chooses may be the rank of a node, so that two of them run after all; that is not known.
 */
export function withoutOtherBranches(launches: readonly Launch[]): readonly (readonly Launch[])[] {
  const ways = new Map<string, readonly string[]>();
  for (const { branch, source } of launches)
    if (branch !== undefined) ways.set(keyOf(source.file, branch), [source.file, ...branch]);
  const all = [...ways.values()];
  const longest = all.filter(
    (way) => !all.some((other) => other.length > way.length && isWithin(other, way)),
  );
  if (longest.length === 0) return [launches];
  return longest
    .slice(0, MAX_WAYS)
    .map((way) =>
      launches.filter(
        ({ branch, source }) => branch === undefined || isWithin(way, [source.file, ...branch]),
      ),
    );
}

/** Whether a way goes through a branch. */
function isWithin(way: readonly string[], branch: readonly string[]): boolean {
  return branch.every((step, index) => way[index] === step);
}

function keyOf(file: string, branch: readonly string[]): string {
  return [file, ...branch].join('\n');
}
