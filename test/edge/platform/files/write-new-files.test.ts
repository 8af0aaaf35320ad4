import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { explainWriteError } from '../../../../src/edge/platform/files/file.js';
import {
  newFileProblem,
  newFolderProblem,
  writeNewFiles,
  writeTextFile,
} from '../../../../src/edge/platform/files/write-new-files.js';

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

describe('a file to write', () => {
  it('is one that is there or not, in a folder that is there', async () => {
    writeFileSync(join(folder, 'x'), '');
    expect(await newFileProblem(join(folder, 'x'))).toBeUndefined();
    expect(await newFileProblem(join(folder, 'new'))).toBeUndefined();
    expect(await newFileProblem('new')).toBeUndefined();
    expect(await newFileProblem('/dev/stdout')).toBeUndefined();
    expect(await newFileProblem(folder)).toBe('is a folder');
    expect(await newFileProblem(join(folder, 'none', 'new'))).toBe('is in a folder that does not exist');
    expect(await newFileProblem(join(folder, 'x', 'new'))).toBe('has a file where a folder should be');
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

  it('are all there, or none of them and none of their folders', async () => {
    writeFileSync(join(folder, 'z'), 'mine');
    const files = new Map([
      ['a/b/c', 'text'],
      ['z', 'theirs'],
    ]);
    await expect(writeNewFiles(folder, files)).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readdirSync(folder)).toEqual(['z']);
    expect(readFileSync(join(folder, 'z'), 'utf8')).toBe('mine');
    await expect(writeNewFiles(join(folder, 'new', 'plan'), new Map([['../x', '']]))).rejects.toThrow(
      RangeError,
    );
    expect(readdirSync(folder)).toEqual(['z']);
  });

  it('say what is wrong with their folder, and never that it does not exist', async () => {
    // A folder in /proc can be looked into, and nothing can be made there.
    const error = await writeNewFiles('/proc/kv-accord/plan', new Map([['a', 'text']])).catch(
      (caught) => caught,
    );
    expect(error.path).toBe('/proc/kv-accord');
    const readOnly = Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    expect([explainWriteError(readOnly), explainWriteError(full)]).toEqual([
      'is on a file system that is mounted read-only',
      'is on a file system that has no space left',
    ]);
  });

  it.each(['../a', '/a', 'a/../../b', '.', '', 'a//b', 'a\0'])('are not written to %j', async (path) => {
    await expect(writeNewFiles(join(folder, 'plan'), new Map([[path, '']]))).rejects.toThrow(RangeError);
    expect(existsSync(join(folder, 'a'))).toBe(false);
  });
});

describe('a text file', () => {
  it('replaces one that is there, whole, and writes to what is no file', async () => {
    const file = join(folder, 'report');
    await writeTextFile(file, 'old');
    await writeTextFile(file, 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
    await writeTextFile('/dev/null', 'nothing');
    await expect(writeTextFile(join(folder, 'none', 'x'), 'text')).rejects.toMatchObject({ code: 'ENOENT' });
    expect(readdirSync(folder)).toEqual(['report']);
  });
});
