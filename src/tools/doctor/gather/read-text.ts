import { constants, gunzipSync } from 'node:zlib';
import { readWholeFile } from '../../../edge/platform/files/file-watcher.js';
import { readStandardInput, STANDARD_INPUT } from '../../../edge/platform/streams/standard-input.js';

/**
 * A text file, or standard input for `-`, of at most `maxBytes`, also when it is packed by gzip, as many
 * as that when it is unpacked. Rejects with the system's error, or one that
 * says what is wrong.
 */
export async function readText(path: string, maxBytes: number): Promise<string> {
  const bytes = path === STANDARD_INPUT ? readStandardInput(maxBytes) : readWholeFile(path, maxBytes);
  return plainText(await bytes, maxBytes);
}

/** The text of a file's bytes, packed by gzip or plain. Throws what `readText` rejects with. */
export function plainText(bytes: Buffer, maxBytes: number): string {
  const plain = isGzip(bytes) ? unpack(bytes, maxBytes) : bytes;
  if (plain.subarray(0, LOOKED_AT_BYTES).includes(0)) throw new Error('is no text');
  return new TextDecoder().decode(plain);
}

/** The beginning of what a file packed by gzip holds; a plain file's own. */
export function unpackedStart(bytes: Uint8Array): Uint8Array {
  if (!isGzip(bytes)) return bytes;
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    // Damaged: the reader of its kind says so.
    return bytes;
  }
}

/** Enough to know that a file is not text. */
const LOOKED_AT_BYTES = 64 * 1024;

function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function unpack(bytes: Buffer, maxOutputLength: number): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength });
  } catch (error) {
    const isLarge = error instanceof RangeError;
    throw new Error(
      isLarge ? `has more than ${maxOutputLength} bytes when it is unpacked` : 'is damaged gzip',
      {
        cause: error,
      },
    );
  }
}
