import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newFolderProblem, writeNewFiles } from '../../src/platform/write-new-files.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kv-accord-new-files-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a folder for new files', () => {
  it('is one that is empty or not there', async () => {
    expect(await newFolderProblem(folder)).toBeUndefined();
    expect(await newFolderProblem(join(folder, 'new'))).toBeUndefined();
    writeFileSync(join(folder, 'x'), '');
    expect(await newFolderProblem(folder)).toBe('has something in it');
    expect(await newFolderProblem(join(folder, 'x'))).toBe('is no folder');
  });
});

describe('new files', () => {
  it('are written with the folders that they are in', async () => {
    await writeNewFiles(join(folder, 'plan'), new Map([['a/b/c.yaml', 'text']]));
    expect(readFileSync(join(folder, 'plan/a/b/c.yaml'), 'utf8')).toBe('text');
  });

  it('never replace one that is there', async () => {
    writeFileSync(join(folder, 'a'), 'mine');
    await expect(writeNewFiles(folder, new Map([['a', 'theirs']]))).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('mine');
  });

  it.each(['../a', '/a', 'a/../../b', '.', '', 'a//b', 'a\0'])('are not written to %j', async (path) => {
    await expect(writeNewFiles(join(folder, 'plan'), new Map([[path, '']]))).rejects.toThrow(RangeError);
    expect(existsSync(join(folder, 'a'))).toBe(false);
  });
});
