import type { EventSettings } from '../../worker/sidecar/kv-events/kv-events-sources.js';

/** Where the operator says that KV events are. */
export interface KvEventSettings {
  /** One endpoint a rank, in order; `auto` alone takes what the engine says, `off` alone reads none. */
  readonly kvEventSources: readonly string[];
  /** One endpoint for each of `kvEventSources`, in the same order, or none. */
  readonly kvReplaySources: readonly string[];
  /** Whether a TensorRT-LLM that publishes nothing may be read by its draining endpoint. */
  readonly trtllmDrainEvents: boolean;
}

/** What is read of KV events; undefined when that is switched off. */
export function eventSettingsOf({
  kvEventSources,
  kvReplaySources,
  trtllmDrainEvents,
}: KvEventSettings): EventSettings | undefined {
  const [word] = kvEventSources;
  if (word === 'off') return undefined;
  if (word === 'auto') return { from: 'engine', drainsTrtllm: trtllmDrainEvents };
  const sources = kvEventSources.map((endpoint, rank) => {
    const replayEndpoint = kvReplaySources[rank];
    const replay = replayEndpoint === undefined ? {} : { replayEndpoint };
    return { kind: 'zmq', rank, endpoint, topic: '', ...replay } as const;
  });
  return { from: 'operator', sources };
}
