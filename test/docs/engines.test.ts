import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sidecarSettings } from '../../src/cli/commands/sidecar/settings.js';
import { ENGINE_WORDS } from '../../src/core/contract/wire/engine-kinds.js';
import { ENGINES } from '../../src/engines/catalogue/engines.js';
import type { DefaultSize, Release } from '../../src/engines/descriptor/default-size.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');

/** The section of CONTRIBUTING.md that shows how an engine is added. */
const section = /\n## Add an engine\n(.*?)\n## /s.exec(read('CONTRIBUTING.md'))?.[1] ?? '';

/** Rooms of `src/engines` that are no engine. */
const SHARED: ReadonlySet<string> = new Set(['catalogue', 'descriptor', 'diagnosis', 'facts', 'probing']);
const folders = readdirSync(`${root}/src/engines`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !SHARED.has(entry.name))
  .map(({ name }) => name)
  .sort();

/** Files by folder as the table lists them: `vllm/metrics.ts`. */
function listed(): string[] {
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => {
    const [, files = '', engines = ''] = row.split('|').map((cell) => cell.trim());
    const names = engines === 'all' ? folders : engines.split(', ');
    return [...files.matchAll(/`([^`]+)`/g)].flatMap(([, file]) => names.map((name) => `${name}/${file}`));
  });
}

describe('adding an engine, as CONTRIBUTING.md shows it', () => {
  it('lists every file of every engine, and no other', () => {
    const there = folders.flatMap((folder) =>
      readdirSync(`${root}/src/engines/${folder}`).map((file) => `${folder}/${file}`),
    );
    expect(listed().sort()).toEqual(there.sort());
  });

  it('names no file of the repository that is not there', () => {
    const paths = [...section.matchAll(/`((?:src|test|proto|scripts)\/[^`\s]+\.[a-z]+)`/g)].map(
      ([, path]) => path,
    );
    expect(paths.length).toBeGreaterThan(5);
    expect(paths.filter((path) => !existsSync(`${root}/${path}`))).toEqual([]);
  });

  it('is what each engine did: a folder, a word, a choice of --engine-kind, a place in the catalogue', () => {
    expect(ENGINES.map(({ word }) => word).sort()).toEqual(folders);
    expect([...ENGINE_WORDS].sort()).toEqual(folders);
    expect([...sidecarSettings['engine-kind'].choices].sort()).toEqual(['auto', ...folders].sort());
    expect(new Set(ENGINES.map(({ kind }) => kind)).size).toBe(ENGINES.length);
  });
});

describe('the default block sizes in docs/lint.md', () => {
  it('are those of the descriptors', () => {
    const rows = ENGINES.flatMap(({ defaultSizes }) => defaultSizes).map(rowOf);
    expect(rows.length).toBeGreaterThan(10);
    expect(read('docs/lint.md')).toContain(
      `| program | tokens | where | releases |\n|---|---|---|---|\n${rows.join('\n')}\n\n`,
    );
  });
});

function rowOf({ program, tokensPerBlock, where, since, until }: DefaultSize): string {
  const from = since === undefined ? [] : [`from ${textOf(since)}`];
  const before = until === undefined ? [] : [`before ${textOf(until)}`];
  const releases = [...from, ...before].join(', ') || 'all that are known';
  return `| \`${program}\` | ${tokensPerBlock} | ${where ?? 'everywhere'} | ${releases} |`;
}

function textOf({ major, minor }: Release): string {
  return `${major}.${minor}`;
}
