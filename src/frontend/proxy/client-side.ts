import type { ServerResponse } from 'node:http';
import { type ApiShape, sendError } from '../errors/api-shapes.js';
import { OpenAiError } from '../errors/openai-error.js';
import { breakOff } from './answers/break-off.js';
import type { HeldAnswer } from './answers/held-answer.js';
import type { AnswerHead, PassedAnswer } from './answers/passed-answer.js';
import { writeHeadSafely } from './answers/write-head.js';
import type { Caller } from './headers.js';

/** The status, in logs and metrics alone, of a request whose client left before there was one. */
export const CLIENT_CLOSED_REQUEST = 499;

/** Who waits for what a client does. */
export interface ClientListener {
  /** It left, or has all of the answer. */
  onClosed(): void;
  /** It has read what was written. */
  onDrain(): void;
}

/** The client of one request: what it is sent, and whether it takes it. */
export class ClientSide {
  readonly #response: ServerResponse;
  readonly #shape: ApiShape;
  #drained: (() => void) | undefined;
  /** What it was sent; 0 while that is nothing. */
  #status = 0;

  constructor(response: ServerResponse, shape: ApiShape) {
    this.#response = response;
    this.#shape = shape;
  }

  /** Nothing that is written reaches it any more; `onClosed` comes in a moment. */
  get isGone(): boolean {
    return this.#response.destroyed;
  }

  /** It has read the whole answer. */
  get hasAll(): boolean {
    return this.#response.writableFinished;
  }

  /** The status that it got, or would have got. */
  get status(): number {
    return this.#status === 0 ? CLIENT_CLOSED_REQUEST : this.#status;
  }

  get caller(): Caller {
    const { socket } = this.#response;
    return {
      address: socket?.remoteAddress,
      isEncrypted: socket !== null && 'encrypted' in socket,
    };
  }

  listen({ onClosed, onDrain }: ClientListener): void {
    this.#drained = onDrain;
    this.#response.on('close', onClosed);
    this.#response.on('error', ignore);
  }

  /** The head of an answer whose body follows as it comes. */
  sendHead({ status }: AnswerHead, headers: readonly string[], answer: PassedAnswer): void {
    const response = this.#response;
    this.#status = status;
    writeHeadSafely(response, status, headers);
    // One packet where the body has come with the head; else the head goes alone.
    queueMicrotask(() => {
      if (!answer.hasData && !response.writableEnded && !response.destroyed) response.flushHeaders();
    });
  }

  /** False when it does not keep up: `onDrain` follows. */
  send(piece: Buffer): boolean {
    if (this.#response.write(piece)) return true;
    if (this.#drained !== undefined) this.#response.on('drain', this.#drained);
    this.#drained = undefined;
    return false;
  }

  /** The answer is over; `rest` is its last piece. */
  end(rest: Buffer | undefined): void {
    this.#response.end(rest);
  }

  /** What it gets in place of a worker's answer; `before` is called when its status is known and nothing is sent yet. */
  sendLast(last: HeldAnswer | OpenAiError, before: () => void): void {
    this.#status = last.status;
    before();
    if (this.isGone) return;
    if (last instanceof OpenAiError) sendError(this.#response, last, this.#shape);
    else last.send(this.#response);
  }

  /** Ends the answer in its middle. `error` is what the client of a stream reads as its last event, where it still reads. */
  breakOff(answer: PassedAnswer, error?: OpenAiError): void {
    const response = this.#response;
    const event = error && answer.lastEvent(this.#shape.streamEvent(error));
    if (event === undefined || response.writableNeedDrain || response.destroyed)
      breakOff(response, answer.hasLength);
    else response.end(event);
  }
}

/** What is written to a client that has just gone fails; its `close` says so. */
function ignore(): void {}
