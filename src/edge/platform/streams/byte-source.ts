import { constants, open as openDescriptor } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

/** Something that is read from its begin to its end, once. */
export interface ByteSource {
  /** Undefined when it is not known before the end: pipes, terminals. */
  readonly totalBytes: number | undefined;
  /** Each piece holds until the next one is asked for. Ending early closes the source. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

const PIECE_BYTES = 1_024 * 1_024;

/**
 * A file of any size, in pieces that share one buffer, or a named pipe, which
 * may be without a writer. Rejects with the system's error when it cannot be opened.
 */
export async function openByteSource(path: string): Promise<ByteSource> {
  if ((await stat(path)).isFIFO()) return streamSource(await openPipe(path));
  const file = await open(path, 'r');
  try {
    const found = await file.stat();
    if (found.isDirectory()) throw Object.assign(new Error('is a folder'), { code: 'EISDIR' });
    return { totalBytes: found.isFile() ? found.size : undefined, pieces: piecesOf(file) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* piecesOf(file: Awaited<ReturnType<typeof open>>): AsyncGenerator<Uint8Array> {
  try {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** What is written to this process. Ending early closes it immediately, even while nothing comes. */
export function standardInputSource(): ByteSource {
  return streamSource(process.stdin);
}

/**
 * A named pipe that is waited for in the event loop. Opening it for blocking reads occupies a thread until a writer
 * comes, and a process does not end while one of its threads is in a system call, whatever signal it gets.
 */
async function openPipe(path: string): Promise<Socket> {
  const fd = await promisify(openDescriptor)(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

function streamSource(stream: Readable): ByteSource {
  const pieces: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => {
      const inner = stream[Symbol.asyncIterator]();
      return {
        next: () => inner.next(),
        return: async () => {
          stream.destroy();
          return { done: true, value: undefined };
        },
      };
    },
  };
  return { totalBytes: undefined, pieces };
}
