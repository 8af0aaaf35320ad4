import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../src', import.meta.url));

/** What constructors take has a comment at each field, and is no idea of its own. */
const OF_CONSTRUCTORS = /(?:Options|Modules)$/;
/** Made by `npm run generate`. */
const GENERATED = /^gen\/|^core\/blocks\/kernels\//;

/** A declaration that is exported, and what stands in the lines before it: a comment, and notes for the linter. */
const EXPORT =
  /(\*\/\n(?:\/\/ biome-ignore [^\n]*\n)*|^|\n)export (?:async |abstract )?(?:const|function|class|interface|type) (\w+)/g;

/** Exports without a comment right before them, each as `file: name`. */
function exportsWithoutComment(file: string, source: string): string[] {
  return [...source.matchAll(EXPORT)]
    .filter(([, before = '', name = '']) => !before.startsWith('*/') && !OF_CONSTRUCTORS.test(name))
    .map(([, , name]) => `${file}: ${name}`);
}

describe('an export', () => {
  it('has a comment that says what it is', () => {
    const files = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((file) => !GENERATED.test(file));
    expect(files.length).toBeGreaterThan(1_000);
    expect(
      files.flatMap((file) => exportsWithoutComment(file, readFileSync(join(root, file), 'utf8'))),
    ).toEqual([]);
  });

  it.each([
    ['export const A = 1;', ['a.ts: A']],
    ['// What it is.\nexport function a(): void {}', ['a.ts: a']],
    ['/** Another. */\nconst B = 1;\nexport class A {}', ['a.ts: A']],
    ['/** What it is. */\nexport type A = 1;\nexport interface AOptions {}\nexport { B } from "./b.js";', []],
  ])('is found in %j as it should be', (source, found) => {
    expect(exportsWithoutComment('a.ts', source)).toEqual(found);
  });
});
