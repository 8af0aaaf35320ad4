import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readFileStart } from './file-start.js';

/** Folders below folders. Trees of manifests have three or four. */
const MAX_DEPTH = 32;

/** Names that are looked at in all. A path such as `/` must end. */
const MAX_ENTRIES = 100_000;

/** Not searched: what package managers and version control keep is not written by a person. */
const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', 'vendor']);

/** Whether something is at `path`, and of which kind. Rejects with the system's error. */
export async function kindOfPath(path: string): Promise<'file' | 'folder' | 'other'> {
  const found = await stat(path);
  return found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other';
}

/** The bytes of a file, or of what a link leads to; undefined where there is none. */
export async function sizeOfFile(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? found.size : undefined;
  } catch {
    // Gone, or not to be seen by this user: there is no size, and an attempt to read it says why.
    return undefined;
  }
}

/** The path with no symbolic link in it: the same for every way to one file. */
export function truePath(path: string): Promise<string> {
  return realpath(path);
}

/**
 * Plain files below a folder whose names end in one of `extensions` (`.yaml`),
 * or that have no ending and begin with `firstLine`, sorted by path. Links to files are followed, links to folders are not, so
 * that no loop can be walked; names that begin with a dot, `node_modules` and
 * `vendor` are left out. Rejects with the system's error, and with a
 * `RangeError` when there are too many files to read.
 */
export async function findFiles(
  folder: string,
  extensions: readonly string[],
  firstLine?: RegExp,
): Promise<readonly string[]> {
  const found: string[] = [];
  let seen = 0;
  const walk = async (at: string, depth: number): Promise<void> => {
    if (depth > MAX_DEPTH) throw new RangeError(`has folders more than ${MAX_DEPTH} deep`);
    const entries = await readdir(at, { withFileTypes: true });
    seen += entries.length;
    if (seen > MAX_ENTRIES) throw new RangeError(`has more than ${MAX_ENTRIES} entries`);
    for (const entry of entries) {
      const path = join(at, entry.name);
      if (entry.name.startsWith('.') || LEFT_OUT.has(entry.name)) continue;
      if (entry.isDirectory()) await walk(path, depth + 1);
      else if (
        extensions.some((extension) => entry.name.endsWith(extension)) ||
        (firstLine !== undefined &&
          !entry.name.includes('.') &&
          entry.isFile() &&
          (await begins(path, firstLine)))
      ) {
        if (entry.isFile() || (entry.isSymbolicLink() && (await leadsToFile(path)))) found.push(path);
      }
    }
  };
  await walk(folder, 0);
  return found.sort();
}

/** Longest beginning of a file that is looked at: Linux takes no longer first line of a script. */
const MAX_FIRST_LINE = 256;

/** Whether a file begins with a line; not where it cannot be read. */
async function begins(path: string, firstLine: RegExp): Promise<boolean> {
  try {
    return firstLine.test((await readFileStart(path, MAX_FIRST_LINE)).toString('latin1'));
  } catch {
    // A file without an ending that may not be read is not known to be one that is looked for.
    return false;
  }
}

/** A link that leads nowhere is no file to read. */
async function leadsToFile(link: string): Promise<boolean> {
  try {
    return (await stat(link)).isFile();
  } catch {
    // Nothing is lost: what it leads to is not there, or not below a folder that this user sees.
    return false;
  }
}
