import { GatheredBytes } from '../../../edge/platform/data/gathered-bytes.js';

/** Longest event that is held until it is whole; engines' have some hundred bytes, with log probabilities some thousand. */
const MAX_HELD_BYTES = 64 * 1024;

const LINE_FEEDS = Buffer.from('\n\n');
const RETURNS = Buffer.from('\r\n\r\n');

/** Bytes of an end of an event that may stand before the piece in which it ends. */
const SEAM_BYTES = RETURNS.length - 1;

const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Passes on the events of a stream (`text/event-stream`) as whole ones, so that an event of another sender can follow where
 * the stream breaks off. All bytes are passed on as they came; no client can use a part of an event. Each byte is looked at
 * once, and copied twice at most, in however many pieces an event comes.
 */
export class WholeEvents {
  #held: GatheredBytes | undefined;
  /** The last bytes of an event that has not ended. */
  #seam = NOTHING;
  #isWithin = false;

  /** Whether what was passed on ends within an event: it was too long to be held. */
  get isWithin(): boolean {
    return this.#isWithin;
  }

  /** Takes the next piece; comes back with what may be passed on now, undefined for nothing yet. */
  take(piece: Buffer): Buffer | undefined {
    const end = this.#endIn(piece);
    if (end === 0) return this.#hold(piece);
    const before = this.#held;
    this.#held = undefined;
    this.#isWithin = false;
    this.#seam = NOTHING;
    const rest = piece.subarray(end);
    // More than may be held of an event that begins in this piece goes on with the others.
    const late = rest.length === 0 ? undefined : this.#hold(rest);
    const isAll = rest.length === 0 || late !== undefined;
    const passed = isAll ? piece : piece.subarray(0, end);
    if (before === undefined) return passed;
    before.add(passed);
    return before.whole();
  }

  /** What is held when the stream has ended as it should. */
  flush(): Buffer | undefined {
    const rest = this.#held?.whole();
    this.#held = undefined;
    return rest;
  }

  /** Keeps a part of an event; comes back with all of it that was kept, where that is too much. */
  #hold(part: Buffer): Buffer | undefined {
    this.#seam = (part.length < SEAM_BYTES ? Buffer.concat([this.#seam, part]) : part).subarray(-SEAM_BYTES);
    this.#held ??= new GatheredBytes();
    this.#held.add(part);
    if (this.#held.bytes <= MAX_HELD_BYTES) return undefined;
    this.#isWithin = true;
    return this.flush();
  }

  /** Where the last event that ends in a piece does; 0 for none. */
  #endIn(piece: Buffer): number {
    const last = endOf(piece);
    if (last > 0 || this.#seam.length === 0) return last;
    const start = Buffer.concat([this.#seam, piece.subarray(0, SEAM_BYTES)]);
    return Math.max(0, endOf(start) - this.#seam.length);
  }
}

/** Where the last whole event ends; 0 for none. */
function endOf(bytes: Buffer): number {
  const byFeeds = bytes.lastIndexOf(LINE_FEEDS);
  const feeds = byFeeds === -1 ? 0 : byFeeds + LINE_FEEDS.length;
  if (feeds === bytes.length) return feeds;
  const byReturns = bytes.lastIndexOf(RETURNS);
  return Math.max(feeds, byReturns === -1 ? 0 : byReturns + RETURNS.length);
}
