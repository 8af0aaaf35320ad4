import type { ServerResponse } from 'node:http';
import { writeHeadSafely } from './write-head.js';

/** Longest body that is kept; a 503 of an engine is one sentence. */
const MAX_HELD_BYTES = 64 * 1024;

/** An answer that is kept until it is known that there is no better one. */
export class HeldAnswer {
  readonly status: number;
  readonly #headers: readonly string[];
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  /** `headers` has names and values in turn. */
  constructor(status: number, headers: readonly string[]) {
    this.status = status;
    this.#headers = headers;
  }

  /** False when it has grown too long to be kept. */
  add(piece: Buffer): boolean {
    this.#bytes += piece.length;
    if (this.#bytes > MAX_HELD_BYTES) return false;
    this.#pieces.push(piece);
    return true;
  }

  /** Passes it on as it came. */
  send(response: ServerResponse): void {
    writeHeadSafely(response, this.status, this.#headers);
    response.end(Buffer.concat(this.#pieces));
  }
}
