import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { onOneLine } from '../../core/text/printable.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { Logger } from '../../edge/platform/logger.js';

/** The code of a result that is good; `@opentelemetry/core` names it, which is not ours to import. */
const SUCCESS = 0;
/** Longest part of a reason that is logged: a collector may answer with a page. */
const MAX_REASON_CHARS = 200;

/** Exports by another exporter, and logs when that stops and begins to work: each once. */
export class LoggingExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #endpoint: string;
  readonly #logger: Logger;
  #isFailing = false;
  #lostCount = 0;

  constructor(options: { readonly inner: SpanExporter; readonly endpoint: string; readonly logger: Logger }) {
    this.#inner = options.inner;
    this.#endpoint = options.endpoint;
    this.#logger = options.logger;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.#inner.export(spans, (result) => {
      if (result.code === SUCCESS) this.#works();
      else this.#failed(spans.length, result.error);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#inner.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }

  #failed(count: number, error: unknown): void {
    this.#lostCount += count;
    if (this.#isFailing) return;
    this.#isFailing = true;
    const why =
      error === undefined ? 'no reason was given' : onOneLine(describeError(error), MAX_REASON_CHARS);
    this.#logger.warn(
      { endpoint: this.#endpoint },
      `Cannot export spans to ${this.#endpoint}: ${why}. Requests go on untraced until it takes them again.`,
    );
  }

  #works(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#logger.info(
      { endpoint: this.#endpoint, lost_spans: this.#lostCount },
      `Exporting spans to ${this.#endpoint} again; ${this.#lostCount} were lost.`,
    );
    this.#lostCount = 0;
  }
}
