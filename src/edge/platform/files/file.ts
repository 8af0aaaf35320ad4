import { accessSync, constants, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { sleep, systemClock } from '../clock.js';
import { messageOf } from '../describe-error.js';

/** How long a pipe may say nothing. A command in `<(…)` that asks a cluster takes seconds; one that hangs, for ever. */
const PIPE_WAIT_MS = 10_000;

/** Between two looks at a pipe that has nothing yet. */
const PIPE_LOOK_MS = 10;

/**
 * Reads a text file of at most `maxBytes`, without its byte order mark. Rejects
 * with the system's error, or with a `RangeError` when there is more, so that a
 * wrong path can never fill the memory (`/dev/zero` has no size to look at
 * first). A pipe is read to its end, and one that nobody writes to is an error
 * in words: opened as a file is, it would hold one of Node's threads, without
 * which the process cannot even end.
 */
export async function readTextFile(path: string, maxBytes: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const isPipe = (await file.stat()).isFIFO();
    const buffer = Buffer.alloc(maxBytes + 1);
    let length = 0;
    while (length <= maxBytes) {
      const bytesRead = isPipe
        ? await readPipe(file, buffer, length)
        : (await file.read(buffer, length, buffer.length - length, null)).bytesRead;
      if (bytesRead === 0 && isPipe && length === 0)
        throw new Error('is a pipe into which nobody wrote anything');
      if (bytesRead === 0) return new TextDecoder().decode(buffer.subarray(0, length));
      length += bytesRead;
    }
    throw new RangeError(`is larger than ${maxBytes} bytes`);
  } finally {
    await file.close();
  }
}

/** How many bytes came next from a pipe, 0 at its end. Waits for its writer, and not for ever. */
async function readPipe(file: FileHandle, buffer: Buffer, from: number): Promise<number> {
  for (let waitedMs = 0; waitedMs < PIPE_WAIT_MS; waitedMs += PIPE_LOOK_MS) {
    try {
      return (await file.read(buffer, from, buffer.length - from, null)).bytesRead;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
    await sleep(systemClock, PIPE_LOOK_MS);
  }
  throw new Error(`is a pipe whose writer has said nothing for ${PIPE_WAIT_MS / 1_000} s`);
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
  return wordsFor(error, { ENOENT: 'does not exist', ...NOT_PERMITTED('read') });
}

/** The same of writing a file or making a folder. */
export function explainWriteError(error: unknown): string {
  return wordsFor(error, {
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

function wordsFor(error: unknown, words: Readonly<Record<string, string>>): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return words[code] ?? WORDS[code] ?? messageOf(error);
}
