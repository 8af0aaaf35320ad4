/**
 * Batches whose digests are kept, newest last. A replay overlaps what is known
 * by one batch at least, and live batches that waited behind a replay are
 * recognised as read already.
 */
const KEPT_DIGESTS = 4_096;

/**
 * What a batch is to the stream so far. `first`: the cache view begins with it. `next`:
 * it follows. `duplicate`: it was seen, and is the same. `gap`: batches are
 * missing before it. `past`: it is older than what is remembered. `restart`:
 * its number was given to another batch, so another publisher counts.
 */
export type Judgement = 'first' | 'next' | 'duplicate' | 'gap' | 'past' | 'restart';

/**
 * Follows the sequence numbers of one publisher, which grow by one and start
 * again when the engine does; no frame says that it did. So the digests of
 * the last batches are kept: a number that comes again with other bytes is a
 * restart, with the same bytes a repetition.
 */
export class SequenceWatch {
  readonly #sequences = new Float64Array(KEPT_DIGESTS).fill(-1);
  readonly #digests = new Int32Array(KEPT_DIGESTS);
  #last: number | undefined;
  #isPlaced = false;
  #first = 0;

  /** The newest batch that was accepted from this publisher; -1 when it has published none, undefined when nothing is known. */
  get last(): number | undefined {
    return this.#last;
  }

  /** The oldest batch of the unbroken run that ends with `last`; 0 before the first. */
  get first(): number {
    return this.#first;
  }

  /** Whether the batches up to `last` are in the cache view. */
  get isPlaced(): boolean {
    return this.#isPlaced;
  }

  judge(sequence: number, digest: number): Judgement {
    const slot = sequence % KEPT_DIGESTS;
    const isKnown = this.#sequences[slot] === sequence;
    if (isKnown && this.#digests[slot] !== digest) return 'restart';
    if (this.#last === undefined) return 'first';
    if (sequence <= this.#last) return isKnown ? 'duplicate' : 'past';
    if (!this.#isPlaced) return 'first';
    return sequence === this.#last + 1 ? 'next' : 'gap';
  }

  /** The batch was applied; the one after it is next. */
  accept(sequence: number, digest: number): void {
    const slot = sequence % KEPT_DIGESTS;
    this.#sequences[slot] = sequence;
    this.#digests[slot] = digest;
    if (!this.#isPlaced) this.#first = sequence;
    this.#last = sequence;
    this.#isPlaced = true;
  }

  /** The publisher has published nothing yet: its batch 0 is next. */
  acceptNone(): void {
    this.forgetPublisher();
    this.#last = -1;
    this.#isPlaced = true;
  }

  /** The cache view was dropped: any later batch may come next, and a restart is still recognised. */
  forgetPlace(): void {
    this.#isPlaced = false;
  }

  /** The cache view is built from older batches: any batch may come next, and a restart is still recognised. */
  rewind(): void {
    this.#last = undefined;
    this.#isPlaced = false;
  }

  /** Another publisher counts now. */
  forgetPublisher(): void {
    this.#sequences.fill(-1);
    this.#last = undefined;
    this.#first = 0;
    this.#isPlaced = false;
  }
}

/** 32 bits by which a batch is recognised. Not for secrets: two batches differ in their time stamp at least. */
export function digestOf(payload: Uint8Array): number {
  let digest = payload.length | 0;
  const words = payload.length & ~3;
  for (let at = 0; at < words; at += 4) {
    const word =
      (payload[at] as number) |
      ((payload[at + 1] as number) << 8) |
      ((payload[at + 2] as number) << 16) |
      ((payload[at + 3] as number) << 24);
    digest = Math.imul(digest ^ word, 0x01000193);
    digest ^= digest >>> 15;
  }
  for (let at = words; at < payload.length; at += 1) {
    digest = Math.imul(digest ^ (payload[at] as number), 0x01000193);
  }
  return digest | 0;
}

/** The eight bytes, big-endian, of a sequence frame; undefined when it is no number that can be counted with. */
export function readSequence(frame: Uint8Array): number | undefined {
  if (frame.length !== 8) return undefined;
  const view = new DataView(frame.buffer, frame.byteOffset, 8);
  const sequence = view.getUint32(0) * 2 ** 32 + view.getUint32(4);
  return Number.isSafeInteger(sequence) ? sequence : undefined;
}

/** The frame of a sequence number. */
export function sequenceFrame(sequence: number): Uint8Array {
  const frame = new Uint8Array(8);
  const view = new DataView(frame.buffer);
  view.setUint32(0, Math.floor(sequence / 2 ** 32));
  view.setUint32(4, sequence % 2 ** 32);
  return frame;
}
