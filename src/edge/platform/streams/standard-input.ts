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
