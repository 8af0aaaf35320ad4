import type { FaultKind, WorkerFault } from '../../../core/health/worker-fault.js';
import type { Route } from '../../../fleet/router/routing.js';
import type { AttemptFailure } from '../workers/attempt.js';

/** Statuses below 500 that no engine answers to a request that another worker of its model takes: a wrong URL, name or key. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 404, 405]);

/**
 * What speaks against a worker in the head of its answer; undefined for nothing. The request itself may be to blame: that
 * shows when another worker is asked.
 */
export function suspicionOf(head: {
  readonly status: number;
  readonly isHtml: boolean;
}): WorkerFault | undefined {
  const { status, isHtml } = head;
  if (status >= 500) return { kind: 'server_error', detail: `status ${status}` };
  if (REFUSALS.has(status) || (status >= 300 && status < 400))
    return { kind: 'refused', detail: `status ${status}` };
  return isHtml && status < 300 ? { kind: 'bad_answer', detail: 'an HTML page' } : undefined;
}

/** What is seen of a worker in a failure before its answer; the others are no fault of it, or seen elsewhere. */
const FAULTS: Readonly<Partial<Record<AttemptFailure, FaultKind>>> = {
  unreachable: 'unreachable',
  closed: 'closed',
  bad_answer: 'bad_answer',
};

/** What a failure shows of the worker; undefined where that is nothing. */
export function faultOf(failure: AttemptFailure, error: Error): WorkerFault | undefined {
  const kind = FAULTS[failure];
  return kind === undefined ? undefined : { kind, detail: error.message };
}

/** Workers that failed one request, as long as it is not known whether the request is to blame. */
export class Suspects {
  #suspects: { readonly route: Route; readonly fault: WorkerFault }[] | undefined;

  add(route: Route, fault: WorkerFault): void {
    this.#suspects ??= [];
    this.#suspects.push({ route, fault });
  }

  /** Another worker answered the same request: they are to blame. */
  blame(): void {
    for (const { route, fault } of this.#suspects ?? []) route.failed(fault);
    this.#suspects = undefined;
  }
}
