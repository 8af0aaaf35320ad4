import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { type RouteRequest, type Routing, RoutingError } from '../../fleet/router/routing.js';
import { isEverywhere, RESPONSES } from '../apis/api.js';
import { internalError } from '../errors/gateway-errors.js';
import { notRoutedError, OpenAiError } from '../errors/openai-error.js';
import type { Picked, ProxiedRequest, ProxyOutcome } from '../proxy/proxied-request.js';
import type { Prompt, TokenSource } from '../tokens/prompt-tokens.js';
import type { RequestSpan, RequestTracer } from '../tracing/request-tracer.js';
import { PickTrace } from '../tracing/trace-picks.js';
import { cacheUseOf } from './cache-use.js';
import { type Continued, continuedFrom } from './continued.js';
import type { EngineModels } from './engine-models.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { FoundModel, Models } from './models.js';
import type { OpenRequest } from './open-request.js';
import { refuse } from './refusal.js';
import { type AskedBody, parseBody, type ReadBody } from './request-body.js';
import { type Home, type ResponseHomes, ResponseIdWatch } from './response-homes.js';
import { type SessionAffinity, sessionHashOf } from './session-hash.js';

/** What sends requests to workers and the answers back. */
export interface Forwarding {
  /** Answers in any case; resolves when the request is over. */
  serve(request: ProxiedRequest, response: ServerResponse): Promise<ProxyOutcome>;
  /** Takes nothing more; what runs after `graceMs` is refused, or broken off where its answer has begun. */
  close(graceMs: number): Promise<void>;
}

export interface InferenceOptions {
  /** Whether prompts' tokens are asked for, because workers are chosen by them. */
  readonly wantsTokens: boolean;
  /** Where the name of a request's session is read. Default `off`. */
  readonly sessionAffinity?: SessionAffinity;
}

export interface InferenceModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: GatewayMetrics;
  /** What is served now. */
  readonly models: () => Models;
  readonly tokens: TokenSource;
  readonly routing: Routing;
  readonly proxy: Forwarding;
  readonly homes: ResponseHomes;
  readonly engineModels: EngineModels;
  /** Absent: requests are not traced. */
  readonly tracer?: RequestTracer;
}

/** What is known of a request when a worker is to be chosen for it. */
interface Prepared {
  readonly found: FoundModel;
  readonly route: Omit<RouteRequest, 'excluded'>;
}

/** From a body that was read to its worker: model, group, tokens, route. */
export class Inference {
  readonly #options: InferenceOptions;
  readonly #modules: InferenceModules;

  constructor(options: InferenceOptions, modules: InferenceModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Answers a request. Never rejects. */
  async answer(open: OpenRequest, request: IncomingMessage, body: ReadBody): Promise<void> {
    const path = open.api.path + queryOf(request.url);
    await this.#send(open, request, { method: 'POST', path, body: body.bytes }, () =>
      this.#prepare(open, request.headers, body),
    );
  }

