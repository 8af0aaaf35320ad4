import { type Dispatcher, errors } from 'undici';
import { GatheredBytes } from '../../edge/platform/data/gathered-bytes.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';

/** What an engine answered. */
export interface EngineAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** An answer as it came over the wire, in pieces. */
export interface PiecedAnswer extends EngineAnswer {
  /** Reads it whole, in memory that is used again: nothing of it may be kept. */
  read<Value>(use: (body: Buffer) => Value): Value;
}

/**
 * Asks, and waits for the whole answer. Rejects when there is none of at most
 * `maxBytes`, or with the reason of `signal` as soon as it aborts; the
 * connection is closed then. It is taken from the connection piece by piece,
 * without a stream for each answer, which would cost as much as the request.
 */
export function wholeAnswer(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  maxBytes: number,
  signal: AbortSignal,
): Promise<PiecedAnswer> {
  return new Promise((resolve, reject) => {
    const answer = new WholeAnswer(maxBytes, resolve, reject);
    answer.leave = onAbort(signal, () => answer.giveUp(signal.reason));
    if (!signal.aborted) dispatcher.dispatch(options, answer);
  });
}

class WholeAnswer implements Dispatcher.DispatchHandler {
  leave: () => void = () => undefined;
  readonly #maxBytes: number;
  readonly #onWhole: (answer: PiecedAnswer) => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #gathered = new GatheredBytes();
  #status = 0;
  #isOver = false;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(
    maxBytes: number,
    onWhole: (answer: PiecedAnswer) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#onWhole = onWhole;
    this.#onFailure = onFailure;
  }

  /** Nothing is waited for any more. */
  giveUp(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.leave();
    this.#onFailure(reason);
    this.#controller?.abort(new errors.RequestAbortedError());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new errors.RequestAbortedError());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isOver) return;
    this.#gathered.add(piece);
    if (this.#gathered.bytes > this.#maxBytes)
      this.giveUp(new RangeError(`the answer has more than ${this.#maxBytes} bytes`));
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.leave();
    this.#onWhole(new Pieced(this.#status, this.#gathered));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.giveUp(error);
  }
}

/** Longest answer whose memory is used again: the tokens of a prompt of 100,000. */
const MAX_ROOM_BYTES = 1024 * 1024;

/** Where the pieces of an answer are put together, for one after the other. */
let room = Buffer.alloc(0);

class Pieced implements PiecedAnswer {
  readonly status: number;
  readonly #gathered: GatheredBytes;

  constructor(status: number, gathered: GatheredBytes) {
    this.status = status;
    this.#gathered = gathered;
  }

  get body(): Buffer {
    return this.#gathered.whole();
  }

  read<Value>(use: (body: Buffer) => Value): Value {
    const { bytes } = this.#gathered;
    if (bytes > room.length && bytes <= MAX_ROOM_BYTES)
      room = Buffer.allocUnsafeSlow(Math.min(2 * bytes, MAX_ROOM_BYTES));
    return use(this.#gathered.within(room));
  }
}
