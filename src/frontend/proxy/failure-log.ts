import { onOneLine } from '../../core/text/printable.js';
import { workerName } from '../../core/text/worker-name.js';
import type { Clock } from '../../edge/platform/clock.js';
import { LimitedWarnings } from '../../edge/platform/limited-warnings.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Decision } from '../../fleet/router/routing.js';

/** Milliseconds until the same failure of the same worker is logged again, with the number of those between. */
const REPEAT_MS = 10_000;
/** Characters of what an engine or the network said. */
const MAX_DETAIL_CHARS = 200;

/** Logs what clients lose when an engine is lost: answers that ended before their end, and requests that nobody answered. */
export class FailureLog {
  readonly #warnings: LimitedWarnings;

  constructor(modules: { readonly clock: Clock; readonly logger: Logger }) {
    this.#warnings = new LimitedWarnings({ repeatMs: REPEAT_MS }, modules);
  }

  /** The answer of a worker ended before its end. */
  cut(decision: Decision, detail: string): void {
    const { group, workerId, target } = decision;
    this.#warnings.warn(
      `cut ${group} ${target}`,
      { group, worker_id: workerId, worker: target },
      `Worker ${workerName(decision)} ended an answer before its end (${onOneLine(detail, MAX_DETAIL_CHARS)}), and its client gets an error`,
    );
  }

  /** A request got no answer of any worker; `message` is what its client reads. */
  refused(group: string, message: string, decision: Decision | undefined): void {
    const last = decision === undefined ? '' : ` The last one was ${workerName(decision)}.`;
    this.#warnings.warn(
      `refused ${group} ${decision?.target ?? ''}`,
      { group, ...(decision === undefined ? {} : { worker_id: decision.workerId, worker: decision.target }) },
      `A request failed: ${message}${last}`,
    );
  }

  /** A prefill worker failed a request, which goes to another worker, or to another pair. */
  prefillFailed(decision: Decision, detail: string, fallsBack: boolean): void {
    const { group, workerId, target } = decision;
    const next = fallsBack ? 'one worker is to compute the whole prompt' : 'another pair is asked';
    this.#warnings.warn(
      `prefill ${group} ${target}`,
      { group, worker_id: workerId, worker: target },
      `Prefill worker ${workerName(decision)} failed a request (${onOneLine(detail, MAX_DETAIL_CHARS)}), and ${next}`,
    );
  }
}
