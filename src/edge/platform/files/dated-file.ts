import { stat } from 'node:fs/promises';
import { openFilePieces } from './file-pieces.js';

/** A file with the time of its last change. */
export interface DatedFile {
  readonly content: Buffer;
  /** Wall-clock milliseconds since 1970 by the clock of the host that changed it; with fractions. */
  readonly modifiedAtMs: number;
}

/**
 * Reads a plain file of at most `maxBytes` with the time of its last change;
 * undefined when it is not there. Rejects as `openFilePieces` does.
 */
export async function readDatedFile(path: string, maxBytes: number): Promise<DatedFile | undefined> {
  const pieces = await openFilePieces(path, maxBytes);
  if (pieces === undefined) return undefined;
  try {
    const gathered: Uint8Array[] = [];
    for await (const piece of pieces) gathered.push(piece);
    return { content: Buffer.concat(gathered), modifiedAtMs: (await stat(path)).mtimeMs };
  } catch (error) {
    // It was removed while it was read.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
