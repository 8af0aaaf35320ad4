import type { Frames, Subscription } from '../../src/worker/kv-events/sockets/zmq-sockets.js';

/** A queue that is read message by message until it is closed. */
export class Line implements Subscription {
  readonly #waiting: Frames[] = [];
  #onFrames: ((frames: Frames | undefined) => void) | undefined;
  isClosed = false;

  push(frames: Frames): void {
    if (this.isClosed) return;
    const give = this.#onFrames;
    this.#onFrames = undefined;
    if (give === undefined) this.#waiting.push(frames);
    else give(frames);
  }

  receive(): Promise<Frames | undefined> {
    const next = this.#waiting.shift();
    if (next !== undefined || this.isClosed) return Promise.resolve(next);
    return new Promise((resolve) => {
      this.#onFrames = resolve;
    });
  }

  close(): void {
    this.isClosed = true;
    this.#onFrames?.(undefined);
    this.#onFrames = undefined;
  }
}
