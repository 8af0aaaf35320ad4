import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Each file of `src`, with the files that it imports as it is loaded, also for types alone. */
function importsByFile(): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'));
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const imported = [...text.matchAll(/^(?:import|export|\}).* from '(\.[^']+)\.js';$/gm)];
      // An import says `.js` of a `.ts` and of a `.tsx` file.
      const targets = imported.map(([, path]) => posix.join(posix.dirname(file), `${path}`));
      return [file, targets.map((path) => `${path}${files.includes(`${path}.tsx`) ? '.tsx' : '.ts'}`)];
    }),
  );
}

/** The files that import each other in a circle, by Kahn: what remains when files without imports are taken away again and again, from both ends. */
function inCircles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  let left = new Map(imports);
  for (;;) {
    const imported = new Set([...left.values()].flat());
    const next = new Map(
      [...left].filter(([file, to]) => imported.has(file) && to.some((other) => left.has(other))),
    );
    if (next.size === left.size) return [...left.keys()].sort();
    left = next;
  }
}

it('the modules of src import each other in no circle', () => {
  const imports = importsByFile();
  expect(imports.size).toBeGreaterThan(500);
  expect(inCircles(imports)).toEqual([]);
});

it('a circle of modules is found', () => {
  const circle = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['b']],
    ['d', []],
  ]);
  expect(inCircles(circle)).toEqual(['b', 'c']);
});
