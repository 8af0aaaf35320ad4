import type { Usage } from '../../fleet/router/routing.js';
import type { Picked, ProxyOutcome } from '../proxy/proxied-request.js';
import type { RequestSpan } from './request-tracer.js';

/** Records in a span which workers were chosen for its request, and how that ended. */
export class PickTrace {
  readonly #span: RequestSpan;
  readonly #model: string;
  #usage: Usage | undefined;

  /** `model`: as the request names it. */
  constructor(span: RequestSpan, model: string) {
    this.#span = span;
    this.#model = model;
  }

  /** A worker was chosen; the result is to be used in its place. */
  follow({ route, baseUrl }: Picked): Picked {
    this.#span.decided(route.decision, { model: this.#model, baseUrl });
    return {
      baseUrl,
      route: {
        decision: route.decision,
        prefillDone: () => route.prefillDone(),
        progress: (outputTokens) => route.progress(outputTokens),
        release: (usage) => {
          this.#usage = usage ?? this.#usage;
          route.release(usage);
        },
        failed: (fault) => route.failed(fault),
      },
    };
  }

  end({ status, ended }: ProxyOutcome): void {
    this.#span.end({
      status,
      ...(ended === 'complete' ? {} : { error: ended }),
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    });
  }
}
