import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { EventLoop } from '../../../edge/platform/time/event-loop.js';
import type { ProcessingResponse } from '../../../gen/envoy/service/ext_proc/v3/external_processor.js';
import type { PickerCall } from './picker-call.js';
import type { GatewayMessage } from './wire.js';
import { type WrittenAnswer, writeAnswer } from './write-answers.js';

/** A stream of grpc-js. */
export type GrpcCall = ServerDuplexStream<GatewayMessage, readonly WrittenAnswer[]>;

/** Answers that wait for a gateway before nothing more is read of it. */
const MAX_WAITING = 16;

/** Of answers that go out together, as many bytes as make them worth it. */
const MAX_TOGETHER_BYTES = 128 * 1024;

/**
 * A stream of grpc-js as a request needs it. What is answered within one turn
 * of the event loop goes out as one write: a write of its own is, with TLS,
 * most of what an answer costs, here and at the gateway.
 */
export class GatewayCall implements PickerCall {
  readonly #call: GrpcCall;
  readonly #eventLoop: EventLoop;
  /** Those of this turn. */
  #answers: WrittenAnswer[] = [];
  #bytes = 0;
  #onTaken: (() => void)[] = [];
  #isFlushDue = false;
  /** Answers that the transport does not have yet, those of this turn too. */
  #waiting = 0;
  #isEnded = false;

  constructor(call: GrpcCall, { eventLoop }: { readonly eventLoop: EventLoop }) {
    this.#call = call;
    this.#eventLoop = eventLoop;
  }

  write(message: ProcessingResponse, onTaken?: () => void): void {
    if (this.#isGone) {
      onTaken?.();
      return;
    }
    const answer = writeAnswer(message);
    this.#answers.push(answer);
    this.#bytes += answer.byteLength;
    this.#waiting += 1;
    if (onTaken !== undefined) this.#onTaken.push(onTaken);
    if (this.#waiting >= MAX_WAITING && !this.#call.isPaused()) this.#call.pause();
    if (this.#bytes >= MAX_TOGETHER_BYTES) this.flush();
    else if (!this.#isFlushDue) {
      this.#isFlushDue = true;
      this.#eventLoop.soon(this.#onTurn);
    }
  }

  end(): void {
    if (this.#isEnded) return;
    this.flush();
    this.#isEnded = true;
    this.#call.end();
  }

  /** Sends what was answered so far. */
  flush(): void {
    if (this.#answers.length === 0) return;
    const [answers, onTaken] = [this.#answers, this.#onTaken];
    this.#answers = [];
    this.#onTaken = [];
    this.#bytes = 0;
    const taken = (): void => {
      this.#waiting -= answers.length;
      for (const done of onTaken) done();
      if (this.#waiting < MAX_WAITING && this.#call.isPaused()) this.#call.resume();
    };
    if (this.#isGone) taken();
    else this.#call.write(answers, taken);
  }

  get #isGone(): boolean {
    return this.#isEnded || this.#call.cancelled || this.#call.destroyed || this.#call.writableEnded;
  }

  readonly #onTurn = (): void => {
    this.#isFlushDue = false;
    this.flush();
  };
}
