import { Registry } from 'prom-client';
import type { HttpAnswer } from './answer.js';

/** The forms in which metrics are written. */
export type MetricsContentType =
  | typeof Registry.PROMETHEUS_CONTENT_TYPE
  | typeof Registry.OPENMETRICS_CONTENT_TYPE;

/** Gathers what other processes count, in the form that is asked for. */
type GatherOthers = (contentType: MetricsContentType) => Promise<Registry<MetricsContentType>>;

/**
 * A registry's metrics as text, in the form that the caller accepts.
 *
 * prom-client 15 keeps the form in the registry itself, looks at it again
 * after each `collect`, and takes `_total` off the names of its counters for
 * OpenMetrics without ever putting it back: after one such scrape every other
 * scraper would lose those series. So scrapes are made one after the other,
 * whichever port they come to, and the names are put back after each. Scrapes of the same form that wait at
 * the same time share one.
 */
export class MetricsPage {
  readonly #registry: Registry;
  #last: Promise<unknown> = Promise.resolve();
  #others: GatherOthers | undefined;
  readonly #waiting = new Map<MetricsContentType, Promise<HttpAnswer>>();

  private constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** The one page of a registry. */
  static of(registry: Registry): MetricsPage {
    const page = PAGES.get(registry) ?? new MetricsPage(registry);
    PAGES.set(registry, page);
    return page;
  }

  /** Shows with each scrape what `others` gives, under names that the registry itself does not have. */
  include(others: GatherOthers): void {
    this.#others = others;
  }

  /** `accept` is the caller's header; Prometheus' own text unless it names OpenMetrics. */
  answer(accept: string | undefined): Promise<HttpAnswer> {
    const contentType = accept?.includes('application/openmetrics-text')
      ? Registry.OPENMETRICS_CONTENT_TYPE
      : Registry.PROMETHEUS_CONTENT_TYPE;
    const waiting = this.#waiting.get(contentType);
    if (waiting !== undefined) return waiting;
    const answer = this.#last.then(() => {
      // From here on a new caller must get newer values.
      this.#waiting.delete(contentType);
      return this.#render(contentType);
    });
    this.#waiting.set(contentType, answer);
    // The caller gets the error; the next one only waits for its turn.
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #render(contentType: MetricsContentType): Promise<HttpAnswer> {
    const registry = this.#registry as Registry<MetricsContentType>;
    const others = await this.#others?.(contentType);
    // Typed without its name, which every metric has.
    const metrics = registry.getMetricsAsArray() as unknown as { name: string }[];
    const names = metrics.map(({ name }) => name);
    registry.setContentType(contentType);
    try {
      return { status: 200, contentType, body: await withOthers(registry, others).metrics() };
    } finally {
      registry.setContentType(Registry.PROMETHEUS_CONTENT_TYPE);
      for (const [index, metric] of metrics.entries()) metric.name = names[index] ?? metric.name;
    }
  }
}

function withOthers(
  registry: Registry<MetricsContentType>,
  others: Registry<MetricsContentType> | undefined,
): Registry<MetricsContentType> {
  // Typed for the one form; it wants them to have the same, whichever that is.
  return others === undefined ? registry : Registry.merge([registry, others] as Registry[]);
}

const PAGES = new WeakMap<Registry, MetricsPage>();
