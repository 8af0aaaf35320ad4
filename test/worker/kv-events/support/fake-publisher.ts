import { encode } from '@msgpack/msgpack';
import { Publisher, Router } from 'zeromq';
import { REPLAY_END, sequenceFrame } from '../../../../src/tools/demo/engines/kv-publisher.js';

/** How a publisher answers a replay, beside the delimiter: vLLM before three frames, vLLM and SGLang today, Dynamo's mocker. */
export type ReplayShape = 'two-frames' | 'three-frames' | 'mocker';

export interface FakePublisherOptions {
  readonly topic?: string;
  /** Default `three-frames`; null: no replay socket. */
  readonly replay?: ReplayShape | null;
  /** Batches that a replay gives at most; default 10,000, as the engines have it. */
  readonly bufferSteps?: number;
  /** Where it binds; default a free port. */
  readonly endpoint?: string;
  /** Connects to this address instead of binding one. */
  readonly connectTo?: string;
}

/** An engine's publisher: a PUB and a ROUTER on real sockets, as vLLM and SGLang have them. */
export class FakePublisher {
  /** First sequence of each replay that was asked for. */
  readonly asked: number[] = [];
  /** Every payload of this engine start, lost ones too. */
  payloads: Uint8Array[] = [];
  /** Replies whose sequence this refuses are left out of a replay. */
  answers: (sequence: number) => boolean = () => true;
  /** Replays wait for this before they are answered. */
  beforeReplay: Promise<void> = Promise.resolve();
  endpoint = '';
  replayEndpoint: string | undefined;
  readonly #options: Required<Omit<FakePublisherOptions, 'endpoint' | 'connectTo'>> & FakePublisherOptions;
  #publisher!: Publisher;
  #router: Router | undefined;
  #from = 0;

  private constructor(options: FakePublisherOptions) {
    this.#options = { topic: 'kv-events', replay: 'three-frames', bufferSteps: 10_000, ...options };
  }

  static async start(options: FakePublisherOptions = {}): Promise<FakePublisher> {
    const made = new FakePublisher(options);
    await made.#open(options.endpoint ?? 'tcp://127.0.0.1:0', 'tcp://127.0.0.1:0');
    return made;
  }

  /** The source of rank 0 that a probe would find. */
  get source(): { rank: number; endpoint: string; topic: string; replayEndpoint?: string } {
    return {
      rank: 0,
      endpoint: this.endpoint,
      topic: this.#options.topic,
      ...(this.replayEndpoint === undefined ? {} : { replayEndpoint: this.replayEndpoint }),
    };
  }

  /** Publishes the next batch; `lose`: it is in the replay buffer alone. */
  async publish(payload: Uint8Array, { lose = false }: { lose?: boolean } = {}): Promise<number> {
    const sequence = this.payloads.push(payload) - 1;
    if (!lose) await this.#publisher.send([this.#options.topic, sequenceFrame(sequence), payload]);
    return sequence;
  }

  /** Sends a batch again. */
  async again(sequence: number): Promise<void> {
    await this.#publisher.send([
      this.#options.topic,
      sequenceFrame(sequence),
      this.payloads[sequence] as Uint8Array,
    ]);
  }

  /** Sends what the test says, frame by frame. */
  async send(frames: (string | Uint8Array)[]): Promise<void> {
    await this.#publisher.send(frames);
  }

  /** What a replay gives no longer. */
  forgetBefore(sequence: number): void {
    this.#from = sequence;
  }

  /** Ends, as with kill -9. */
  stop(): void {
    this.#publisher.close();
    this.#router?.close();
  }

  /** Comes back at the same addresses; `isNewProcess`: as another process, that has published nothing. */
  async comeBack({ isNewProcess = false }: { isNewProcess?: boolean } = {}): Promise<void> {
    if (isNewProcess) {
      this.payloads = [];
      this.#from = 0;
    }
    await this.#open(this.endpoint, this.replayEndpoint ?? '');
  }

  async #open(endpoint: string, replayEndpoint: string): Promise<void> {
    const { connectTo, replay } = this.#options;
    this.#publisher = new Publisher({ linger: 0, sendHighWaterMark: 100_000 });
    if (connectTo === undefined) {
      await bindSoon(this.#publisher, endpoint);
      this.endpoint = this.#publisher.lastEndpoint as string;
    } else {
      this.#publisher.connect(connectTo);
      this.endpoint = `@${connectTo}`;
    }
    if (replay === null) return;
    const router = new Router({ linger: 0, sendHighWaterMark: 100_000 });
    await bindSoon(router, replayEndpoint);
    this.#router = router;
    this.replayEndpoint = router.lastEndpoint as string;
    void this.#serve(router);
  }

  async #serve(router: Router): Promise<void> {
    try {
      for (;;) {
        const [id, , start] = await router.receive();
        if (id === undefined || start === undefined) continue;
        const from = Number(start.readBigUInt64BE());
        this.asked.push(from);
        await this.beforeReplay;
        const oldest = Math.max(this.#from, this.payloads.length - this.#options.bufferSteps, from);
        for (let sequence = oldest; sequence < this.payloads.length; sequence += 1) {
          if (!this.answers(sequence)) continue;
          await router.send([
            id,
            '',
            ...this.#head(this.#options.topic),
            sequenceFrame(sequence),
            this.payloads[sequence] as Uint8Array,
          ]);
        }
        if (this.answers(-1)) await router.send([id, '', ...this.#head(''), REPLAY_END, '']);
      }
    } catch {
      // The socket was closed.
    }
  }

  #head(topic: string): string[] {
    if (this.#options.replay === 'two-frames') return [];
    return [this.#options.replay === 'mocker' ? '' : topic];
  }
}

/** A port may stay taken for a moment after its socket was closed. */
async function bindSoon(socket: Publisher | Router, endpoint: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await socket.bind(endpoint);
    } catch (error) {
      if (attempt === 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

const STARTED_AT_SECONDS = Date.now() / 1_000;

let published = 0;

/** A batch of the engine, as it travels: each has a time of its own, near to now, for old ones count as no lag. */
export function batchOf(...events: readonly object[]): Uint8Array {
  published += 1;
  return encode([STARTED_AT_SECONDS + published / 1_000, events, 0]);
}

/** One block of four tokens, under an engine hash of its own. */
export function stored(hash: number, parent: number | null = null): object {
  return {
    type: 'BlockStored',
    block_hashes: [hash],
    parent_block_hash: parent,
    token_ids: [hash, hash + 1, hash + 2, hash + 3],
    block_size: 4,
    medium: 'GPU',
  };
}

export function removed(...hashes: readonly number[]): object {
  return { type: 'BlockRemoved', block_hashes: hashes, medium: 'GPU' };
}

export const cleared: object = { type: 'AllBlocksCleared' };
