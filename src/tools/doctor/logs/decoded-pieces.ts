import { on } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { isLokiAnswer, LOKI_BEGIN_BYTES, linesOfLoki } from './loki-answer.js';

/** What is said of an encoding that is not plain UTF-8. */
export type OnNote = (note: string, isDamaged: boolean) => void;

const GZIP_PIECE_BYTES = 256 * 1_024;
/** Pieces that may wait to be taken. */
const GZIP_HIGH_WATER = 4;

/**
 * Takes off gzip, recognised by its first two bytes whatever the name, and turns
 * UTF-16, recognised by its byte order mark, into UTF-8, and the one line of an
 * answer of Loki's API into those that it has. Damaged gzip gives what could be
 * read of it, and a note.
 */
export async function* decodedPieces(
  pieces: AsyncIterable<Uint8Array>,
  onNote: OnNote,
): AsyncGenerator<Uint8Array> {
  const { head, all } = await peeked(pieces);
  if (head[0] === 0x1f && head[1] === 0x8b) {
    const inner = await peeked(gunzipped(all, onNote));
    yield* withoutUtf16(inner.head, inner.all, onNote);
  } else yield* withoutUtf16(head, all, onNote);
}

async function* withoutUtf16(
  head: Uint8Array,
  pieces: AsyncIterable<Uint8Array>,
  onNote: OnNote,
): AsyncGenerator<Uint8Array> {
  const isLittle = head[0] === 0xff && head[1] === 0xfe;
  const isBig = head[0] === 0xfe && head[1] === 0xff;
  if (!isLittle && !isBig) {
    yield* isLokiAnswer(head) ? linesOfLoki(pieces) : pieces;
    return;
  }
  onNote('It is in UTF-16 and was read as such.', false);
  const decoder = new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be');
  for await (const piece of pieces) yield Buffer.from(decoder.decode(piece, { stream: true }));
  yield Buffer.from(decoder.decode());
}

/** The first bytes of a source, by which it is recognised, and the source with them. */
async function peeked(
  pieces: AsyncIterable<Uint8Array>,
): Promise<{ head: Uint8Array; all: AsyncIterable<Uint8Array> }> {
  const iterator = pieces[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array(0);
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  while (head.length < LOKI_BEGIN_BYTES && !isOver) {
    let next: IteratorResult<Uint8Array>;
    try {
      next = await iterator.next();
    } catch (error) {
      if (head.length === 0) throw error;
      // What came is read first.
      failure = { error };
      break;
    }
    const { value, done = false } = next;
    isOver = done;
    if (!done && value.length > 0)
      head = head.length === 0 ? Buffer.from(value) : Buffer.concat([head, value]);
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (head.length > 0) yield head;
      if (failure !== undefined) throw failure.error;
      while (!isOver) {
        const { value, done = false } = await iterator.next();
        if (done) isOver = true;
        else yield value;
      }
    } finally {
      if (!isOver) await iterator.return?.();
    }
  }
  return { head, all: all() };
}

async function* gunzipped(pieces: AsyncIterable<Uint8Array>, onNote: OnNote): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: GZIP_PIECE_BYTES });
  // The next piece is asked for before this one is done with, and would be written over it.
  const copies = Readable.from(copied(pieces), { objectMode: true, highWaterMark: 1 });
  let sourceError: unknown;
  const feeding = pipeline(copies, gunzip).catch((error: unknown) => {
    sourceError = error;
  });
  try {
    // Gives what waits before it rejects, which the stream's own iterator does not.
    for await (const [piece] of on(gunzip, 'data', { close: ['end'], highWaterMark: GZIP_HIGH_WATER }))
      yield piece as Uint8Array;
  } catch (error) {
    if (!isOfZlib(error)) throw error;
    const what = error.code === 'Z_BUF_ERROR' ? 'ends in the middle' : 'is damaged';
    onNote(`Its gzip data ${what}; what came before was read.`, true);
  } finally {
    gunzip.destroy();
    copies.destroy();
    await feeding;
  }
  if (sourceError !== undefined && !isOfZlib(sourceError)) throw sourceError;
}

async function* copied(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

function isOfZlib(error: unknown): error is Error & { code: string } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}
