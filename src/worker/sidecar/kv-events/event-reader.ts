import type { RankSource } from '../../../core/relay/rank-source.js';
import type { Relay } from '../../../core/relay/relay.js';
import type { EventCounts } from '../../kv-events/cache/event-counts.js';
import type { StreamCounts } from '../../kv-events/readers/stream-counts.js';

/** What a sidecar needs of the piece that reads an engine's KV events; `EngineEventReader` is one. */
export interface EventReader extends Relay {
  /** Names the engine start that is read. At another one than before everything that was held is dropped. */
  setInstance(instanceId: string): void;
  /** Names what is read; what stays the same goes on undisturbed. */
  setSources(sources: readonly RankSource[]): void;
  /** Says how many blocks fit on the device of each rank at most; undefined when it is not known. */
  setCapacity(blocks: number | undefined): void;
  /** Events since the start, by what they say and what came of them. */
  readonly counts: Pick<EventCounts, 'entries'>;
  /** What happened on the streams since the start. */
  readonly streamCounts: StreamCounts;
  /** Ends every connection. Readers get nothing more. */
  close(): Promise<void>;
}
