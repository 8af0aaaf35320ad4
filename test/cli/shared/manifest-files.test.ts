import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SettingError } from '../../../src/app/setting-error.js';
import { readManifestFiles, writeManifestFile } from '../../../src/cli/shared/manifest-files.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kv-accord-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes files below the test's folder. */
function write(files: Readonly<Record<string, string | Buffer>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, content);
  }
}

/** What is read, by names below the test's folder. */
async function read(operands: readonly string[], extensions?: readonly string[]): Promise<readonly string[]> {
  const found = await readManifestFiles(
    operands.map((operand) => (operand === '-' ? operand : join(folder, operand))),
    { readStandardInput: async () => Buffer.from('kind: Pod\n') },
    extensions === undefined ? {} : { extensions },
  );
  return found.map(({ file }) => file.replace(`${folder}/`, ''));
}

describe('readManifestFiles', () => {
  it('gives every byte of a file, with its byte order mark and its line ends', async () => {
    write({ 'a.yaml': '\ufeffkind: Pod\r\n# end' });
    const [file] = await readManifestFiles([join(folder, 'a.yaml')]);
    expect(file).toEqual({ file: join(folder, 'a.yaml'), text: '\ufeffkind: Pod\r\n# end' });
  });

  it('keeps nothing of a large file that holds schemas or data alone', async () => {
    const schema = `kind: CustomResourceDefinition\nspec: "vllm ${'x'.repeat(70_000)}"\n`;
    const workload = `kind: Deployment\nspec: ${'x'.repeat(70_000)}\n`;
    write({
      'crd.yaml': schema,
      'data.json': `{"instances": [${'1, '.repeat(30_000)}1]}`,
      'small.yaml': 'tokens_per_block: 64\n',
      'both.yaml': `${schema}---\n${workload}`,
    });
    const found = await readManifestFiles([folder]);
    expect(found.map(({ file, text }) => [file.replace(`${folder}/`, ''), text.length])).toEqual([
      ['both.yaml', schema.length + workload.length + 4],
      ['crd.yaml', 0],
      ['data.json', 0],
      ['small.yaml', 21],
    ]);
  });

  it('goes on with the other files of a folder where one is no text, and names it', async () => {
    write({
      'a.yaml': Buffer.from([0x23, 0xe9, 0x0a]),
      'b.yaml': 'kind: Pod\n',
      'c.json': Buffer.alloc(17 * 1024 * 1024, 0x20),
    });
    const unread: string[] = [];
    const onUnread = (file: string, why: string): void => {
      unread.push(`${file.replace(`${folder}/`, '')}: ${why}`);
    };
    const found = await readManifestFiles([folder], { onUnread });
    expect(found.map(({ file }) => file.replace(`${folder}/`, ''))).toEqual(['b.yaml']);
    expect(unread).toEqual([
      'a.yaml: it is no text in UTF-8',
      expect.stringMatching(/^c\.json: it has \d+ bytes/),
    ]);
    await expect(readManifestFiles([join(folder, 'a.yaml')], { onUnread })).rejects.toThrow(
      'must be text in UTF-8',
    );
    await expect(readManifestFiles([folder])).rejects.toThrow(SettingError);
  });

  it('leaves out the templates of charts below a folder, and names each chart', async () => {
    write({
      'chart/Chart.yaml': '',
      'chart/values.yaml': '',
      'chart/templates/deployment.yaml': '{{ .Values }}',
      'other/templates/pod.yaml': '',
    });
    const charts: string[] = [];
    const found = await readManifestFiles([folder], { onChart: (chart) => charts.push(chart) });
    expect(found.map(({ file }) => file.replace(`${folder}/`, ''))).toEqual([
      'chart/Chart.yaml',
      'chart/values.yaml',
      'other/templates/pod.yaml',
    ]);
    expect(charts).toEqual([join(folder, 'chart')]);
    expect(await read(['chart/templates'])).toEqual(['chart/templates/deployment.yaml']);
  });

  it('takes manifests below a folder, sorted, and leaves out what is hidden or installed', async () => {
    write({
      'b/two.yml': '',
      'b/one.yaml': '',
      'a.json': '',
      'notes.md': '',
      '.git/x.yaml': '',
      'node_modules/p/x.yaml': '',
    });
    expect(await read(['.'])).toEqual(['a.json', 'b/one.yaml', 'b/two.yml']);
    expect(await read(['.'], ['.md'])).toEqual(['notes.md']);
  });

  it('takes a file that is named whatever it is called', async () => {
    write({ 'start.sh': '' });
    expect(await read(['start.sh'])).toEqual(['start.sh']);
  });

  it('reads each file once, in the order in which they were named', async () => {
    write({ 'a.yaml': '', 'b.yaml': '' });
    expect(await read(['b.yaml', '-', '.', './b.yaml', '-'])).toEqual(['b.yaml', '-', 'a.yaml']);
  });

  it('follows links to files and walks in no circle', async () => {
    write({ 'real/a.yaml': '' });
    mkdirSync(join(folder, 'links'));
    symlinkSync(join(folder, 'real/a.yaml'), join(folder, 'links/b.yaml'));
    symlinkSync(folder, join(folder, 'links/round.yaml'));
    symlinkSync(join(folder, 'nowhere'), join(folder, 'links/gone.yaml'));
    expect(await read(['links'])).toEqual(['links/b.yaml']);
  });

  it.each([
    ['what is not there', 'gone.yaml', 'must be a file or a folder, and it does not exist'],
    [
      'a folder without manifests',
      'empty',
      'must be a folder with manifests (*.yaml, *.yml, *.json), and there are none',
    ],
    ['bytes that are no text', 'binary.yaml', 'must be text in UTF-8'],
    ['more than it reads', 'large.yaml', 'and it has 16777217 bytes, at most 16777216 are read'],
  ])('refuses %s', async (_, operand, words) => {
    mkdirSync(join(folder, 'empty'));
    write({ 'binary.yaml': Buffer.from([0x61, 0xff]), 'large.yaml': Buffer.alloc(16 * 1024 * 1024 + 1, 97) });
    const reading = read([operand]);
    await expect(reading).rejects.toBeInstanceOf(SettingError);
    await expect(reading).rejects.toThrow(`${operand}" (on the command line): `);
    await expect(reading).rejects.toThrow(words);
  });
});

describe('writeManifestFile', () => {
  it('replaces the text of a file', async () => {
    write({ 'a.yaml': 'kind: Pod\n' });
    await writeManifestFile(join(folder, 'a.yaml'), 'kind: Job\n');
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe('kind: Job\n');
  });

  it('names the file that cannot be written, and says why', async () => {
    const written = writeManifestFile('/proc/version', 'kind: Job\n');
    await expect(written).rejects.toThrow(SettingError);
    await expect(written).rejects.toThrow(/^"\/proc\/version" \(on the command line\): cannot be written: /);
  });
});
