import { fstatSync } from 'node:fs';

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
