import { Registry } from 'prom-client';
import type { HttpAnswer } from './answer.js';

type ContentType = typeof Registry.PROMETHEUS_CONTENT_TYPE | typeof Registry.OPENMETRICS_CONTENT_TYPE;

/**
 * A registry's metrics as text, in the form that the caller accepts. prom-client
 * keeps the form in the registry itself and looks at it again after each
 * `collect`, so scrapes are made one after the other; those of the same form
 * that wait at the same time share one.
 */
export class MetricsPage {
  readonly #registry: Registry;
  #last: Promise<unknown> = Promise.resolve();
  readonly #waiting = new Map<ContentType, Promise<HttpAnswer>>();

  constructor(modules: { readonly registry: Registry }) {
    this.#registry = modules.registry;
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
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #render(contentType: ContentType): Promise<HttpAnswer> {
    const registry = this.#registry as Registry<ContentType>;
    registry.setContentType(contentType);
    return { status: 200, contentType, body: await registry.metrics() };
  }
}
