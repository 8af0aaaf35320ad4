import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { systemRandom } from '../edge/platform/random.js';
import type { FleetWatch } from '../fleet/aggregator/fleet-watch.js';
import type { DirectWorkerOptions } from '../fleet/indexer/direct-worker.js';
import type { DirectWorkers } from '../fleet/indexer/direct-workers.js';

/**
 * Reads engines for what their events prove, as members of `fleet`, where no
 * index is kept. It begins at once and ends by `close`; before the fleet is
 * started. Undefined when there is nothing to read.
 */
export async function observeEngines(
  fleet: FleetWatch,
  workers: readonly DirectWorkerOptions[],
  modules: { readonly clock: Clock; readonly logger: Logger },
): Promise<DirectWorkers | undefined> {
  if (workers.length === 0) return undefined;
  // ZeroMQ and all that reads with it is loaded only where there is something to read.
  const [{ DirectWorkers: Observers }, { DirectWorker }] = await Promise.all([
    import('../fleet/indexer/direct-workers.js'),
    import('../fleet/indexer/direct-worker.js'),
  ]);
  const report = (): void => {
    while (observers.reportOne());
  };
  const observers: DirectWorkers = new Observers(workers, {
    ...modules,
    random: systemRandom,
    createDirectWorker: (options, its) => new DirectWorker(options, its),
    reported: (target, capabilities) => fleet.reported(target, capabilities),
    onNews: report,
  });
  fleet.accompany(observers);
  // A report is taken only of who is listed, and that shows here.
  fleet.runner.listen({ onView: report });
  observers.start();
  return observers;
}
