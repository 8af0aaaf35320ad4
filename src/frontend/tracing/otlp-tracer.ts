import type { IncomingHttpHeaders } from 'node:http';
import { createTraceState, ROOT_CONTEXT, SpanKind, TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { type Clock, sleep } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { LoggingExporter } from './logging-exporter.js';
import { OtlpSpan } from './otlp-span.js';
import type { RequestSpan, RequestTracer } from './request-tracer.js';
import { readTraceParent, type TraceParent } from './trace-context.js';
import type { Sampling, TracingSettings } from './tracing-settings.js';

/** Spans that wait for their export; what comes beyond is lost. */
const MAX_QUEUED_SPANS = 2_048;
const MAX_BATCH_SPANS = 512;
const EXPORT_INTERVAL_MS = 5_000;
/** How long the end of the process waits for the last export. */
const CLOSE_TIMEOUT_MS = 3_000;
/** Longest text in an attribute: model names come from clients. */
const MAX_ATTRIBUTE_CHARS = 512;
/** Longest `tracestate` that is looked at, as W3C asks of everybody. */
const MAX_TRACE_STATE_CHARS = 512;

/** What OpenTelemetry's conventions call what is asked at these paths. */
const OPERATIONS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'text_completion',
  '/v1/embeddings': 'embeddings',
};

export interface OtlpTracerOptions extends TracingSettings {
  /** The URL as it may be shown. */
  readonly shown: string;
  readonly version: string;
}

/** Exports the spans of requests over OTLP/HTTP, in batches of their own time. */
export class OtlpTracer implements RequestTracer {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #closed: Promise<void> | undefined;

  constructor(options: OtlpTracerOptions, modules: { readonly clock: Clock; readonly logger: Logger }) {
    const { url, timeoutMs, version } = options;
    this.#clock = modules.clock;
    this.#logger = modules.logger;
    const inner = new OTLPTraceExporter({ url, timeoutMillis: timeoutMs });
    const exporter = new LoggingExporter({ inner, endpoint: options.shown, logger: modules.logger });
    this.#provider = new TracerProvider({
      resource: resourceOf(options),
      sampler: samplerOf(options.sampling),
      spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter,
          maxQueueSize: MAX_QUEUED_SPANS,
          maxExportBatchSize: MAX_BATCH_SPANS,
          scheduledDelayMillis: EXPORT_INTERVAL_MS,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('kv-accord', version);
  }

  start(headers: IncomingHttpHeaders, path: string): RequestSpan {
    const operation = OPERATIONS[path] ?? 'request';
    const parent = readTraceParent(headers);
    const span = this.#tracer.startSpan(
      operation,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          'gen_ai.operation.name': operation,
          'gen_ai.provider.name': 'kv_accord',
          'url.path': path,
        },
      },
      parent === undefined ? ROOT_CONTEXT : contextOf(parent, headers),
    );
    return new OtlpSpan(span, operation, parent !== undefined);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const waits = new AbortController();
    const flushed = this.#provider.shutdown().then(
      () => true,
      // The exporter logs why.
      () => true,
    );
    const isOver = await Promise.race([
      flushed,
      sleep(this.#clock, CLOSE_TIMEOUT_MS, waits.signal).then(() => false),
    ]);
    waits.abort();
    if (!isOver) this.#logger.warn({}, 'The last spans could not be exported in time and may be lost.');
  }
}

function contextOf(
  { traceId, spanId, isSampled }: TraceParent,
  { tracestate }: IncomingHttpHeaders,
): typeof ROOT_CONTEXT {
  const state =
    typeof tracestate === 'string' && tracestate.length <= MAX_TRACE_STATE_CHARS
      ? { traceState: createTraceState(tracestate) }
      : {};
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...state,
  });
}

/** What the operator says of the service goes before what is true of every one. */
function resourceOf({ serviceName, version }: OtlpTracerOptions): ReturnType<typeof defaultResource> {
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'kv-accord', 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes(serviceName === undefined ? {} : { 'service.name': serviceName }));
}

function samplerOf({ isParentBased, ratio }: Sampling): Sampler {
  const root =
    ratio === 0
      ? new AlwaysOffSampler()
      : ratio === 1
        ? new AlwaysOnSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}
