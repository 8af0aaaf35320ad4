import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  explainSystemError,
  findPathProblem,
  readTextFile,
} from '../../../../src/edge/platform/files/file.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kv-accord-'));
  await writeFile(join(folder, 'ten'), '0123456789');
});
afterAll(() => rm(folder, { recursive: true }));

test('a text file is read up to its bound, and refused beyond it', async () => {
  expect(await readTextFile(join(folder, 'ten'), 10)).toBe('0123456789');
  await expect(readTextFile(join(folder, 'ten'), 9)).rejects.toThrow('is larger than 9 bytes');
  await expect(readTextFile('/dev/zero', 1000)).rejects.toThrow('is larger than 1000 bytes');
});

test('a path that cannot be used is explained in words', async () => {
  expect(findPathProblem(join(folder, 'ten'), 'file')).toBeUndefined();
  expect(findPathProblem(folder, 'folder')).toBeUndefined();
  expect(findPathProblem(folder, 'file')).toBe('is a folder');
  expect(findPathProblem(join(folder, 'ten'), 'folder')).toBe('is not a folder');
  expect(findPathProblem(join(folder, 'none'), 'file')).toBe('does not exist');
  expect(findPathProblem(join(folder, 'ten', 'x'), 'file')).toBe('has a file where a folder should be');
  const error = await readTextFile(join(folder, 'none'), 1).catch((caught: unknown) => caught);
  expect(explainSystemError(error)).toBe('does not exist');
});
