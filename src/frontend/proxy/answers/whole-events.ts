/** Longest event that is held until it is whole; engines' have some hundred bytes, with log probabilities some thousand. */
const MAX_HELD_BYTES = 64 * 1024;

const LINE_FEEDS = Buffer.from('\n\n');
const RETURNS = Buffer.from('\r\n\r\n');

/**
 * Passes on the events of a stream (`text/event-stream`) as whole ones, so that an event of another sender can follow where
 * the stream breaks off. All bytes are passed on as they came; no client can use a part of an event.
 */
export class WholeEvents {
  #rest: Buffer | undefined;
  #isWithin = false;

  /** Whether what was passed on ends within an event: it was too long to be held. */
  get isWithin(): boolean {
    return this.#isWithin;
  }

  /** Takes the next piece; comes back with what may be passed on now, undefined for nothing yet. */
  take(piece: Buffer): Buffer | undefined {
    const bytes = this.#rest === undefined ? piece : Buffer.concat([this.#rest, piece]);
    const end = endOf(bytes);
    if (end === bytes.length) {
      this.#rest = undefined;
      this.#isWithin = false;
      return bytes;
    }
    if (bytes.length - end > MAX_HELD_BYTES) {
      this.#rest = undefined;
      this.#isWithin = true;
      return bytes;
    }
    this.#rest = bytes.subarray(end);
    if (end === 0) return undefined;
    this.#isWithin = false;
    return bytes.subarray(0, end);
  }

  /** What is held when the stream has ended as it should. */
  flush(): Buffer | undefined {
    const rest = this.#rest;
    this.#rest = undefined;
    return rest;
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
