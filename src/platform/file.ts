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
    throw new RangeError(`larger than ${maxBytes} bytes`);
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

/** Everyday words for the system's error codes; else the message itself. */
export function explainSystemError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read by this user';
  if (code === 'EISDIR') return 'is a folder';
  if (code === 'ENOTDIR') return 'has a file where a folder should be';
  return error instanceof Error ? error.message : String(error);
}
