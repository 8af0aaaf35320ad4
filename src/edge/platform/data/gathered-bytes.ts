/** Pieces from this length on are kept as they are: what an object for each takes is little beside them. */
const KEPT_PIECE_BYTES = 1024;

/** Smallest and largest room in which short pieces are put together. */
const MIN_ROOM_BYTES = 4 * 1024;
const MAX_ROOM_BYTES = 64 * 1024;

/**
 * Bytes that come in pieces, in memory of about twice their number however short the pieces are. A sender decides where they
 * are cut, and Node makes an object of some 400 bytes for each: 16 MB in HTTP chunks of one byte would take 6 GB.
 * What bounds the bytes is the caller's.
 */
export class GatheredBytes {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #room = Buffer.alloc(0);
  /** Where what is in the room and no piece yet begins, and ends. */
  #from = 0;
  #to = 0;

  /** All that came. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes the next piece. It must not change any more. */
  add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#bytes += piece.length;
    // A first one is mostly the only one, and not worth a copy.
    if (piece.length < KEPT_PIECE_BYTES && this.#pieces.length > 0) {
      this.#copy(piece);
      return;
    }
    this.#endPiece();
    this.#pieces.push(piece);
  }

  /** All that came as one: a copy, unless it is a single piece that is no view of a much larger buffer, which would be kept as long. */
  whole(): Buffer {
    this.#endPiece();
    const [first] = this.#pieces;
    const isWhole =
      first !== undefined && this.#pieces.length === 1 && 2 * this.#bytes > first.buffer.byteLength;
    return isWhole ? first : Buffer.concat(this.#pieces, this.#bytes);
  }

  /** All that came as one, in `room` where that is long enough and there are several pieces: not to be kept. */
  within(room: Buffer): Buffer {
    this.#endPiece();
    const [first] = this.#pieces;
    if (first !== undefined && this.#pieces.length === 1) return first;
    if (this.#bytes > room.length) return this.whole();
    let at = 0;
    for (const piece of this.#pieces) at += piece.copy(room, at);
    return room.subarray(0, at);
  }

  #copy(piece: Buffer): void {
    for (let at = 0; at < piece.length; ) {
      if (this.#to === this.#room.length) {
        this.#endPiece();
        this.#room = Buffer.allocUnsafeSlow(Math.min(MAX_ROOM_BYTES, Math.max(MIN_ROOM_BYTES, this.#bytes)));
        this.#from = 0;
        this.#to = 0;
      }
      const copied = piece.copy(this.#room, this.#to, at);
      this.#to += copied;
      at += copied;
    }
  }

  /** What is in the room becomes a piece; the rest of the room is for what follows. */
  #endPiece(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#room.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}
