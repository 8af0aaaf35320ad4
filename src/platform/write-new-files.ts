import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Why a folder cannot take files that nobody has written before; undefined when it is empty, or not there yet. */
export async function newFolderProblem(folder: string): Promise<string | undefined> {
  try {
    return (await readdir(folder)).length === 0 ? undefined : 'has something in it';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR') return 'is no folder';
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Writes files below a folder, which is made where it is not there. Nothing is
 * ever replaced: a file that is there already rejects. Paths are relative and
 * stay below the folder; others are a `RangeError`.
 */
export async function writeNewFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, text] of files) {
    const parts = path.split('/');
    if (path.includes('\0') || parts.some((part) => part === '' || part === '.' || part === '..'))
      throw new RangeError(`${JSON.stringify(path)} is no path below ${folder}`);
    const target = join(folder, ...parts);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text, { flag: 'wx' });
  }
}

/** Writes a text file, in place of one that may be there. */
export function writeTextFile(path: string, text: string): Promise<void> {
  return writeFile(path, text);
}
