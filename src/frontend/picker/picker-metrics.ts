import { Counter, Gauge, type Registry } from 'prom-client';
import type { SeenFault } from './failed-answer.js';

/** Closed list of who gave an answer; also labels. */
export const SERVED_BY = ['first', 'fallback', 'other', 'unknown'] as const;
/** Who gave an answer, as a label. */
export type ServedBy = (typeof SERVED_BY)[number];

/** Closed list of what would have become of a request that was only watched; also labels. */
export const SHADOW_RESULTS = ['same', 'other', 'unknown', 'would_refuse'] as const;
/** What would have become of a request, as a label. */
export type ShadowResult = (typeof SHADOW_RESULTS)[number];

/**
 * Closed list of what was seen of answers with an error; also labels. `pair`: one of the two workers that share a request
 * failed it; `gateway`: it says nothing of a worker.
 */
export type SeenFailure = SeenFault['kind'] | 'pair' | 'gateway';

/** What an Endpoint Picker counts beside what every frontend counts. */
export class PickerMetrics {
  readonly #served: Counter<'by'>;
  readonly #shadow: Counter<'result'>;
  readonly #failures: Counter<'seen'>;

  /** `reserved`: requests that count at a worker now. */
  constructor(registry: Registry, { reserved }: { reserved(): number }) {
    const registers = [registry];
    this.#served = new Counter({
      name: 'kv_accord_epp_answers_total',
      help: 'Answers by the endpoint that gave them: the first of the list, one of its fallbacks, another one, or unknown where the gateway does not say.',
      labelNames: ['by'],
      registers,
    });
    this.#shadow = new Counter({
      name: 'kv_accord_epp_shadow_requests_total',
      help: 'With --shadow: requests whose endpoint would have been the same as the one that answered, another one, unknown where the gateway does not say, or that would have been refused.',
      labelNames: ['result'],
      registers,
    });
    this.#failures = new Counter({
      name: 'kv_accord_epp_failures_total',
      help: 'Requests that failed at a worker as the gateway shows it: it could not be reached, it closed the connection, it answered with an error of its own; of a pair of prefill and decode worker one failed it; or the gateway itself failed them.',
      labelNames: ['seen'],
      registers,
    });
    new Gauge({
      name: 'kv_accord_epp_reserved_requests',
      help: 'Requests that count at a worker now.',
      registers,
      collect() {
        this.set(reserved());
      },
    });
  }

  /** Counts who gave an answer. */
  served(by: ServedBy): void {
    this.#served.inc({ by });
  }

  /** Counts a request that failed. */
  failed(seen: SeenFailure): void {
    this.#failures.inc({ seen });
  }

  /** Counts a request that was only watched. */
  shadow(result: ShadowResult): void {
    this.#shadow.inc({ result });
  }
}
