import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { Route } from '../../fleet/router/routing.js';
import type { HeldAnswer } from './answers/held-answer.js';
import type { PassedAnswer } from './answers/passed-answer.js';
import type { Try } from './workers/try.js';
import type { WorkerEndpoint } from './workers/worker-pools.js';

/** Where a request is. */
export type State =
  /** A worker is being chosen. */
  | { readonly type: 'picking' }
  /** One was chosen, and its address is looked up. */
  | { readonly type: 'chosen'; readonly route: Route }
  /** A worker computes its prompt, and the one that was chosen to go on waits for that: see `SplitTry`. */
  | { readonly type: 'prefilling'; readonly route: Route; readonly endpoint: WorkerEndpoint }
  /** It waits for a connection, then for the first byte of an answer. */
  | { readonly type: 'connecting' | 'waiting'; readonly current: Try }
  /** An error of the worker comes in, which is passed on only if no other worker answers. */
  | {
      readonly type: 'holding';
      readonly current: Try;
      readonly coming: HeldAnswer;
      readonly fault: WorkerFault;
    }
  /** The answer goes to the client as it comes. */
  | { readonly type: 'passing'; readonly current: Try; readonly answer: PassedAnswer }
  /** The worker is done, and the client reads the rest. */
  | { readonly type: 'flushing'; readonly answer: PassedAnswer }
  | { readonly type: 'over' };

/** The route that a state holds. */
export function routeOf(state: State): Route | undefined {
  if ('current' in state) return state.current.route;
  return 'route' in state ? state.route : undefined;
}
