import { type Dispatcher, errors } from 'undici';
import type { WorkerPool } from './worker-pools.js';

/** Why no answer came from a worker, or none that could be passed on. A closed list. */
export type AttemptFailure =
  /** No connection could be made. */
  | 'unreachable'
  /** This process, or its machine, can open no further connection to anybody. */
  | 'exhausted'
  /** The connection ended before the answer began, or within it. */
  | 'closed'
  /** What came is not HTTP, or beyond its bounds. */
  | 'bad_answer'
  /** It has as many requests of this proxy as it may. */
  | 'busy'
  /** It answered no request, while another worker could serve. */
  | 'silent'
  /** It answered 503. */
  | 'unavailable'
  /** It answered with another error of its own, or refused what another worker may take. */
  | 'error'
  /** The request itself cannot be sent to any worker. */
  | 'bad_request';

/** The client that waits for an answer. Nothing is called after `leave`, nor after one of the last two. */
export interface AttemptListener {
  /** There is a connection, and the request is written to it. */
  onSent(): void;
  onAnswer(status: number, rawHeaders: readonly (Buffer | string)[]): void;
  onData(piece: Buffer): void;
  onEnd(): void;
  onFailure(failure: AttemptFailure, error: Error): void;
}

/** Interim answers (1xx) to one request that are let go by; servers send one or two. */
const MAX_INTERIM_ANSWERS = 16;

/** One try of one request at one worker. */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly #worker: WorkerPool;
  #listener: AttemptListener | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #interimAnswers = 0;
  #isOver = false;

  constructor(worker: WorkerPool, listener: AttemptListener) {
    this.#worker = worker;
    this.#listener = listener;
    worker.running += 1;
  }

  /**
   * The answer is not needed any longer: its connection is closed immediately. Where it is
   * still being made, nothing will be written to it. undici opens another one
   * in place of it, which is kept for later requests like every idle one.
   */
  leave(): void {
    this.#listener = undefined;
    if (!this.#isOver) this.#controller?.abort(new errors.RequestAbortedError());
  }

  /** Reads no further until `resume`, but for a piece that may still come (see `guardSocket`). */
  pause(): void {
    this.#worker.paused.add(this);
    this.#controller?.pause();
  }

  resume(): void {
    this.#worker.paused.delete(this);
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#listener === undefined) controller.abort(new errors.RequestAbortedError());
    else this.#listener.onSent();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) {
      this.#interimAnswers += 1;
      if (this.#interimAnswers > MAX_INTERIM_ANSWERS)
        this.#fail('bad_answer', new Error('too many interim answers'));
      return;
    }
    this.#listener?.onAnswer(status, rawHeadersOf(controller));
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    // The parser hands on an empty piece when it goes on after a pause.
    if (piece.length > 0) this.#listener?.onData(piece);
  }

  onResponseEnd(): void {
    this.#end();
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end();
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.onFailure(failureOf(error, this.#controller !== undefined), error);
  }

  #fail(failure: AttemptFailure, error: Error): void {
    const listener = this.#listener;
    this.leave();
    listener?.onFailure(failure, error);
  }

  /** undici is done with it: the place at the worker is free. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#worker.paused.delete(this);
    this.#worker.running -= 1;
  }
}

/**
 * Whether something had come over the connection that ended with this error. Only one that was used before may have been
 * closing when a request was written to it (RFC 9112, 9.3.1); who ends a new one has had the request, and may have ended by it.
 * Over TLS the handshake has come, too, so that every connection counts as used there.
 */
export function isOfUsedConnection(error: Error): boolean {
  const { bytesRead } = (error instanceof errors.SocketError ? error.socket : error) as {
    bytesRead?: unknown;
  };
  return typeof bytesRead === 'number' && bytesRead > 0;
}

/** Nothing is left of what every connection needs: files of this process, files of this machine, memory of its kernel. */
const EXHAUSTED: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

function failureOf(error: Error, wasSent: boolean): AttemptFailure {
  if (error instanceof errors.InvalidArgumentError) return 'bad_request';
  if (!wasSent) return 'code' in error && EXHAUSTED.has(error.code) ? 'exhausted' : 'unreachable';
  const isMalformed =
    error instanceof errors.HeadersOverflowError ||
    error instanceof errors.HTTPParserError ||
    error instanceof errors.ResponseContentLengthMismatchError;
  return isMalformed ? 'bad_answer' : 'closed';
}

/** undici keeps them beside the parsed ones, which have lost their order and spelling. */
function rawHeadersOf(controller: Dispatcher.DispatchController): readonly (Buffer | string)[] {
  const { rawHeaders } = controller;
  return Array.isArray(rawHeaders) ? rawHeaders : [];
}
