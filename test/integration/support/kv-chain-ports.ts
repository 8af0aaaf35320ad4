import type { ZmqSource } from '../../../src/core/relay/rank-source.js';
import { sequenceFrame } from '../../../src/tools/demo/engines/kv-publisher.js';
import type {
  Frames,
  ReplaySocket,
  Sockets,
  Subscription,
} from '../../../src/worker/kv-events/sockets/zmq-sockets.js';
import { Line } from '../../support/message-line.js';

/** How an engine's replay socket behaves. */
export const REPLAY_MODES = ['answers', 'hangs', 'stops_halfway', 'drops_some', 'talks_nonsense'] as const;

export type ReplayMode = (typeof REPLAY_MODES)[number];

/** What becomes of a message between publisher and subscriber. */
export const FATES = ['arrives', 'is_lost', 'is_late', 'comes_twice'] as const;

export type Fate = (typeof FATES)[number];

/** The publisher of one rank, and what lies between it and its subscriber. */
export class RankPort {
  replay: ReplayMode = 'answers';
  /** Batches that a replay gives at most, the newest. */
  keptBatches: number;
  /** Newer engines answer with a topic frame. */
  readonly hasTopicFrame: boolean;
  readonly source: ZmqSource;
  readonly #batches: () => readonly Uint8Array[];
  #isUp = false;
  #line: Line | undefined;
  #onLink: (isUp: boolean) => void = () => {};
  #late: Frames[] = [];
  readonly #asked = new Set<Line>();

  constructor(
    options: {
      readonly source: ZmqSource;
      readonly keptBatches: number;
      readonly hasTopicFrame: boolean;
    },
    batches: () => readonly Uint8Array[],
  ) {
    this.source = options.source;
    this.keptBatches = options.keptBatches;
    this.hasTopicFrame = options.hasTopicFrame;
    this.#batches = batches;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  subscribe(onLink: (isUp: boolean) => void): Subscription {
    this.#line = new Line();
    this.#onLink = onLink;
    if (this.#isUp) onLink(true);
    return this.#line;
  }

  /** Sends a batch of this engine start. */
  send(sequence: number, fate: Fate): void {
    const payload = this.#batches()[sequence];
    if (payload === undefined || !this.#isUp || fate === 'is_lost') return;
    const frames = [new Uint8Array(), sequenceFrame(sequence), payload];
    if (fate === 'is_late') this.#late.push(frames);
    else this.#line?.push(frames);
    if (fate === 'comes_twice') this.#line?.push(frames);
  }

  /** Sends frames that are no batch. */
  sendRaw(frames: Frames): void {
    if (this.#isUp) this.#line?.push(frames);
  }

  /** What is late arrives, in the order of its sending. */
  release(): void {
    for (const frames of this.#late.splice(0)) this.#line?.push(frames);
  }

  link(): void {
    if (this.#isUp) return;
    this.#isUp = true;
    if (this.#line?.isClosed === false) this.#onLink(true);
  }

  unlink(): void {
    if (!this.#isUp) return;
    this.#isUp = false;
    if (this.#line?.isClosed === false) this.#onLink(false);
  }

  /** Whether a client waits for an answer of the replay socket. */
  get isAsked(): boolean {
    return [...this.#asked].some(({ isClosed }) => !isClosed);
  }

  ask(): ReplaySocket {
    const line = new Line();
    for (const old of this.#asked) if (old.isClosed) this.#asked.delete(old);
    this.#asked.add(line);
    return {
      receive: () => line.receive(),
      close: () => line.close(),
      send: async (frames) => {
        if (this.#isUp) this.#answer(line, Number(Buffer.from(frames[1] as Uint8Array).readBigUInt64BE()));
      },
    };
  }

  #answer(line: Line, from: number): void {
    const { replay, hasTopicFrame } = this;
    if (replay === 'hangs') return;
    const head = hasTopicFrame ? [new Uint8Array(), new Uint8Array()] : [new Uint8Array()];
    if (replay === 'talks_nonsense') {
      line.push([new Uint8Array(), Buffer.from('sequence'), Buffer.from([0xff]), Buffer.from([0xc1])]);
      return;
    }
    const batches = this.#batches();
    const oldest = Math.max(from, batches.length - this.keptBatches);
    const end = replay === 'stops_halfway' ? Math.ceil((oldest + batches.length) / 2) : batches.length;
    for (let sequence = oldest; sequence < end; sequence += 1) {
      if (replay === 'drops_some' && sequence % 3 === 1) continue;
      line.push([...head, sequenceFrame(sequence), batches[sequence] as Uint8Array]);
    }
    if (replay !== 'stops_halfway') line.push([...head, Buffer.alloc(8, 0xff), new Uint8Array()]);
  }
}

/** Sockets in memory: what a sidecar opens leads to these ports. */
export function socketsTo(ports: readonly RankPort[]): Sockets {
  return {
    async subscribe(source, onLink) {
      const port = ports.find((one) => one.source.endpoint === source.endpoint);
      if (port === undefined) throw new Error(`nobody publishes at ${source.endpoint}`);
      return port.subscribe(onLink);
    },
    ask(endpoint) {
      const port = ports.find((one) => one.source.replayEndpoint === endpoint);
      if (port === undefined) throw new Error(`nobody replays at ${endpoint}`);
      return port.ask();
    },
  };
}
