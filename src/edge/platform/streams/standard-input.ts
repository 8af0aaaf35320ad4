import { once } from 'node:events';
import { fstatSync } from 'node:fs';

/** The place that stands for standard input, as for other programs that read files. */
export const STANDARD_INPUT = '-';

/** Whether something is written to this process by a pipe or from a file, and standard input is no terminal and no `/dev/null`. */
export function isInputGiven(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isFile();
  } catch {
    // It is closed.
    return false;
  }
}

/**
 * The first bytes that are written to this process, which stay there to be read; empty where its writer ends without any.
 * Waits for them, and rejects with the signal's reason when that aborts before.
 */
export async function standardInputStart(signal: AbortSignal): Promise<Uint8Array> {
  const { stdin } = process;
  await once(stdin, 'readable', { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  const start: Buffer | null = stdin.read();
  if (start === null) return new Uint8Array();
  stdin.unshift(start);
  return start;
}

/** All that is written to this process until its writer ends. Rejects with a `RangeError` when it is more than `maxBytes`. */
export async function readStandardInput(maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of process.stdin) {
    const bytes = Buffer.from(piece);
    length += bytes.length;
    if (length > maxBytes) throw new RangeError(`has more than ${maxBytes} bytes`);
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}
