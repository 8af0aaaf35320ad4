import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { isEverywhere, RESPONSES } from '../apis/api.js';
import { internalError } from '../errors/gateway-errors.js';
import { OpenAiError } from '../errors/openai-error.js';
import type { ProxiedRequest, ProxyOutcome } from '../proxy/proxied-request.js';
import type { RequestSpan, RequestTracer } from '../tracing/request-tracer.js';
import { PickTrace } from '../tracing/trace-picks.js';
import { cacheSourceOf } from './cache-source.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { OpenRequest } from './open-request.js';
import { refuse } from './refusal.js';
import type { ReadBody } from './request-body.js';
import {
  type ReadRequest,
  RequestReader,
  type RequestReaderModules,
  type RequestReaderOptions,
  routeRequest,
} from './request-reader.js';
import { ResponseIdWatch } from './response-homes.js';
import { splitBodies } from './split-request.js';

/** What sends requests to workers and the answers back. */
export interface Forwarding {
  /** Answers in any case; resolves when the request is over. */
  serve(request: ProxiedRequest, response: ServerResponse): Promise<ProxyOutcome>;
  /** Takes nothing more; what runs after `graceMs` is refused, or broken off where its answer has begun. */
  close(graceMs: number): Promise<void>;
}

export interface InferenceModules extends RequestReaderModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: GatewayMetrics;
  readonly proxy: Forwarding;
  /** Absent: requests are not traced. */
  readonly tracer?: RequestTracer;
}

export interface InferenceOptions extends RequestReaderOptions {
  /**
   * How many tokens more of a prompt another worker has to hold than the chosen one before that one is informed of it; 0: it
   * never is. Default 0.
   */
  readonly neighbourHintTokens?: number;
}

/** From a body that was read to its worker: model, group, tokens, route. */
export class Inference {
  readonly #modules: InferenceModules;
  readonly #reader: RequestReader;
  readonly #cacheSourceOf: ProxiedRequest['cacheSourceOf'] | undefined;

  constructor(options: InferenceOptions, modules: InferenceModules) {
    this.#modules = modules;
    const { neighbourHintTokens = 0 } = options;
    if (neighbourHintTokens > 0)
      this.#cacheSourceOf = (decision) =>
        cacheSourceOf(decision, neighbourHintTokens, (group, target) =>
          modules.models().baseUrlOf(group, target),
        );
    this.#reader = new RequestReader(options, modules);
  }

  /** Answers a request. Never rejects. */
  answer(open: OpenRequest, request: IncomingMessage, body: ReadBody): Promise<void> {
    const path = open.api.path + queryOf(request.url);
    const split = open.api.prompt === undefined ? undefined : splitBodies(body, open.api);
    return this.#send(open, request, { method: 'POST', path, body: body.bytes, split }, () =>
      this.#reader.read(open, request.headers, body),
    );
  }

  /** Answers a request for what a worker keeps, by its id; `rest` is what follows it in the path. Never rejects. */
  async answerKept(
    open: OpenRequest,
    request: IncomingMessage,
    { id, rest, body }: { readonly id: string; readonly rest: string; readonly body: Buffer },
  ): Promise<void> {
    const path = `${RESPONSES.path}/${encodeURIComponent(id)}${rest}${queryOf(request.url)}`;
    await this.#send(open, request, { method: request.method ?? 'GET', path, body }, () =>
      this.#reader.readKept(open, id),
    );
  }

  async #send(
    open: OpenRequest,
    request: IncomingMessage,
    sent: Pick<ProxiedRequest, 'method' | 'path' | 'body' | 'split'>,
    prepare: () => ReadRequest | Promise<ReadRequest>,
  ): Promise<void> {
    const { clock, proxy, tracer } = this.#modules;
    const { api, response } = open;
    let span: RequestSpan | undefined;
    try {
      span = tracer?.start(request.headers, api.path);
      const preparing = prepare();
      // Awaited only where there is something to wait for: turns of the event loop cost more than all that is done in them.
      const { found, route, protocols } = preparing instanceof Promise ? await preparing : preparing;
      const trace = span === undefined ? undefined : new PickTrace(span, found.model.name);
      const servedMs = clock.monotonicMs();
      const outcome = await proxy.serve(
        // Of one shape for all requests: what reads it again and again for each of them is compiled for that.
        {
          method: sent.method,
          path: sent.path,
          body: sent.body,
          api,
          headers: headersToForward(request.headers, span),
          cacheSourceOf: this.#cacheSourceOf,
          onPiece: api === RESPONSES ? this.#rememberId() : undefined,
          group: open.group,
          mayBeRefused: route.loraName !== '' || !isEverywhere(api),
          split: sent.split,
          pick: (failed, isUnsplit) => {
            const excluded = failed.length === 0 ? found.excluded : [...found.excluded, ...failed];
            const pairing = protocols === undefined ? undefined : { protocols, isUnsplit };
            const picking = this.#reader.pick(routeRequest(route, excluded, pairing));
            return trace === undefined ? picking : picking.then((picked) => trace.follow(picked));
          },
        },
        response,
      );
      this.#count(open, outcome, servedMs);
      trace?.end(outcome);
    } catch (error) {
      const status = this.refuse(open, request, error);
      span?.end({ status, error: 'refused' });
    }
  }

  /** Looks for the id of an answer, and remembers who gave it. */
  #rememberId(): NonNullable<ProxiedRequest['onPiece']> {
    const watch = new ResponseIdWatch();
    return (piece, { group, target }) => {
      const id = watch.add(piece);
      if (id !== undefined) this.#modules.homes.remember(id, { group, target });
    };
  }

  /** Refuses a request and counts it. Why, unless it is an `OpenAiError`, is for the log alone. Returns the status. */
  refuse(open: OpenRequest, request: IncomingMessage, reason: unknown): number {
    const isKnown = reason instanceof OpenAiError;
    if (!isKnown)
      this.#modules.logger.error({ error: reason, path: open.api.path }, 'A request could not be answered');
    const error = isKnown ? reason : internalError();
    refuse(request, open.response, error, open.api.shape);
    this.#count(open, { status: error.status, ended: 'refused', firstByteMs: undefined }, open.startedMs);
    return error.status;
  }

  #count(open: OpenRequest, { status, ended, firstByteMs }: ProxyOutcome, servedMs: number): void {
    const { clock, metrics } = this.#modules;
    metrics.count({
      group: open.group,
      path: open.api.path,
      status,
      ended,
      durationMs: clock.monotonicMs() - open.startedMs,
      firstByteMs: firstByteMs === undefined ? undefined : servedMs - open.startedMs + firstByteMs,
    });
  }
}

/** The query of a request line, with its question mark; empty for none. */
function queryOf(url: string | undefined): string {
  const at = url?.indexOf('?') ?? -1;
  return url === undefined || at === -1 ? '' : url.slice(at);
}

/**
 * Engines answer every origin unless they are configured otherwise (vLLM's
 * `--allowed-origins` is `*`): which ones may ask is decided here alone, so they
 * do not learn that a browser asks.
 */
function headersToForward(headers: IncomingHttpHeaders, span: RequestSpan | undefined): IncomingHttpHeaders {
  if (headers.origin === undefined && span === undefined) return headers;
  const { origin: _, ...others } = headers;
  if (span === undefined) return others;
  const { tracestate: __, ...withoutState } = others;
  return { ...(span.isContinued ? others : withoutState), traceparent: span.traceparent };
}
