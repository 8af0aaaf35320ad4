/** Reads an answer whole. Throws a `RangeError` when it is longer than `maxBytes`; its connection is closed then. */
export async function readWithin(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    // Leaving the loop destroys the stream and with it the connection.
    if (size > maxBytes) throw new RangeError(`the answer has more than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, size);
}
