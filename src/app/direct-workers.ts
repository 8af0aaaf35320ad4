import type { CreateEngineReader, DirectWorkerOptions } from '../fleet/indexer/relays/direct-worker.js';
import { readDirectSources } from './direct-sources.js';

/** The engines without a sidecar that this process reads itself. */
export interface DirectEngines {
  /** As `--kv-event-sources` has it: `WORKER=tcp://HOST:PORT`, further URLs for further ranks. */
  readonly kvEventSources: readonly string[];
  /** As `--kv-replay-sources` has it, in the same form and order. */
  readonly kvReplaySources: readonly string[];
  /** Their served model; events do not name it. */
  readonly model: string | undefined;
  /** The operator's own block size in tokens; undefined takes what the events prove. */
  readonly kvCacheBlockSize: number | undefined;
}

/** What each of these engines is read with. The lists were checked before: one that cannot be read names no engine. */
export function directWorkersOf(engines: DirectEngines, version: string): DirectWorkerOptions[] {
  const sources = readDirectSources(engines.kvEventSources);
  const replays = readDirectSources(engines.kvReplaySources);
  if ('allowed' in sources || 'allowed' in replays) return [];
  return [...sources].map(([target, urls]) => ({
    target,
    version,
    model: engines.model,
    declaredTokensPerBlock: engines.kvCacheBlockSize,
    sources: urls.map((endpoint, rank) => {
      const replayEndpoint = replays.get(target)?.[rank];
      return { rank, endpoint, topic: '', ...(replayEndpoint === undefined ? {} : { replayEndpoint }) };
    }),
  }));
}

/** Loads what reads engines directly, ZeroMQ among it; undefined where there is no engine to read. */
export async function loadEngineReader(
  workers: readonly DirectWorkerOptions[],
): Promise<CreateEngineReader | undefined> {
  if (workers.length === 0) return undefined;
  const { EngineEventReader } = await import('../worker/kv-events/engine-event-reader.js');
  return (modules) => new EngineEventReader({}, modules);
}
