import type { ServerResponse } from 'node:http';
import { GatheredBytes } from '../../../edge/platform/data/gathered-bytes.js';
import { writeHeadSafely } from './write-head.js';

/** Longest body that is kept; a 503 of an engine is one sentence. */
const MAX_HELD_BYTES = 64 * 1024;

/** An answer that is kept until it is known that there is no better one. */
export class HeldAnswer {
  readonly status: number;
  readonly #headers: readonly string[];
  readonly #body = new GatheredBytes();

  /** `headers` has names and values in turn. */
  constructor(status: number, headers: readonly string[]) {
    this.status = status;
    this.#headers = headers;
  }

  /** False when it has grown too long to be kept. */
  add(piece: Buffer): boolean {
    if (this.#body.bytes + piece.length > MAX_HELD_BYTES) return false;
    this.#body.add(piece);
    return true;
  }

  /** Passes it on as it came. */
  send(response: ServerResponse): void {
    writeHeadSafely(response, this.status, this.#headers);
    response.end(this.#body.whole());
  }
}
