import { open } from 'node:fs/promises';

/** The first bytes of a file, `maxBytes` at most and fewer of a shorter one. Rejects with the system's error. */
export async function readFileStart(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
