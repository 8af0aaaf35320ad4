import { type Attributes, type Span, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { Decision } from '../../fleet/router/routing.js';
import type { RequestOutcome, RequestSpan, SentTo } from './request-tracer.js';
import { writeTraceParent } from './trace-context.js';

/** From here on a status says that a request failed. */
const FIRST_ERROR_STATUS = 400;

/**
 * One request as a span of a client of the engine: the names are those of
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/ where it has one, and
 * begin with `kv_accord.` where it has none. No part of a prompt is in it.
 */
export class OtlpSpan implements RequestSpan {
  readonly traceparent: string;
  readonly isContinued: boolean;
  readonly #span: Span;
  readonly #operation: string;
  #attemptCount = 0;
  #hasEnded = false;

  constructor(span: Span, operation: string, isContinued: boolean) {
    this.#span = span;
    this.isContinued = isContinued;
    this.#operation = operation;
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.traceparent = writeTraceParent({
      traceId,
      spanId,
      isSampled: (traceFlags & TraceFlags.SAMPLED) === TraceFlags.SAMPLED,
    });
  }

  decided(decision: Decision, { model = decision.group, baseUrl }: SentTo = {}): void {
    if (this.#hasEnded) return;
    this.#attemptCount += 1;
    // A span that is not kept is not worth its attributes.
    if (!this.#span.isRecording()) return;
    this.#span.updateName(`${this.#operation} ${decision.group}`);
    this.#span.setAttributes({
      'gen_ai.request.model': model,
      'kv_accord.group': decision.group,
      'kv_accord.worker': decision.target,
      'kv_accord.worker_id': decision.workerId,
      'kv_accord.instance_id': decision.instanceId,
      'kv_accord.rank': decision.rank,
      'kv_accord.epoch': decision.epoch,
      'kv_accord.tokens_per_block': decision.tokensPerBlock,
      'kv_accord.prompt_blocks': decision.promptBlocks,
      'kv_accord.cached_blocks': decision.cachedBlocks,
      'kv_accord.is_exact': decision.isExact,
      'kv_accord.routing_mode': decision.routingMode,
      'kv_accord.attempts': this.#attemptCount,
      ...(decision.promptTokens === undefined ? {} : { 'gen_ai.usage.input_tokens': decision.promptTokens }),
      ...prefillOf(decision),
      ...serverOf(baseUrl),
    });
  }

  end({ status, error, usage }: RequestOutcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#span.isRecording()) {
      const failure = error ?? (status >= FIRST_ERROR_STATUS ? String(status) : undefined);
      this.#span.setAttributes({
        ...(status > 0 ? { 'http.response.status_code': status } : {}),
        ...(failure === undefined ? {} : { 'error.type': failure }),
        ...(usage === undefined ? {} : { 'gen_ai.usage.input_tokens': usage.promptTokens }),
        ...(usage?.cachedTokens === undefined
          ? {}
          : { 'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens }),
        ...(usage?.outputTokens === undefined ? {} : { 'gen_ai.usage.output_tokens': usage.outputTokens }),
      });
      if (failure !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

/** Of a request that two workers share, the one that computes its prompt. */
function prefillOf({ pair }: Decision): Attributes {
  if (pair === undefined) return {};
  return {
    'kv_accord.prefill_worker': pair.prefill.target,
    'kv_accord.prefill_cached_blocks': pair.prefill.cachedBlocks,
  };
}

function serverOf(baseUrl: string | undefined): Attributes {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  const usual = protocol === 'https:' ? 443 : 80;
  return { 'server.address': hostname, 'server.port': port === '' ? usual : Number(port) };
}
