import type { Clock, Timer } from '../clock.js';
import type { DescriptorSink } from './descriptor-sink.js';

/** Most that waits for a reader, in bytes: some 5,000 lines of a log, and no memory that a process would miss. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** How long after a full pipe it is tried again, in milliseconds: 64 KiB each time are 1.3 MB/s. */
const RETRY_MS = 50;

/** Shortest time between two notices of lost lines, in milliseconds. */
const NOTICE_INTERVAL_MS = 10_000;

/** Lines that did not reach their reader. */
export interface LostLines {
  /** Those since the notice before. */
  readonly count: number;
  /** Why the last of them was lost, for a log. */
  readonly reason: string;
}

export interface BoundedOutputOptions {
  /** Most that waits for a reader, in bytes. Default 1 MiB. */
  readonly maxWaitingBytes?: number;
}

export interface BoundedOutputModules {
  readonly clock: Clock;
  readonly sink: DescriptorSink;
}

interface Piece {
  bytes: Buffer;
  /** Line feeds in what was written; the one that sets it apart from a broken line is not counted. */
  readonly lines: number;
}

/**
 * Standard error for a process that must go on: what is written waits, within
 * bounds, for its reader; beyond them it is dropped and counted. A write never
 * blocks and never throws.
 */
export class BoundedOutput {
  readonly #clock: Clock;
  readonly #sink: DescriptorSink;
  readonly #maxWaitingBytes: number;
  readonly #waiting: Piece[] = [];
  #waitingBytes = 0;
  /** Bytes of the first piece that have been written. */
  #offset = 0;
  #isWriting = false;
  /** The last attempt succeeded. */
  #isTaken = true;
  /** The last line that was begun broke off: the next one must not continue it. */
  #isCut = false;
  #isClosed = false;
  #retry: Timer | undefined;
  #droppedLines = 0;
  #unreported: LostLines | undefined;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #onLost: ((lost: LostLines) => void) | undefined;
  readonly #onEmpty: (() => void)[] = [];

  constructor(options: BoundedOutputOptions, modules: BoundedOutputModules) {
    this.#maxWaitingBytes = options.maxWaitingBytes ?? MAX_WAITING_BYTES;
    this.#clock = modules.clock;
    this.#sink = modules.sink;
  }

  /** Lines that were dropped since the start. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  /** Whether a write has begun and not ended: the process cannot end by itself then. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Calls `onLost` when a reader is back that missed lines, at most every 10 s; in place of the one before. */
  reportLostTo(onLost: (lost: LostLines) => void): void {
    this.#onLost = onLost;
  }

  /** Writes whole lines, or drops them whole. */
  write(text: string): void {
    if (this.#isClosed || text === '') return;
    const piece = { bytes: Buffer.from(text), lines: text.split('\n').length - 1 };
    if (this.#waitingBytes + piece.bytes.length > this.#maxWaitingBytes) {
      this.#drop(piece, `nobody read what was written before, and ${this.#waitingBytes} bytes wait`);
      return;
    }
    this.#waiting.push(piece);
    this.#waitingBytes += piece.bytes.length;
    this.#pump();
  }

  /** Resolves with whether everything was written, after `boundMs` at the latest. */
  async flush(boundMs: number): Promise<boolean> {
    this.#retry?.clear();
    this.#retry = undefined;
    this.#pump();
    if (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        const timer = this.#clock.setTimer(boundMs, resolve);
        this.#onEmpty.push(() => {
          timer.clear();
          resolve();
        });
      });
    }
    return this.#waiting.length === 0;
  }

  /** Takes nothing more, and leaves what waits. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#retry?.clear();
    this.#retry = undefined;
    if (!this.#isWriting) this.#sink.close();
  }

  #pump(): void {
    while (!this.#isWriting && this.#retry === undefined && !this.#isClosed) {
      const piece = this.#waiting[0];
      if (piece === undefined) break;
      if (this.#isCut && this.#offset === 0) this.#setApart(piece);
      let isInPlace = true;
      this.#isWriting = true;
      this.#sink.write(piece.bytes.subarray(this.#offset), (error, written) => {
        this.#isWriting = false;
        this.#onWritten(piece, error, written);
        if (!isInPlace) this.#pump();
      });
      isInPlace = false;
    }
    if (this.#waiting.length > 0) return;
    for (const resolve of this.#onEmpty.splice(0)) resolve();
    this.#logLost();
  }

  #setApart(piece: Piece): void {
    this.#isCut = false;
    piece.bytes = Buffer.concat([LINE_FEED, piece.bytes]);
    this.#waitingBytes += LINE_FEED.length;
  }

  #onWritten(piece: Piece, error: NodeJS.ErrnoException | undefined, written: number): void {
    this.#isTaken = error === undefined;
    if (error?.code === 'EAGAIN') {
      this.#retry = this.#clock.setTimer(RETRY_MS, () => {
        this.#retry = undefined;
        this.#pump();
      });
      return;
    }
    if (error === undefined && this.#offset + written < piece.bytes.length) {
      this.#offset += written;
      return;
    }
    if (error !== undefined) {
      // Nothing else can be done about it: where it would be logged is what fails.
      this.#isCut = this.#offset > 0 || piece.bytes[0] === LINE_FEED[0];
      this.#drop(piece, error.message);
    }
    this.#waiting.shift();
    this.#waitingBytes -= piece.bytes.length;
    this.#offset = 0;
  }

  #drop({ lines }: Piece, reason: string): void {
    this.#droppedLines += lines;
    this.#unreported = { count: (this.#unreported?.count ?? 0) + lines, reason };
  }

  /** Only when the reader has caught up, so that the notice is not lost as well. */
  #logLost(): void {
    const lost = this.#unreported;
    if (lost === undefined || lost.count === 0 || !this.#isTaken || this.#onLost === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#loggedMs < NOTICE_INTERVAL_MS) return;
    this.#loggedMs = nowMs;
    this.#unreported = undefined;
    this.#onLost(lost);
  }
}

const LINE_FEED: Buffer = Buffer.from('\n');
