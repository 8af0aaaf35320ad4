import { accessSync, constants, statSync } from 'node:fs';
import { open } from 'node:fs/promises';

/**
 * Reads a text file of at most `maxBytes`. Rejects with the system's error, or
 * with a `RangeError` when there is more, so that a wrong path can never fill
 * the memory (`/dev/zero` has no size to look at first).
 */
export async function readTextFile(path: string, maxBytes: number): Promise<string> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(maxBytes + 1);
    let length = 0;
    while (length <= maxBytes) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, null);
      if (bytesRead === 0) return buffer.toString('utf8', 0, length);
      length += bytesRead;
    }
    throw new RangeError(`is larger than ${maxBytes} bytes`);
  } finally {
    await file.close();
  }
}

/** Why `path` cannot be read as what it should be; undefined when it can. */
export function findPathProblem(path: string, expected: 'file' | 'folder'): string | undefined {
  try {
    const isFolder = statSync(path).isDirectory();
    if (isFolder !== (expected === 'folder')) return isFolder ? 'is a folder' : 'is not a folder';
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return explainSystemError(error);
  }
}

/** Everyday words for the system's error codes, of reading; else the message itself. Follows "it". */
export function explainSystemError(error: unknown): string {
  return messageOf(error, { ENOENT: 'does not exist', ...NOT_PERMITTED('read') });
}

/** The same of writing a file or making a folder. */
export function explainWriteError(error: unknown): string {
  return messageOf(error, {
    ENOENT: 'is in a folder that does not exist',
    EEXIST: 'is there already',
    EROFS: 'is on a file system that is mounted read-only',
    ENOSPC: 'is on a file system that has no space left',
    EDQUOT: 'would exceed the disk quota of this user',
    EFBIG: 'would be larger than a file may be',
    EBUSY: 'is in use, or a mount point',
    ETXTBSY: 'is a program that is running',
    ...NOT_PERMITTED('written'),
  });
}

const NOT_PERMITTED = (done: string): Readonly<Record<string, string>> => ({
  EACCES: `may not be ${done} by this user`,
  EPERM: `may not be ${done} by this user`,
});

const WORDS: Readonly<Record<string, string>> = {
  EISDIR: 'is a folder',
  ENOTDIR: 'has a file where a folder should be',
  ELOOP: 'is a symbolic link that leads to itself',
  ENAMETOOLONG: 'has a name that is too long',
  EMFILE: 'cannot be opened: this process has as many files open as it may (ulimit -n)',
  ENFILE: 'cannot be opened: this machine has as many files open as it may',
  EIO: 'is on a device that fails (EIO)',
};

function messageOf(error: unknown, words: Readonly<Record<string, string>>): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return words[code] ?? WORDS[code] ?? (error instanceof Error ? error.message : String(error));
}
