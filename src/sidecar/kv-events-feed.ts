import type { EventCounts } from '../kv-events/event-counts.js';
import type { FeedCounts } from '../kv-events/feed-counts.js';
import type { Relay } from '../kv-events/relay.js';

/** Where one data-parallel rank of an engine tells its KV events. */
export type EventSource =
  | {
      readonly kind: 'zmq';
      readonly rank: number;
      /** `tcp://HOST:PORT` or `ipc://PATH`; an `@` in front binds instead of connecting. */
      readonly endpoint: string;
      /** What the publisher's topics begin with; empty takes all. */
      readonly topic: string;
      /** The engine's ROUTER socket for what was missed; absent when it has none. */
      readonly replayEndpoint?: string;
    }
  | {
      readonly kind: 'trtllm-drain';
      readonly rank: number;
      /** TensorRT-LLM's own endpoint: what is read from it is gone for everybody else. */
      readonly url: string;
      /** The block size that its other sources tell; its events name none. */
      readonly tokensPerBlock?: number;
    };

/** The width of a KV block as an event of one rank showed it. */
export interface ObservedSize {
  /** The event's own `block_size`. */
  readonly tokensPerBlock: number;
  /** What one unit of it is: EAGLE's engines cut pairs of tokens. */
  readonly unit: 'token' | 'bigram';
  readonly rank: number;
  /** Where it was heard: `KV events of tcp://127.0.0.1:5557`. */
  readonly origin: string;
  /** What was heard, in one line. */
  readonly raw: string;
  /** Wall-clock milliseconds since 1970. */
  readonly observedAtMs: number;
}

/** What a sidecar needs of the piece that reads an engine's KV events; `EngineFeed` is one. */
export interface EventFeed extends Relay {
  /** Names the engine start that is read. At another one than before everything that was held is dropped. */
  setInstance(instanceId: string): void;
  /** Names what is read; what stays the same goes on undisturbed. */
  setSources(sources: readonly EventSource[]): void;
  /** Events since the start, by what they say and what came of them. */
  readonly counts: Pick<EventCounts, 'entries'>;
  /** What happened on the streams since the start. */
  readonly feedCounts: FeedCounts;
  /** Ends every connection. Readers are told nothing more. */
  close(): Promise<void>;
}