  /** Answers a request for what a worker keeps, by its id; `rest` is what follows it in the path. Never rejects. */
  async answerKept(
    open: OpenRequest,
    request: IncomingMessage,
    { id, rest, body }: { readonly id: string; readonly rest: string; readonly body: Buffer },
  ): Promise<void> {
    const path = `${RESPONSES.path}/${encodeURIComponent(id)}${rest}${queryOf(request.url)}`;
    await this.#send(open, request, { method: request.method ?? 'GET', path, body }, async () => {
      const { homes, models } = this.#modules;
      const home = await homes.find(id, models().groups, RESPONSES.path, 'response_id');
      const found = models().find(home.group);
      open.group = home.group;
      const route = { group: home.group, tokens: undefined, loraName: '', cacheSalt: '' };
      return { found: { ...found, excluded: othersOf(found, home) }, route };
    });
  }

  async #send(
    open: OpenRequest,
    request: IncomingMessage,
    sent: Pick<ProxiedRequest, 'method' | 'path' | 'body'>,
    prepare: () => Prepared | Promise<Prepared>,
  ): Promise<void> {
    const { clock, proxy, tracer } = this.#modules;
    const { api, response } = open;
    let span: RequestSpan | undefined;
    try {
      span = tracer?.start(request.headers, api.path);
      const preparing = prepare();
      // Awaited only where there is something to wait for: turns of the event loop cost more than all that is done in them.
      const { found, route } = preparing instanceof Promise ? await preparing : preparing;
      const trace = span === undefined ? undefined : new PickTrace(span, found.model.name);
      const servedMs = clock.monotonicMs();
      const outcome = await proxy.serve(
        {
          ...sent,
          api,
          headers: headersToForward(request.headers, span),
          ...(api === RESPONSES ? { onPiece: this.#rememberId() } : {}),
          group: open.group,
          mayBeRefused: route.loraName !== '' || !isEverywhere(api),
          pick: (failed) => {
            const excluded = failed.length === 0 ? found.excluded : [...found.excluded, ...failed];
            const picking = this.#pick({ ...route, excluded });
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

  /**
   * Reads a body and finds out who serves its model, and its tokens where they
   * are wanted. What the body becomes takes many times its bytes, which alone
   * are counted: it ends here, and not with the answer, an hour later.
   */
  #prepare(open: OpenRequest, headers: IncomingHttpHeaders, body: ReadBody): Prepared | Promise<Prepared> {
    const kind = open.api.prompt;
    const asked = parseBody(body, kind);
    const sessionHash = sessionHashOf(this.#options.sessionAffinity ?? 'off', headers, asked.value);
    const models = this.#modules.models();
    if (!models.has(asked.model) && models.groups.length > 0)
      return this.#findAdapter(asked.model).then((found) =>
        this.#prepareFor(found, open, asked, sessionHash),
      );
    return this.#prepareFor(models.findFor(asked.model, open.api.path), open, asked, sessionHash);
  }

  /** A name in no report: an adapter that was loaded a moment ago, or none. */
  async #findAdapter(name: string): Promise<FoundModel> {
    const { engineModels, models } = this.#modules;
    const found = await engineModels.findAdapter(name, () => models().groups);
    return found === undefined ? models().find(name) : models().asAdapter(name, found);
  }

  #prepareFor(
    found: FoundModel,
    open: OpenRequest,
    asked: AskedBody,
    sessionHash: ReturnType<typeof sessionHashOf>,
  ): Prepared | Promise<Prepared> {
    const kind = open.api.prompt;
    const { group } = found.group;
    open.group = group;
    requireReady(found);
    const route = {
      group,
      tokens: undefined,
      loraName: found.model.loraName,
      cacheSalt: asked.cacheSalt,
      cacheUse: cacheUseOf(asked.value),
      sessionHash,
    };
    const prepared = { found, route };
    const continued = open.api === RESPONSES ? continuedFrom(asked.value) : undefined;
    if (continued !== undefined) return this.#atHome(prepared, continued);
    if (kind === undefined || !this.#options.wantsTokens) return prepared;
    if (asked.isCut) {
      this.#modules.metrics.withoutTokens(group, 'too_long');
      return prepared;
    }
    return this.#addTokens(prepared, kind, asked, open.response);
  }

  /** A request that goes on from what a worker keeps goes to that worker, whatever the load. Its tokens are known to nobody else. */
  async #atHome({ found, route }: Prepared, { id, collection, param }: Continued): Promise<Prepared> {
    const { homes, metrics } = this.#modules;
    const home = await homes.find(id, [found.group], collection, param);
    if (this.#options.wantsTokens) metrics.withoutTokens(route.group, 'continued');
    return { found: { ...found, excluded: othersOf(found, home) }, route };
  }

  async #addTokens(
    { found, route }: Prepared,
    kind: Prompt['kind'],
    { value, model, losesNumbers }: AskedBody,
    response: ServerResponse,
  ): Promise<Prepared> {
    const { group } = found;
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    response.once('close', leave);
    const made = await this.#modules.tokens.tokensOf(
      { kind, body: value, losesNumbers },
      model,
      group,
      gone.signal,
    );
    response.off('close', leave);
    const { tokens, reason } = made;
    if (reason !== undefined && !gone.signal.aborted)
      this.#modules.metrics.withoutTokens(group.group, reason);
    const about =
      reason === 'media_prefix' ? { isPrefix: true } : reason === undefined ? { media: made.media } : {};
    return { found, route: { ...route, tokens, ...about } };
  }

  async #pick(request: RouteRequest): Promise<Picked> {
    const route = await this.#modules.routing.route(request);
    const { target } = route.decision;
    const baseUrl = this.#modules.models().baseUrlOf(request.group, target);
    if (baseUrl !== undefined) return { route, baseUrl };
    // It has left, or moved, since it was chosen.
    route.release();
    if (request.excluded.includes(target))
      throw new RoutingError(
        'no_worker',
        `no worker of "${request.group}" has an address that is known here`,
      );
    return this.#pick({ ...request, excluded: [...request.excluded, target] });
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

function othersOf({ group, excluded }: FoundModel, home: Home): readonly string[] {
  const others = group.workers.map(({ target }) => target).filter((target) => target !== home.target);
  return [...excluded, ...others];
}

function requireReady({ group }: FoundModel): void {
  if (!group.isReady) throw notRoutedError({ code: 'gate_shut', reasons: group.reasons });
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
