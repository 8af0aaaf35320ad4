import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
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

test('a byte order mark is no part of a text', async () => {
  await writeFile(join(folder, 'marked'), '\ufefftext\r\n');
  expect(await readTextFile(join(folder, 'marked'), 100)).toBe('text\r\n');
});

test('a pipe is read to its end, as shells give one for <(command)', async () => {
  const pipe = join(folder, 'written');
  execFileSync('mkfifo', [pipe]);
  const keepsItOpen = await open(pipe, 'r+');
  const text = 'more than a pipe holds\n'.repeat(10_000);
  const reading = readTextFile(pipe, text.length);
  await writeFile(pipe, text);
  await keepsItOpen.close();
  expect(await reading).toBe(text);
});

test('a pipe that nobody writes to is an error, and holds nothing up', async () => {
  const pipe = join(folder, 'silent');
  execFileSync('mkfifo', [pipe]);
  await expect(readTextFile(pipe, 100)).rejects.toThrow('is a pipe into which nobody wrote anything');
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
