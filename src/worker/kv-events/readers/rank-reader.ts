import type { RankStatus } from '../../../core/relay/relay.js';
import type { AppliedBatch } from '../cache/rank-cache.js';

/** Reads the events of one data-parallel rank, from any kind of source. */
export interface RankReader {
  readonly status: RankStatus;
  /** Whether the publisher was seen to restart since `acceptInstance`. */
  readonly hasRestarted: boolean;
  /** Starts to read; never throws. */
  start(): void;
  /** The new engine start has an instance ID now; what was built since its restart stays. */
  acceptInstance(): void;
  /** Another engine start counts: all that is known is of the old one. */
  startOver(reason: string): void;
  close(): Promise<void>;
}

/** What a reader reports. */
export interface RankReaderListener {
  onApplied(applied: AppliedBatch): void;
  /** The rank's cache was emptied, and not by the engine. */
  onDropped(reason: string): void;
  /** The rank's status may have changed. */
  onStatus(): void;
  onPublisherRestart(): void;
  /** The connection to the publisher broke: its engine may have gone. */
  onPublisherDown(): void;
}
