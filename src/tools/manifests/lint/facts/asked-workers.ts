import type { Launch } from '../launches/launch.js';
import type { Fleet } from './fleet.js';
import { readPairFacts } from './pair-facts.js';
import type { WorkerFacts } from './worker-facts.js';

/**
 * Workers of others than Dynamo of which a router asks what they hold. A picker may look prompts up for one part of a request alone; without
 * that in its profiles, prefill workers are not asked.
 */
export function askedWorkers({ workers }: Fleet, router: Launch | undefined): readonly WorkerFacts[] {
  const asks = router?.gateway?.asks;
  const others = workers.filter(({ launch }) => !launch.isDynamo);
  return asks === 'prefill'
    ? others.filter((worker) => roleOf(worker) !== 'decode')
    : others.filter(
        (worker) => worker.phase !== 'prefill' && !(asks === 'decode' && roleOf(worker) === 'prefill'),
      );
}

/** The other workers that compute the same part of requests for the same model, as far as that is known. */
export function twinsOf(worker: WorkerFacts, workers: readonly WorkerFacts[]): readonly WorkerFacts[] {
  return workers.filter(
    (other) =>
      other !== worker &&
      worker.model !== undefined &&
      other.model === worker.model &&
      roleOf(other) === roleOf(worker),
  );
}

function roleOf(worker: WorkerFacts): string | undefined {
  return readPairFacts(worker)?.role ?? worker.phase;
}
