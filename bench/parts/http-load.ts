/** A client that keeps a number of connections busy, and writes down how long every answer took. */
import { connect, type Socket } from 'node:net';
import { servePart } from '../support/part.js';

/** What to ask. */
export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** Whether answers are asked for as streams. */
  readonly isStream: boolean;
  /** Length of a body. Default 2,048. */
  readonly bodyBytes?: number;
}

export interface LoadFigures {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Median time to the first byte of an answer's body. */
  readonly firstByteUs: number;
}

const BODIES = 64;
const BODY_BYTES = 2_048;

/** Where each prompt begins with a number of its own, so that nobody answers from memory. */
const NUMBER = '0'.repeat(10);

function requestsOf(isStream: boolean, bodyBytes: number): Buffer[] {
  return Array.from({ length: BODIES }, (_, n) => {
    const content = `${NUMBER} ${n} `.padEnd(bodyBytes - 100, 'the quick brown fox jumps over the lazy dog ');
    const body = JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content }], stream: isStream });
    return Buffer.from(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}

/** Prompts so far. */
let prompts = 0;

/** The next prompt, in place of the one that stood in the request before. */
function numbered(request: Buffer): Buffer {
  prompts += 1;
  request.write(String(prompts).padStart(NUMBER.length, '0'), request.indexOf(CONTENT) + CONTENT.length);
  return request;
}

const CONTENT = '"content":"';

const LAST_CHUNK = Buffer.from('0\r\n\r\n');

class Connection {
  readonly #socket: Socket;
  readonly #next: () => Buffer | undefined;
  readonly #onAnswer: (startNs: bigint, firstNs: bigint) => void;
  #startNs = 0n;
  #firstNs = 0n;
  #head: Buffer | undefined = Buffer.alloc(0);
  /** Bytes of the body that are still to come; undefined where chunks say. */
  #missing: number | undefined;
  #tail: Buffer = Buffer.alloc(0);
  #finish: (error?: Error) => void = () => {};

  constructor(
    port: number,
    next: () => Buffer | undefined,
    onAnswer: (startNs: bigint, firstNs: bigint) => void,
  ) {
    this.#next = next;
    this.#onAnswer = onAnswer;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (piece) => this.#onData(piece));
    this.#socket.on('error', (error) => this.#finish(error));
    this.#socket.on('close', () => this.#finish(new Error('the server closed the connection')));
  }

  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#finish = (error) => {
        this.#finish = () => {};
        this.#socket.destroy();
        if (error === undefined) resolve();
        else reject(error);
      };
      this.#socket.once('connect', () => this.#ask());
    });
  }

  #ask(): void {
    const request = this.#next();
    if (request === undefined) {
      this.#finish();
      return;
    }
    this.#head = Buffer.alloc(0);
    this.#startNs = process.hrtime.bigint();
    this.#firstNs = 0n;
    this.#socket.write(request);
  }

  #onData(piece: Buffer): void {
    if (this.#head === undefined) {
      this.#onBody(piece);
      return;
    }
    const head = this.#head.length === 0 ? piece : Buffer.concat([this.#head, piece]);
    this.#head = head;
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const text = head.toString('latin1', 0, end).toLowerCase();
    if (!text.startsWith('http/1.1 200')) {
      this.#finish(new Error(`the server answered ${head.toString()}`));
      return;
    }
    const at = text.indexOf('content-length:');
    this.#missing = at === -1 ? undefined : Number.parseInt(text.slice(at + 15), 10);
    this.#head = undefined;
    this.#tail = Buffer.alloc(0);
    if (head.length > end + 4) this.#onBody(head.subarray(end + 4));
  }

  #onBody(piece: Buffer): void {
    if (this.#firstNs === 0n) this.#firstNs = process.hrtime.bigint();
    if (this.#missing === undefined) {
      const tail = piece.length >= 5 ? piece.subarray(-5) : Buffer.concat([this.#tail, piece]).subarray(-5);
      if (tail.equals(LAST_CHUNK)) this.#done();
      else this.#tail = tail;
      return;
    }
    this.#missing -= piece.length;
    if (this.#missing === 0) this.#done();
  }

  #done(): void {
    this.#onAnswer(this.#startNs, this.#firstNs);
    this.#ask();
  }
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

servePart({
  async run({
    port,
    connections,
    durationMs,
    isStream,
    bodyBytes = BODY_BYTES,
  }: LoadOptions): Promise<LoadFigures> {
    const requests = requestsOf(isStream, bodyBytes);
    const wholeUs: number[] = [];
    const firstUs: number[] = [];
    const startNs = process.hrtime.bigint();
    const endNs = startNs + BigInt(Math.round(durationMs * 1e6));
    let asked = 0;
    const next = (): Buffer | undefined => {
      asked += 1;
      return process.hrtime.bigint() < endNs ? numbered(requests[asked % BODIES] as Buffer) : undefined;
    };
    const onAnswer = (fromNs: bigint, firstNs: bigint): void => {
      wholeUs.push(Number(process.hrtime.bigint() - fromNs) / 1e3);
      firstUs.push(Number(firstNs - fromNs) / 1e3);
    };
    await Promise.all(Array.from({ length: connections }, () => new Connection(port, next, onAnswer).run()));
    const seconds = Number(process.hrtime.bigint() - startNs) / 1e9;
    const sorted = Float64Array.from(wholeUs).sort();
    return {
      requests: sorted.length,
      perSecond: sorted.length / seconds,
      p50Us: quantile(sorted, 0.5),
      p99Us: quantile(sorted, 0.99),
      firstByteUs: quantile(Float64Array.from(firstUs).sort(), 0.5),
    };
  },
});
