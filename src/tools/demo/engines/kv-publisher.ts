import type { Publisher, Router } from 'zeromq';

/** Batches that a replay sends, as vLLM's and SGLang's `buffer_steps` has it. */
const BUFFER_STEPS = 10_000;

/** Messages that wait for one peer before it loses some: vLLM's `hwm`. */
const MAX_WAITING = 100_000;

/** Where it binds: any free port of the loopback. */
const ANY_PORT = 'tcp://127.0.0.1:0';

/** The topic that engines are usually set to put in front of each batch. */
export const KV_EVENTS_TOPIC = 'kv-events';

/** Eight bytes ff in place of a sequence number: a replay ends. @internal */
export const REPLAY_END: Buffer = Buffer.alloc(8, 0xff);

/** Where KV events are published. */
export interface KvEventPorts {
  /** Of the PUB socket. */
  readonly live: number;
  /** Of the ROUTER socket that replays old batches. */
  readonly replay: number;
}

export interface KvPublisherOptions {
  /** Batches that a replay sends at most. Default 10,000. */
  readonly bufferSteps?: number;
}

/**
 * What vLLM and SGLang publish KV events with: a PUB socket, and a ROUTER socket
 * that replays what was missed. Both stay bound while their engine is down, as its
 * HTTP port does.
 */
export class KvPublisher {
  readonly ports: KvEventPorts;
  readonly #bufferSteps: number;
  readonly #publisher: Publisher;
  readonly #router: Router;
  readonly #serving: Promise<void>;
  /** A socket sends one message at a time. */
  #sending: Promise<unknown> = Promise.resolve();
  #batches: Uint8Array[] = [];
  /** Sequence number of the first batch that is kept. */
  #oldest = 0;

  private constructor(bufferSteps: number, publisher: Publisher, router: Router) {
    this.#bufferSteps = bufferSteps;
    this.#publisher = publisher;
    this.#router = router;
    this.ports = { live: portOf(publisher), replay: portOf(router) };
    this.#serving = this.#serveReplays();
  }

  /** Takes two ports. ZeroMQ is loaded here: an engine without events does not need it. */
  static async open({ bufferSteps = BUFFER_STEPS }: KvPublisherOptions = {}): Promise<KvPublisher> {
    const zmq = await import('zeromq');
    const publisher = new zmq.Publisher({ linger: 0, sendHighWaterMark: MAX_WAITING });
    const router = new zmq.Router({ linger: 0, sendHighWaterMark: MAX_WAITING });
    try {
      await publisher.bind(ANY_PORT);
      await router.bind(ANY_PORT);
      return new KvPublisher(bufferSteps, publisher, router);
    } catch (error) {
      publisher.close();
      router.close();
      throw error;
    }
  }

  /** Sends a batch to all subscribers, and keeps it for replays. */
  publish(batch: Uint8Array): void {
    const sequence = this.#oldest + this.#batches.push(batch) - 1;
    if (this.#batches.length > this.#bufferSteps) {
      this.#batches.shift();
      this.#oldest += 1;
    }
    const send = (): Promise<void> => this.#publisher.send([KV_EVENTS_TOPIC, sequenceFrame(sequence), batch]);
    // It fails only when it was closed meanwhile.
    this.#sending = this.#sending.then(send).catch(() => {});
  }

  /** Another engine start: it counts from 0, and knows nothing of what was before. */
  restart(): void {
    this.#batches = [];
    this.#oldest = 0;
  }

  /** Gives both ports back. */
  async close(): Promise<void> {
    this.#publisher.close();
    this.#router.close();
    await Promise.all([this.#serving, this.#sending]);
  }

  async #serveReplays(): Promise<void> {
    try {
      for await (const [client, , start] of this.#router) {
        if (client === undefined || start?.length !== 8) continue;
        await this.#replay(client, Number(start.readBigUInt64BE()));
      }
    } catch (error) {
      // A send that was under way when the socket was closed.
      if (!this.#router.closed) throw error;
    }
  }

  async #replay(client: Buffer, start: number): Promise<void> {
    const first = Math.max(start - this.#oldest, 0);
    const kept = this.#batches.slice(first);
    for (const [index, batch] of kept.entries()) {
      const sequence = this.#oldest + first + index;
      await this.#router.send([client, '', KV_EVENTS_TOPIC, sequenceFrame(sequence), batch]);
    }
    await this.#router.send([client, '', '', REPLAY_END, '']);
  }
}

/** A sequence number as it travels: eight bytes, the highest first. @internal */
export function sequenceFrame(sequence: number): Buffer {
  const frame = Buffer.alloc(8);
  frame.writeBigUInt64BE(BigInt(sequence));
  return frame;
}

function portOf({ lastEndpoint }: Publisher | Router): number {
  return Number(lastEndpoint?.split(':').at(-1));
}
