import {
  type HttpBody,
  ProcessingResponse,
} from '../../../gen/envoy/service/ext_proc/v3/external_processor.js';
import { BODY_BYTES, BODY_END, BYTES, tagOf } from './wire-tags.js';

/**
 * An answer as it goes out: what grpc-js (1.14.7) asks of a serialised message, so that a body is copied once, into
 * the buffer that is sent. A `Buffer` is one.
 */
export interface WrittenAnswer {
  readonly byteLength: number;
  /** Writes it, where there is room. */
  copy(target: Buffer, at: number): unknown;
}

/** Writes an answer. */
export function writeAnswer(message: ProcessingResponse): WrittenAnswer {
  const { response, dynamicMetadata } = message;
  if (response !== undefined && dynamicMetadata === undefined) {
    if (isUnchanged(response)) return UNCHANGED[response.$case];
    if (response.$case === 'requestBody' || response.$case === 'responseBody') {
      const { headerMutation, bodyMutation } = response.value.response ?? {};
      const mutation = bodyMutation?.mutation;
      if (mutation?.$case === 'streamedResponse' && headerMutation === undefined)
        return new ReturnedPiece(ANSWER_FIELDS[response.$case], mutation.value);
    }
  }
  const { buffer, byteOffset, byteLength } = ProcessingResponse.encode(message).finish();
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * Several answers as one message of grpc-js, which asks for a `Buffer`: each would wait until the one before it was
 * sent, and take a packet of its own.
 */
export function packAnswers(answers: readonly WrittenAnswer[]): Buffer {
  const [first] = answers;
  const packed = first !== undefined && answers.length === 1 ? first : new PackedAnswers(answers);
  return packed as Buffer;
}

/** Before each message stand whether it is compressed and its length: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. */
const PREFIX_BYTES = 5;
const LENGTH_BYTES = 4;

class PackedAnswers implements WrittenAnswer {
  readonly byteLength: number;
  readonly #answers: readonly WrittenAnswer[];

  constructor(answers: readonly WrittenAnswer[]) {
    this.#answers = answers;
    let bytes = -PREFIX_BYTES;
    for (const { byteLength } of answers) bytes += PREFIX_BYTES + byteLength;
    this.byteLength = bytes;
  }

  copy(target: Buffer, at: number): void {
    let place = at - PREFIX_BYTES;
    for (const answer of this.#answers) {
      // The first length is written already, but that of all together.
      target[place] = 0;
      target.writeUInt32BE(answer.byteLength, place + PREFIX_BYTES - LENGTH_BYTES);
      answer.copy(target, place + PREFIX_BYTES);
      place += PREFIX_BYTES + answer.byteLength;
    }
  }
}

/** Fields of a `ProcessingResponse` by the part that they answer. */
const ANSWER_FIELDS = {
  requestHeaders: 1,
  responseHeaders: 2,
  requestBody: 3,
  responseBody: 4,
  requestTrailers: 5,
  responseTrailers: 6,
  immediateResponse: 7,
} as const;

/** Answers that change nothing: a field without content. */
const UNCHANGED: Readonly<Record<keyof typeof ANSWER_FIELDS, Buffer>> = Object.fromEntries(
  Object.entries(ANSWER_FIELDS).map(([name, field]) => [name, Buffer.from([tagOf(field, BYTES), 0])]),
) as Record<keyof typeof ANSWER_FIELDS, Buffer>;

function isUnchanged(response: NonNullable<ProcessingResponse['response']>): boolean {
  if (response.$case === 'immediateResponse') return false;
  return 'response' in response.value
    ? response.value.response === undefined
    : response.value.headerMutation === undefined;
}

/** `CommonResponse.body_mutation`, and in it `BodyMutation.streamed_response`. */
const BODY_MUTATION = tagOf(3, BYTES);
const STREAMED_RESPONSE = tagOf(3, BYTES);

/** A piece of a body that is sent back: the message within messages around it is written from the outside in. */
class ReturnedPiece implements WrittenAnswer {
  readonly byteLength: number;
  readonly #field: number;
  readonly #body: Buffer;
  readonly #endOfStream: boolean;
  readonly #piece: number;
  readonly #mutation: number;
  readonly #common: number;
  readonly #answer: number;

  constructor(field: number, { body, endOfStream }: HttpBody) {
    this.#field = field;
    this.#body = body;
    this.#endOfStream = endOfStream;
    const ofBody = body.length === 0 ? 0 : 1 + varintSize(body.length) + body.length;
    this.#piece = ofBody + (endOfStream ? 2 : 0);
    this.#mutation = 1 + varintSize(this.#piece) + this.#piece;
    this.#common = 1 + varintSize(this.#mutation) + this.#mutation;
    this.#answer = 1 + varintSize(this.#common) + this.#common;
    this.byteLength = 1 + varintSize(this.#answer) + this.#answer;
  }

  copy(target: Buffer, start: number): void {
    let at = writeLength(target, start, tagOf(this.#field, BYTES), this.#answer);
    at = writeLength(target, at, tagOf(1, BYTES), this.#common);
    at = writeLength(target, at, BODY_MUTATION, this.#mutation);
    at = writeLength(target, at, STREAMED_RESPONSE, this.#piece);
    if (this.#body.length > 0) {
      at = writeLength(target, at, BODY_BYTES, this.#body.length);
      at += this.#body.copy(target, at);
    }
    if (this.#endOfStream) {
      target[at] = BODY_END;
      target[at + 1] = 1;
    }
  }
}

function writeLength(bytes: Buffer, at: number, tag: number, length: number): number {
  bytes[at] = tag;
  let next = at + 1;
  let rest = length;
  while (rest > 0x7f) {
    bytes[next] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
    next += 1;
  }
  bytes[next] = rest;
  return next + 1;
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) size += 1;
  return size;
}
