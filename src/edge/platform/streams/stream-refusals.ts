import type { Registry } from 'prom-client';
import { type NamedWorker, workerName } from '../../../core/text/worker-name.js';
import type { Logger } from '../logger.js';
import { ScrapedMetrics } from '../metrics/scraped-metrics.js';

/**
 * Why the stream of a peer was ended for what came on it:
 * - `message`: a message that cannot be read or breaks a bound;
 * - `fault`: this program failed on a message, which is a fault of its own.
 */
export type RefusalCause = 'message' | 'fault';

const CAUSES: readonly RefusalCause[] = ['message', 'fault'];

/** Why a stream ends on which this program failed; its log has the rest. */
export const FAULT_REASON = 'this program failed on a message of it; its log has the error';

/**
 * Streams of workers that were ended for what came on them. Whatever a worker
 * sends ends its own stream and nothing else: what fails on it is caught beside
 * it, counted here, and never reaches the process.
 */
export class StreamRefusals {
  readonly #logger: Logger;
  readonly #counts: Record<RefusalCause, number> = { message: 0, fault: 0 };

  constructor(modules: { readonly logger: Logger }) {
    this.#logger = modules.logger;
  }

  /** How many there were since the start. */
  countOf(cause: RefusalCause): number {
    return this.#counts[cause];
  }

  /** A message of a worker was refused, and its stream ended. */
  message(): void {
    this.#counts.message += 1;
  }

  /** Something failed on what `worker` sent; undefined where it was on the way for several. */
  fault(worker: NamedWorker | undefined, error: unknown): void {
    this.#counts.fault += 1;
    this.#logger.error(
      {
        ...(worker === undefined ? {} : { worker_id: worker.workerId, worker: worker.target }),
        error,
      },
      worker === undefined
        ? 'A fault of this program; others go on. Please report it.'
        : `A message of worker ${workerName(worker)} met a fault of this program: its stream is ended, others go on. Please report it.`,
    );
  }

  /** Runs `run`; what it throws is a `fault`, and then the answer is false. */
  guard(worker: NamedWorker | undefined, run: () => void): boolean {
    try {
      run();
      return true;
    } catch (error) {
      this.fault(worker, error);
      return false;
    }
  }
}

/** `kv_accord_STREAM_streams_refused_total`, read at each scrape. */
export function countRefusals(
  registry: Registry,
  stream: 'kv_events' | 'capabilities',
  refusals: StreamRefusals,
): void {
  new ScrapedMetrics(registry).counter(
    `kv_accord_${stream}_streams_refused_total`,
    'Streams of workers that were ended for what came on them, by cause.',
    ['cause'],
    (add) => {
      for (const cause of CAUSES) add({ cause }, refusals.countOf(cause));
    },
  );
}
