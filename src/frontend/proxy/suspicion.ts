import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { Route } from '../../fleet/router/routing.js';

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
