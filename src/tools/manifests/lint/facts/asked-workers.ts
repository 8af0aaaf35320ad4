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
  const roleOf = (worker: WorkerFacts): string | undefined => readPairFacts(worker)?.role ?? worker.phase;
  const others = workers.filter(({ launch }) => !launch.isDynamo);
  return asks === 'prefill'
    ? others.filter((worker) => roleOf(worker) !== 'decode')
    : others.filter(
        (worker) => worker.phase !== 'prefill' && !(asks === 'decode' && roleOf(worker) === 'prefill'),
      );
}
