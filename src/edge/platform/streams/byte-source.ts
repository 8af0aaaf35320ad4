import { open } from 'node:fs/promises';

/** Something that is read from its begin to its end, once. */
export interface ByteSource {
  /** Undefined when it is not known before the end: pipes, terminals. */
  readonly totalBytes: number | undefined;
  /** Each piece holds until the next one is asked for. Ending early closes the source. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

const PIECE_BYTES = 1_024 * 1_024;

/**
 * A file of any size, or a named pipe, in pieces that share one buffer.
 * Rejects with the system's error when it cannot be opened.
 */
export async function openByteSource(path: string): Promise<ByteSource> {
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
  const { stdin } = process;
  const pieces: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => {
      const inner = stdin[Symbol.asyncIterator]();
      return {
        next: () => inner.next(),
        return: async () => {
          stdin.destroy();
          return { done: true, value: undefined };
        },
      };
    },
  };
  return { totalBytes: undefined, pieces };
}
