import { type Dispatcher, errors } from 'undici';
import { onAbort } from '../../edge/platform/time/on-abort.js';

/** What an engine answered. */
export interface EngineAnswer {
  readonly status: number;
  readonly body: Buffer;
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
): Promise<EngineAnswer> {
  return new Promise((resolve, reject) => {
    const answer = new WholeAnswer(maxBytes, resolve, reject);
    answer.leave = onAbort(signal, () => answer.giveUp(signal.reason));
    if (!signal.aborted) dispatcher.dispatch(options, answer);
  });
}

class WholeAnswer implements Dispatcher.DispatchHandler {
  leave: () => void = () => undefined;
  readonly #maxBytes: number;
  readonly #onWhole: (answer: EngineAnswer) => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #pieces: Buffer[] = [];
  #status = 0;
  #bytes = 0;
  #isOver = false;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(
    maxBytes: number,
    onWhole: (answer: EngineAnswer) => void,
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
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes)
      this.giveUp(new RangeError(`the answer has more than ${this.#maxBytes} bytes`));
    else this.#pieces.push(piece);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.leave();
    const [first] = this.#pieces;
    const isOne = first !== undefined && this.#pieces.length === 1;
    this.#onWhole({
      status: this.#status,
      body: isOne ? first : Buffer.concat(this.#pieces, this.#bytes),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.giveUp(error);
  }
}
