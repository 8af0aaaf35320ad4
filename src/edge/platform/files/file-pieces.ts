import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/**
 * Opens a plain file of at most `maxBytes` to be read in pieces; undefined
 * when nothing is there. Rejects with the system's error, and with a
 * `RangeError` when it is larger or no plain file: opening a pipe would wait
 * for its writer.
 */
export async function openFilePieces(
  path: string,
  maxBytes: number,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  let size: number;
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new RangeError('is not a plain file');
    size = found.size;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined;
    throw error;
  }
  if (size > maxBytes) throw new RangeError(`has ${size} bytes, at most ${maxBytes} are read`);
  // `end` holds also when the file grows while it is read.
  return createReadStream(path, { end: Math.max(0, maxBytes - 1) });
}
