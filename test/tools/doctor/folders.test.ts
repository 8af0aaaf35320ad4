import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const DOCTOR = new URL('../../../src/tools/doctor/', import.meta.url);
const README = readFileSync(new URL('README.md', DOCTOR), 'utf8');
const [FOLDERS_TABLE = ''] = README.split('## Where to add what');
/** In the order of the table. */
const FOLDERS = [...FOLDERS_TABLE.matchAll(/^\| `([a-z-]+)\/` \|/gm)].map(([, name = '']) => name);

function filesOf(folder: string): readonly string[] {
  return readdirSync(new URL(`${folder}/`, DOCTOR), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
}

/** Folders of the doctor that a file imports, by their names. */
function importedBy(folder: string, file: string): readonly string[] {
  const url = new URL(`${folder}/${file}`, DOCTOR);
  return [...readFileSync(url, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)].flatMap(
    ([, path = '']) => {
      const target = new URL(path, url).href;
      return target.startsWith(DOCTOR.href)
        ? (target.slice(DOCTOR.href.length).split('/').slice(0, -1)[0] ?? [])
        : [];
    },
  );
}

describe('the folders of the doctor', () => {
  it('are those of its README', () => {
    const folders = readdirSync(DOCTOR, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect([...FOLDERS].sort()).toEqual(folders.map(({ name }) => name).sort());
  });

  it.each(FOLDERS)('%s/ imports only folders that stand above it there', (folder) => {
    const above = FOLDERS.slice(0, FOLDERS.indexOf(folder) + 1);
    const against = filesOf(folder).flatMap((file) =>
      importedBy(folder, file)
        .filter((name) => !above.includes(name))
        .map((name) => `${file} imports ${name}/`),
    );
    expect(against).toEqual([]);
  });

  it('have the files that the README names', () => {
    const names = [...README.matchAll(/`((?:[a-z-]+\/)*[a-z-]+\.ts)`/g)].map(([, name = '']) => name);
    const known = ['', ...FOLDERS].flatMap((folder) =>
      folder === '' ? readdirSync(DOCTOR) : filesOf(folder).map((file) => `${folder}/${file}`),
    );
    const missing = names.filter(
      (name) =>
        !name.startsWith('src/') && !name.startsWith('test/') && !known.some((path) => path.endsWith(name)),
    );
    expect(missing).toEqual([]);
  });
});
