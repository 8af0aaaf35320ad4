import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../edge/platform/clock.js';
import type { CatalogueWorker } from '../../../fleet/catalogue/catalogue.js';
import type { EngineAsker } from '../../engine-access/engine-asker.js';
import { notComputedOf } from '../../proxy/workers/engine-work.js';
import { ReceivedTokens } from '../../proxy/workers/received-tokens.js';

export interface DecodeCountersModules {
  readonly clock: Clock;
  readonly engines: Pick<EngineAsker, 'get'>;
}

/** Decode workers that are followed; of more, those that were asked longest ago begin again. */
const MAX_WORKERS = 1_024;

/** What decode workers received, by their engines' own counters: the usage of an answer shows the prefill worker's cache. */
export class DecodeCounters {
  readonly #modules: DecodeCountersModules;
  readonly #byInstance = new LRUCache<string, ReceivedTokens>({ max: MAX_WORKERS });

  constructor(modules: DecodeCountersModules) {
    this.#modules = modules;
  }

  /** What is known of a worker, which is asked again where that is due. */
  of(worker: CatalogueWorker): ReceivedTokens {
    const { clock, engines } = this.#modules;
    const received = this.#byInstance.get(worker.instanceId) ?? new ReceivedTokens();
    this.#byInstance.set(worker.instanceId, received);
    void received.ask(async () => {
      try {
        return await notComputedOf(async (path) => {
          const answer = await engines.get(worker, path);
          return { status: answer?.status ?? 0, text: answer?.body.toString() ?? '' };
        });
      } catch {
        // Whatever it answered, its counters are not known.
        return undefined;
      }
    }, clock);
    return received;
  }
}
