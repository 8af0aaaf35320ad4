import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Words of `docs/glossary.md` that are avoided, with those that stand in their place. */
const AVOIDED: readonly (readonly [RegExp, string])[] = [
  [/\b(told|tells)\b/i, 'reported, said, discovered'],
  [/\btell[A-Z]|#tell\b/, 'report, log, notify'],
  [/\banew\b/i, 'again'],
  [/\bmend(s|ed|ing)?\b/i, 'fix, correct'],
  [/\bwhoever\b/i, 'anyone who'],
  [/\b(held|hold|holds) against\b/i, 'checked against'],
  [/\bat once\b/i, 'immediately, or together'],
  [/\bcuts? (every|blocks|KV blocks|\d+)\b/i, 'a block size of'],
  [/\bstandings?\b/i, 'cache knowledge, engine health'],
  [/\bbags?\b/i, 'unordered set'],
  [/\b(intake|crew|patience|camps)\b/i, 'queue, processes, timeout, value groups'],
];

/** This list, the glossary itself, texts that were released, and generated code. */
const EXEMPT = [
  'test/house/plain-words.test.ts',
  'docs/glossary.md',
  'CHANGELOG.md',
  'test/fixtures',
  'src/gen',
];
/** Lines that read or write what older versions wrote. */
const OF_OLDER_VERSIONS =
  /\['reporting', 'told'\]|contradiction\('the engine cuts blocks of |"the engine cuts blocks of 32 tokens/;
const READ = /\.(ts|mts|mjs|md|yaml|tpl|proto|py|sh)$/;

function filesOf(path: string): string[] {
  if (EXEMPT.includes(path) || path.includes('node_modules')) return [];
  if (statSync(join(root, path)).isFile()) return READ.test(path) ? [path] : [];
  return readdirSync(join(root, path)).flatMap((name) => filesOf(`${path}/${name}`));
}

const places = ['src', 'test', 'bench', 'docs', 'deploy', 'proto/kvaccord', 'scripts', 'examples'];
const files = [...places, 'README.md', 'CONTRIBUTING.md', 'SECURITY.md'].flatMap(filesOf);

describe('plain words', () => {
  it.each(AVOIDED)('%s stands nowhere: write %s', (avoided) => {
    const found = files.flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((line, at) =>
          avoided.test(line) && !OF_OLDER_VERSIONS.test(line)
            ? [`${file}:${at + 1}: ${line.trim().slice(0, 120)}`]
            : [],
        ),
    );
    expect(found).toEqual([]);
  });
});
