import type { ZmqSource } from '../../../../src/core/relay/rank-source.js';
import { REPLAY_END, sequenceFrame } from '../../../../src/tools/demo/engines/kv-publisher.js';
import type {
  ReplaySocket,
  Sockets,
  Subscription,
} from '../../../../src/worker/kv-events/sockets/zmq-sockets.js';
import { Line } from '../../../support/message-line.js';

/** A publisher without sockets: what is lost, when, and who is connected is for the test to say. */
export class ScriptedPublisher implements Sockets {
  /** Every payload of this engine start, lost ones too. */
  payloads: Uint8Array[] = [];
  /** Batches that a replay gives at most. */
  bufferSteps = 10_000;
  /** Whether replays are answered at all. */
  answers = true;
  /** Whether a replay socket cannot even be opened. */
  refuses = false;
  /** How often a replay was begun. */
  asked = 0;
  /** Whether the end marker of a replay is lost on the way. */
  dropsEnd = false;
  isUp = false;
  #line: Line | undefined;
  #onLink: (isUp: boolean) => void = () => {};

  async subscribe(_source: ZmqSource, onLink: (isUp: boolean) => void): Promise<Subscription> {
    this.#line = new Line();
    this.#onLink = onLink;
    if (this.isUp) onLink(true);
    return this.#line;
  }

  ask(): ReplaySocket {
    this.asked += 1;
    if (this.refuses) throw new Error('no such host');
    const line = new Line();
    return {
      receive: () => line.receive(),
      close: () => line.close(),
      send: async (frames) => {
        const from = Number(Buffer.from(frames[1] as Uint8Array).readBigUInt64BE());
        if (!this.answers || !this.isUp) return;
        const oldest = Math.max(from, this.payloads.length - this.bufferSteps);
        for (let sequence = oldest; sequence < this.payloads.length; sequence += 1) {
          line.push([
            new Uint8Array(),
            new Uint8Array(),
            sequenceFrame(sequence),
            this.payloads[sequence] as Uint8Array,
          ]);
        }
        if (this.dropsEnd) return;
        line.push([new Uint8Array(), new Uint8Array(), REPLAY_END, new Uint8Array()]);
      },
    };
  }

  publish(payload: Uint8Array, { lose = false }: { lose?: boolean } = {}): void {
    this.payloads.push(payload);
    if (!lose) this.again(this.payloads.length - 1);
  }

  again(sequence: number): void {
    const payload = this.payloads[sequence];
    if (payload !== undefined && this.isUp)
      this.#line?.push([new Uint8Array(), sequenceFrame(sequence), payload]);
  }

  connect(): void {
    if (this.isUp) return;
    this.isUp = true;
    if (this.#line?.isClosed === false) this.#onLink(true);
  }

  disconnect(): void {
    if (!this.isUp) return;
    this.isUp = false;
    if (this.#line?.isClosed === false) this.#onLink(false);
  }

  /** Another process at the same address, that has published nothing. */
  restart(): void {
    this.disconnect();
    this.payloads = [];
  }
}
