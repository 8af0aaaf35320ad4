import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { systemRandom } from '../edge/platform/random.js';
import type { FleetWatch } from '../fleet/aggregator/fleet-watch.js';
import type { DirectWorkerOptions } from '../fleet/indexer/relays/direct-worker.js';
import type { DirectWorkers } from '../fleet/indexer/relays/direct-workers.js';
import { loadEngineReader } from './direct-workers.js';

/**
 * Reads engines for what their events prove, as members of `fleet`, where no
 * index is kept. It begins immediately and ends by `close`; call it before the
 * fleet is started. Undefined when there is nothing to read.
 */
export async function observeEngines(
  fleet: FleetWatch,
  workers: readonly DirectWorkerOptions[],
  modules: { readonly clock: Clock; readonly logger: Logger },
): Promise<DirectWorkers | undefined> {
  const createEngineReader = await loadEngineReader(workers);
  if (createEngineReader === undefined) return undefined;
  const { DirectWorkers: Observers } = await import('../fleet/indexer/relays/direct-workers.js');
  const report = (): void => {
    while (observers.reportOne());
  };
  const observers: DirectWorkers = new Observers(workers, {
    ...modules,
    random: systemRandom,
    createEngineReader,
    reported: (target, capabilities) => fleet.reported(target, capabilities),
    onNews: report,
  });
  fleet.accompany(observers);
  // The fleet takes reports only of listed members, and a new view shows who is listed.
  fleet.runner.listen({ onView: report });
  observers.start();
  return observers;
}
