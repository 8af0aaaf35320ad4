import { type Dispatcher, errors } from 'undici';
import type { Clock, Timer } from '../platform/clock.js';
import { onAbort } from '../platform/time/on-abort.js';

export interface ExchangeOptions {
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** From the start to the head of the answer, connecting included. */
  readonly headTimeoutMs: number;
  /** Most bytes that may wait to be read. */
  readonly maxWaitingBytes: number;
}

/** The answer's head has come; its body comes. */
export interface OpenAnswer {
  readonly status: number;
  /** To be read to its end, or left by `break`, which closes the connection. */
  readonly body: AsyncIterable<Buffer>;
}

/** Why an exchange failed on our side of it. */
export class ExchangeError extends Error {}

/**
 * One GET. The connection is never paused: undici 7.30 would end the process
 * when a server resets a connection that is (see `guardSocket` in the
 * frontend). What waits to be read is bounded in place of that.
 */
export function exchange(
  dispatcher: Dispatcher,
  options: ExchangeOptions,
  clock: Clock,
): Promise<OpenAnswer> {
  return new Promise((resolve, reject) => {
    const handler = new Exchange(options, clock, resolve, reject);
    dispatcher.dispatch(
      {
        path: options.path,
        method: 'GET',
        headers: { ...options.headers },
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      handler,
    );
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #onHead: (answer: OpenAnswer) => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #headTimer: Timer;
  #leaveSignal: () => void = () => undefined;
  readonly #pieces: Buffer[] = [];
  #waitingBytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  /** What ended it; undefined while it runs. */
  #end: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(
    options: ExchangeOptions,
    clock: Clock,
    onHead: (answer: OpenAnswer) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#onHead = onHead;
    this.#onFailure = onFailure;
    this.#headTimer = clock.setTimer(options.headTimeoutMs, () =>
      this.#finish(new ExchangeError(`no answer within ${options.headTimeoutMs / 1_000} s`)),
    );
    this.#leaveSignal = onAbort(options.signal, () => this.#finish(options.signal.reason));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#end !== undefined) controller.abort(new errors.RequestAbortedError());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200 || this.#end !== undefined) return;
    this.#headTimer.clear();
    this.#onHead({ status, body: { [Symbol.asyncIterator]: () => this.#read() } });
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#end !== undefined || piece.length === 0) return;
    this.#waitingBytes += piece.length;
    if (this.#waitingBytes > this.#options.maxWaitingBytes) {
      this.#finish(
        new ExchangeError(`more than ${this.#options.maxWaitingBytes} bytes are waiting to be read`),
      );
      return;
    }
    this.#pieces.push(piece);
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish(error);
  }

  /** Ends it once; with an error the connection is closed. */
  #finish(error: unknown): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    this.#headTimer.clear();
    this.#leaveSignal();
    if (error !== undefined) this.#controller?.abort(new errors.RequestAbortedError());
    this.#wake?.();
    // Without effect once the head was handed on.
    this.#onFailure(error ?? new ExchangeError('the answer has no head'));
  }

  async *#read(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          this.#waitingBytes -= piece.length;
          yield piece;
        } else if (this.#end === undefined) {
          await new Promise<void>((wake) => {
            this.#wake = wake;
          });
        } else if (this.#end.error === undefined) {
          return;
        } else {
          throw this.#end.error;
        }
      }
    } finally {
      this.#finish(new ExchangeError('nobody reads any longer'));
    }
  }
}
