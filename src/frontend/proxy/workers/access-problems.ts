import { type NamedWorker, workerName } from '../../../core/text/worker-name.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { LimitedWarnings } from '../../../edge/platform/limited-warnings.js';
import type { Logger } from '../../../edge/platform/logger.js';
import { explainTlsFailure } from '../../../edge/platform/net/explain-tls-failure.js';

/** Milliseconds until the same problem of the same worker is logged again: it comes with every request. */
const REPEAT_MS = 60_000;

/** Logs what keeps this frontend out of a worker and only its operator can change: certificates and keys. */
export class AccessProblems {
  /** Whether the frontend itself, and not its client, answers for the key that a worker gets. */
  readonly #ownsKey: boolean;
  readonly #warnings: LimitedWarnings;

  constructor(
    options: { readonly engineApiKey?: string; readonly passesAuthorization: boolean },
    modules: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#ownsKey = options.engineApiKey !== undefined || !options.passesAuthorization;
    this.#warnings = new LimitedWarnings({ repeatMs: REPEAT_MS }, modules);
  }

  /** A worker answered with this status. */
  answered(worker: NamedWorker, status: number): void {
    if ((status !== 401 && status !== 403) || !this.#ownsKey) return;
    this.#warn(
      worker,
      (name) =>
        `Worker ${name} wants an API key (status ${status}): name the file with the right one by --engine-api-key-file`,
    );
  }

  /** A request failed at a worker. */
  failed(worker: NamedWorker, error: Error): void {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    const explanation = explainTlsFailure(code);
    if (explanation !== undefined)
      this.#warn(worker, (name) => `Worker ${name} cannot be reached over TLS: ${explanation} (${code})`);
  }

  #warn(worker: NamedWorker, sentenceOf: (name: string) => string): void {
    const { target, workerId } = worker;
    const sentence = sentenceOf(workerName(worker));
    this.#warnings.warn(`${target} ${sentence}`, { worker_id: workerId, worker: target }, sentence);
  }
}
