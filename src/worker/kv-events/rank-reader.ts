import type { RankStatus } from '../../core/relay/relay.js';
import type { AppliedBatch } from './rank-cache.js';

/** The feed of one data-parallel rank, whatever it reads. */
export interface RankReader {
  readonly status: RankStatus;
  /** Whether the publisher was seen to begin anew since `acceptInstance`. */
  readonly hasRestarted: boolean;
  /** Starts to follow; never throws. */
  start(): void;
  /** The new engine start has a name now; what was built since its restart stays. */
  acceptInstance(): void;
  /** Another engine start: all that is known is of the old one. */
  beginAnew(reason: string): void;
  close(): Promise<void>;
}

/** Who is told what a feed finds. */
export interface RankReaderListener {
  onApplied(applied: AppliedBatch): void;
  /** The rank's picture was emptied, and not by the engine. */
  onDropped(reason: string): void;
  /** Where the rank stands may have changed. */
  onStatus(): void;
  onPublisherRestart(): void;
  /** The connection to the publisher broke: its engine may have gone. */
  onPublisherDown(): void;
}
