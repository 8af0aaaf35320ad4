import type { KvEventSource } from '../../../gen/kvaccord/v1/capabilities.js';

/** Where one data-parallel rank publishes its KV events over ZeroMQ. */
export interface NamedEventSource {
  readonly rank: number;
  /** `tcp://HOST:PORT` or `ipc://PATH`; a leading `@` binds. */
  readonly endpoint: string;
  /** Empty for every topic. */
  readonly topic: string;
  /** Absent where the engine gives no old batches again. */
  readonly replayEndpoint?: string;
}

/** The source as a report names it. */
export function reportedSource(source: NamedEventSource): KvEventSource {
  const { rank, endpoint, topic, replayEndpoint } = source;
  const replay = replayEndpoint === undefined ? {} : { replayEndpoint };
  return { dataParallelRank: rank, transport: 'zmq', endpoint, topic, ...replay };
}
