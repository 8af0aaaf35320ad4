import type { RelayPosition, RelayReader } from '../../../core/relay/relay.js';

/** How a relay ended by itself. */
export interface RelayEnd {
  /** For an operator. */
  readonly reason: string;
  /** True when there is nothing to come back to: a sidecar that does not know of KV events. */
  readonly isUnsupported: boolean;
}

/** Takes what happens to a relay that is being read. */
export interface RelayListener {
  /** `next` has something again after it had nothing. */
  onReadable(): void;
  /** The relay is over, and nothing more is called. What `next` would still have had is lost. */
  onBroken(broken: RelayEnd): void;
}

/** Where one worker's `RelayMessage`s come from: a sidecar's stream, or an engine that is read in this process. */
export interface RelaySource {
  /**
   * Begins where `position` left off; undefined begins with a snapshot. With `rehashTo` blocks of so many tokens are asked
   * for in place of the worker's own; a relay that cannot give such breaks. The reader's `next` throws a `RelayError` for
   * what cannot be believed.
   */
  open(position: RelayPosition | undefined, listener: RelayListener, rehashTo?: number): RelayReader;
}

/** A relay carries what cannot be; the message follows "its KV event stream". */
export class RelayError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RelayError';
  }
}
