import type { RelayMessage, RelayPosition } from '../../worker/kv-events/relay.js';

/** How a feed ended by itself. */
export interface FeedBreak {
  /** For an operator. */
  readonly reason: string;
  /** True when there is nothing to come back to: a sidecar that does not know of KV events. */
  readonly isUnsupported: boolean;
}

/** What a reader of a feed is told. */
export interface FeedListener {
  /** `next` has something again after it had nothing. */
  onReadable(): void;
  /** The feed is over; nothing more is told. What `next` would still have had is lost. */
  onBroken(broken: FeedBreak): void;
}

/** One reading of a feed, at the reader's own pace. */
export interface FeedReader {
  /** The next message; undefined when there is none now. Throws a `FeedError` for what cannot be believed. */
  next(): RelayMessage | undefined;
  /** Ends it; nothing more is told. May be called again. */
  close(): void;
}

/** Where one worker's `RelayMessage`s come from: a sidecar's stream, or an engine that is read in this process. */
export interface Feed {
  /** Begins where `position` left off; undefined begins anew. */
  open(position: RelayPosition | undefined, listener: FeedListener): FeedReader;
}

/** A feed says what cannot be; the words follow "its KV event stream". */
export class FeedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FeedError';
  }
}
