import { countOf } from '../../../core/text/lists.js';
import { restartLostWorkers } from '../fixes/routers.js';
import { LOST_AFTER_CHECKS } from '../logs/worker-health-rules.js';
import { courseOf } from '../measurements/log-sums.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Suspicion } from './cause.js';
import { clueFor } from './clues.js';

/** As a router names a worker. */
const URL_OF_WORKER = /^(?:https?|grpc):\/\//;
/** Workers that are named. */
const MAX_NAMED = 3;

/** Workers whose health checks a router sees fail up to the end of its log; undefined where there is none, or where they came in time. */
export function lostWorkers(measurements: Measurements): Suspicion | undefined {
  const failing = measurements.signal('worker_unreachable');
  if (failing === undefined) return undefined;
  const lost = [...failing.byWorker]
    .filter(([worker, count]) => count >= LOST_AFTER_CHECKS && URL_OF_WORKER.test(worker))
    .map(([worker]) => worker);
  const isStart = failing.logs.every((one) => courseOf(one)?.late === 0);
  if (lost.length === 0 || isStart) return undefined;
  const wereHealthy = failing.values.has('was healthy');
  const named = lost.slice(0, MAX_NAMED).join(', ');
  const more = lost.length > MAX_NAMED ? ` and ${lost.length - MAX_NAMED} more` : '';
  return {
    headline: `A router does not reach ${countOf(lost.length, 'engine')}${wereHealthy ? ' any more' : ''}: the health checks of ${named}${more} fail`,
    explanation:
      'The router takes an engine out whose checks fail, and sends its requests to the others, which do not have its blocks; without any other they fail. An engine that has ended, one that hangs, and an address that is no longer its own look the same.',
    cluesFor: [
      clueFor(
        wereHealthy && lost.length > 1 ? 'signature' : 'sign',
        `Health checks of ${countOf(lost.length, 'engine')} fail, and none is said to be healthy again.`,
        failing.first,
      ),
    ],
    cluesAgainst: [],
    explains: ['prompts_recomputed'],
    fixes: [restartLostWorkers(lost.slice(0, MAX_NAMED))],
  };
}
