import type { WorkerFault } from '../../../core/health/worker-fault.js';
import type { Decision, Route } from '../../../fleet/router/routing.js';

/** A route as far as its worker can be blamed for it. */
type Blamed = Pick<Route, 'decision' | 'failed'>;

/** A request that a worker failed, as long as it is not known whether the request is to blame. */
interface Suspicion {
  readonly route: Blamed;
  readonly fault: WorkerFault;
  /** What its body looks like; see `sketchOf`. */
  readonly sketch: number;
}

/** Requests that one worker failed since it last answered one. */
interface Run {
  readonly group: string;
  readonly suspicions: Suspicion[];
  /** Whether another worker of its group has answered since the first of them. */
  hasOthers: boolean;
}

/** Different requests in a row after which the worker is to blame. */
const ENOUGH = 3;

/** Workers that are suspected at a time; the first ones are forgotten. */
const MAX_RUNS = 1_000;

/**
 * Workers whose requests failed, seen by one who cannot ask another worker. Two things show that the worker and not the request
 * is to blame: another worker answers the same request, which its client or the gateway has sent again; or the worker fails
 * three requests in a row, each another one, while others of its group answer theirs.
 */
export class SuspectedWorkers {
  /** By group and target. */
  readonly #runs = new Map<string, Run>();

  /** A worker failed a request. */
  failed(route: Blamed, fault: WorkerFault, sketch: number): void {
    const { decision } = route;
    if (decision.isTrial === true) {
      // It was asked in order to see just that.
      route.failed(fault);
      return;
    }
    const key = keyOf(decision);
    const run = this.#runs.get(key) ?? this.#begin(key, decision.group);
    // The same request again says nothing more of the worker.
    const isKnown = run.suspicions.some((one) => one.sketch === sketch);
    if (isKnown || run.suspicions.length >= ENOUGH) return;
    run.suspicions.push({ route, fault, sketch });
    this.#blameForAll(key, run);
  }

  /** A worker answered a request. */
  answered(decision: Pick<Decision, 'group' | 'target'>, sketch: number): void {
    // Nearly always.
    if (this.#runs.size === 0) return;
    const own = keyOf(decision);
    this.#runs.delete(own);
    for (const [key, run] of this.#runs) {
      if (run.group !== decision.group) continue;
      run.hasOthers = true;
      const at = run.suspicions.findIndex((one) => one.sketch === sketch);
      if (at === -1) this.#blameForAll(key, run);
      else {
        for (const { route, fault } of run.suspicions.splice(at, 1)) route.failed(fault);
        if (run.suspicions.length === 0) this.#runs.delete(key);
      }
    }
  }

  #begin(key: string, group: string): Run {
    const run: Run = { group, suspicions: [], hasOthers: false };
    this.#runs.set(key, run);
    for (const first of this.#runs.keys()) {
      if (this.#runs.size <= MAX_RUNS) break;
      this.#runs.delete(first);
    }
    return run;
  }

  #blameForAll(key: string, { suspicions, hasOthers }: Run): void {
    if (!hasOthers || suspicions.length < ENOUGH) return;
    this.#runs.delete(key);
    for (const { route, fault } of suspicions) route.failed(fault);
  }
}

function keyOf({ group, target }: Pick<Decision, 'group' | 'target'>): string {
  return `${group}\n${target}`;
}
