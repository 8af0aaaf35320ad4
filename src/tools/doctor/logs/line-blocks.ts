/** Most bytes of one line that are looked at. */
export const MAX_LINE_BYTES = 65_536;

/** Bytes that are gathered before they are looked at: few enough to stay in a processor's cache. */
const BLOCK_BYTES = 512 * 1_024;

const LINE_FEED = 10;

/**
 * Gathers pieces of any size into blocks of whole lines, in one buffer that is
 * used again. A line that is longer than `MAX_LINE_BYTES` may come with fewer
 * bytes than it has, but with more than that, so that it can be recognised.
 */
export class LineBlocks {
  readonly #buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  readonly #onBlock: (bytes: Buffer) => void;
  #length = 0;
  /** Within a line of which enough is kept. */
  #isSkipping = false;

  /** `onBlock` gets whole lines with their line feeds, which hold until it returns; the last line of all may have none. */
  constructor(onBlock: (bytes: Buffer) => void) {
    this.#onBlock = onBlock;
  }

  push(piece: Uint8Array): void {
    let at = 0;
    while (at < piece.length) {
      if (this.#isSkipping) {
        at = piece.indexOf(LINE_FEED, at);
        if (at === -1) return;
        this.#isSkipping = false;
      }
      const count = Math.min(piece.length - at, BLOCK_BYTES - this.#length);
      this.#buffer.set(piece.subarray(at, at + count), this.#length);
      this.#length += count;
      at += count;
      if (this.#length === BLOCK_BYTES) this.#passOn();
    }
  }

  /** Passes on what is left. */
  end(): void {
    if (this.#length > 0) this.#passOn();
    if (this.#length > 0) this.#onBlock(this.#buffer.subarray(0, this.#length));
    this.#length = 0;
  }

  #passOn(): void {
    const end = this.#buffer.lastIndexOf(LINE_FEED, this.#length - 1) + 1;
    if (end > 0) this.#onBlock(this.#buffer.subarray(0, end));
    this.#buffer.copyWithin(0, end, this.#length);
    this.#length -= end;
    if (this.#length <= MAX_LINE_BYTES) return;
    this.#length = MAX_LINE_BYTES + 1;
    this.#isSkipping = true;
  }
}
