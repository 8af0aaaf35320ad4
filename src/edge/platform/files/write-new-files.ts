import { mkdir, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { jsonText } from '../../../core/text/printable.js';
import { messageOf } from '../describe-error.js';
import { explainWriteError } from './file.js';
import { replaceTextFile } from './write-file.js';

/** Why a folder cannot take files that do not exist yet; undefined when it is empty, or not there yet. */
export async function newFolderProblem(folder: string): Promise<string | undefined> {
  try {
    return (await readdir(folder)).length === 0 ? undefined : 'has something in it';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR') return 'is no folder';
    return messageOf(error);
  }
}

/** Why a file cannot be written, as far as its folder and what is there show it; undefined when nothing speaks against it. Follows "it". */
export async function newFileProblem(path: string): Promise<string | undefined> {
  try {
    await stat(dirname(path));
    return (await stat(path)).isDirectory() ? 'is a folder' : undefined;
  } catch (error) {
    const isNew = error instanceof Error && 'path' in error && error.path === path;
    return isNew && 'code' in error && error.code === 'ENOENT' ? undefined : explainWriteError(error);
  }
}

/**
 * Writes files below a folder, which is made where it is not there: all of
 * them, or none. Nothing is ever replaced: a file that is there already
 * rejects. Paths are relative and stay below the folder; others are a
 * `RangeError`.
 */
export async function writeNewFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  const made: (() => Promise<void>)[] = [];
  try {
    for (const [path, text] of files) {
      const parts = path.split('/');
      if (path.includes('\0') || parts.some((part) => part === '' || part === '.' || part === '..'))
        throw new RangeError(`${jsonText(path)} is no path below ${folder}`);
      const target = join(folder, ...parts);
      await makeFolders(dirname(target), made);
      await writeNewFile(target, text);
      made.push(() => rm(target));
    }
  } catch (error) {
    // A part of a plan is worse than none. What cannot be removed either says nothing new.
    for (const remove of made.reverse()) await remove().catch(() => undefined);
    throw error;
  }
}

/** Node's own `recursive` answers ENOENT where the file system is read-only, so each folder is made by itself. */
async function makeFolders(folder: string, made: (() => Promise<void>)[]): Promise<void> {
  const isThere = await stat(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  if (isThere) return;
  await makeFolders(dirname(folder), made);
  await mkdir(folder);
  made.push(() => rmdir(folder));
}

/**
 * Writes a text file, in place of one that may be there, which stays whole
 * until the new text is. What is no regular file (`/dev/stdout`, a pipe) is
 * written to as it is.
 */
export async function writeTextFile(path: string, text: string): Promise<void> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stats === undefined) await writeNewFile(path, text);
  else if (stats.isFile()) await replaceTextFile(path, text);
  else await writeFile(path, text);
}

/** Leaves nothing behind when it fails. */
async function writeNewFile(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (error) {
    // The first error is the one to report: what fails here fails by it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
}
