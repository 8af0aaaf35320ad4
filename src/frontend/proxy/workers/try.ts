import type { Route } from '../../../fleet/router/routing.js';
import type { Attempt } from './attempt.js';
import type { WorkerEndpoint } from './worker-pools.js';

/** One try of the request at one worker. */
export interface Try {
  /** The worker that was chosen; the request counts there until the state leaves it. */
  readonly route: Route;
  readonly endpoint: WorkerEndpoint;
  readonly attempt: Attempt;
  /** The same worker is tried once more, since its connection was only stale. */
  readonly isSecond: boolean;
}
