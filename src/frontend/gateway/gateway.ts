import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { type HttpAnswer, sendAnswer } from '../../edge/http/answer.js';
import type { HttpLimits } from '../../edge/http/limits.js';
import { hasVerifiedCertificate, Listener } from '../../edge/http/listener.js';
import { MetricsPage } from '../../edge/http/metrics-page.js';
import type { Probe, ProbeBoard } from '../../edge/http/probe-board.js';
import type { Address } from '../../edge/platform/address.js';
import { type Clock, sleep } from '../../edge/platform/clock.js';
import { UnorderedSet } from '../../edge/platform/data/unordered-set.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { ServedTls } from '../../edge/security/served-tls.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';
import type { Routing } from '../../fleet/router/routing.js';
import { APIS, type Api, KEPT_RESPONSE, RESPONSES, shapeOf } from '../apis/api.js';
import type { EngineAsker } from '../engine-access/engine-asker.js';
import type { ApiShape } from '../errors/api-shapes.js';
import {
  apiKeyError,
  certificateError,
  drainingError,
  internalError,
  loopError,
  notFoundError,
  otherMethodError,
  overloadedError,
  pipelinedError,
} from '../errors/gateway-errors.js';
import { OpenAiError } from '../errors/openai-error.js';
import { passesOf } from '../proxy/headers.js';
import type { TokenSource } from '../tokens/prompt-tokens.js';
import type { RequestTracer } from '../tracing/request-tracer.js';
import type { ApiKeys } from './api-keys.js';
import { Cors } from './cors.js';
import { EngineModels } from './engine-models.js';
import { GatewayMetrics } from './gateway-metrics.js';
import { GatewayPages } from './gateway-pages.js';
import { type Forwarding, Inference } from './inference.js';
import { OpenRequest } from './open-request.js';
import { answerConnect, answerParserError } from './parser-error.js';
import { refuse } from './refusal.js';
import { BodyReader } from './request-body.js';
import { ResponseHomes } from './response-homes.js';
import type { RouterPage } from './router-page.js';
import { pathOf, Routes } from './routes.js';
import type { SessionAffinity } from './session-hash.js';
import { welcomePage } from './welcome-page.js';

export interface GatewayOptions {
  /** Where to listen; port 0 picks a free one. */
  readonly listen: Address;
  /** The setting that `listen` came from, for messages. */
  readonly listenField: string;
  /** Whether prompts' tokens are asked for, because workers are chosen by them. */
  readonly wantsTokens: boolean;
  /** Where the name of a request's session is read. Default `off`. */
  readonly sessionAffinity?: SessionAffinity;
  /** See `InferenceOptions`. */
  readonly neighbourHintTokens?: number;
  /** Longest body, in bytes. */
  readonly bodyLimitBytes: number;
  /** Connections at a time, and requests that are being answered at a time. */
  readonly maxConnections: number;
  /** Origins whose pages may ask from a browser; `*` for all of them, empty for none. */
  readonly corsOrigins: readonly string[];
  /** Of this program, for the page at `/`. Absent: not shown. */
  readonly version?: string;
  /** Where the status page is, for the page at `/`. */
  readonly statusAddress?: string;
  /** Whether other processes of this program listen there too. Default false. */
  readonly sharesPort?: boolean;
  /** Bounds other than `DEFAULT_GATEWAY_LIMITS`. */
  readonly limits?: Partial<GatewayLimits>;
}

export interface GatewayModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** What is served; the same object until it changes. */
  readonly catalogue: () => Catalogue;
  readonly routing: Routing;
  readonly tokens: TokenSource;
  readonly proxy: Forwarding;
  /** Asks single workers for what is not in their reports. */
  readonly engines: Pick<EngineAsker, 'get'>;
  /** Why no request can be taken at present. Absent: there is no such reason. */
  readonly findProblem?: () => OpenAiError | undefined;
  /** Answers `/livez` and `/readyz`. */
  readonly probes: ProbeBoard;
  /** Answers `/metrics`. Absent: with what `registry` holds. */
  readonly metricsPage?: Pick<MetricsPage, 'answer'>;
  /** Where the status page of the router is, where that is another process. Absent: it is not. */
  readonly statusPage?: () => RouterPage | undefined;
  /** Absent: requests are not traced. */
  readonly tracer?: RequestTracer;
  /** The keys that hold now. Absent: no client is asked for one. */
  readonly apiKeys?: () => ApiKeys;
  /** Absent: plain HTTP. */
  readonly tls?: ServedTls;
}

/** Bounds of the port, but for those that are options of their own. */
type GatewayLimits = Omit<HttpLimits, 'maxConnections'>;

/**
 * - headers 16 KiB, 100 of them: browsers send cookies with what they ask;
 * - 10 s for the headers, 2 minutes for all of a request: 32 MiB of images over a line of 2 Mbit/s;
 * - 75 s between requests: longer than the 60 s after which the usual load balancers give a connection up, so that it is never
 *   closed under a request that is on its way;
 * - 15 minutes for a socket that stands still: longer than the 10 for which a worker may say nothing, so that this ends only
 *   connections of clients that do not read an answer of the gateway itself.
 */
const DEFAULT_GATEWAY_LIMITS: GatewayLimits = {
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 120_000,
  keepAliveTimeoutMs: 75_000,
  idleTimeoutMs: 900_000,
};

/** Frontends behind each other, of a region and of a site, say; beyond that a request goes in a circle. */
const MAX_PASSES = 3;

/** How long the last answers of a drain may take to go out. */
const CUT_GRACE_MS = 500;

/** The OpenAI-compatible HTTP server: all that happens to a request before a worker is chosen. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #modules: GatewayModules;
  readonly #routes = new Routes();
  readonly #cors: Cors;
  readonly #listener: Listener;
  readonly #bodies: BodyReader;
  readonly #inference: Inference;
  readonly #pages: GatewayPages;
  readonly #open = new UnorderedSet<OpenRequest>();
  /** Answers of refused requests whose bodies still come. */
  readonly #refusing = new Set<ServerResponse>();
  #isDraining = false;
  /** Called when the last open request is over. */
  #onIdle: (() => void) | undefined;

  constructor(options: GatewayOptions, modules: GatewayModules) {
    const { clock, registry } = modules;
    this.#options = options;
    this.#modules = modules;
    this.#cors = new Cors(options.corsOrigins);
    this.#bodies = new BodyReader({ limitBytes: options.bodyLimitBytes });
    const engineModels = new EngineModels((worker, path) => modules.engines.get(worker, path), { clock });
    this.#pages = new GatewayPages({ ...modules, engineModels, isDraining: () => this.#isDraining });
    this.#inference = new Inference(options, {
      ...modules,
      metrics: new GatewayMetrics(registry, {
        inFlight: () => this.#open.size,
        groups: () => modules.catalogue().groups.map(({ group }) => group),
      }),
      models: () => this.#pages.currentModels(),
      homes: new ResponseHomes((worker, path) => modules.engines.get(worker, path)),
      engineModels,
    });
    this.#listener = new Listener(
      {
        ...options,
        limits: { ...DEFAULT_GATEWAY_LIMITS, ...options.limits, maxConnections: options.maxConnections },
      },
      modules,
      {
        onRequest: (request, response) => this.#respond(request, response),
        onRefused: ({ status, text }, request, response) => {
          response.setHeader('connection', 'close');
          refuse(request, response, new OpenAiError(status, text), shapeFor(request));
          this.#followRefusal(response);
        },
        onConnect: (socket) => answerConnect(socket, this.#isAnswering(socket)),
      },
    );
    this.#listener.server.on('clientError', (error: Error, socket: Socket) =>
      answerParserError(error, socket, {
        isAnswering: this.#isAnswering(socket),
        shape: this.#shapeOn(socket),
      }),
    );
    this.#addRoutes();
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.#listener.openConnections;
  }

  /** Listens. Resolves with the address that was taken; rejects with a `ListenError`. */
  start(): Promise<Address> {
    return this.#listener.start();
  }

  /**
   * Takes no new requests and lets those that are open end; what is left after
   * `graceMs` is refused, or cut where its answer has begun. Until then the
   * port stays, so that a load balancer that does not know yet gets an answer.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    for (const { response } of this.#open.snapshot()) letConnectionEnd(response);
    if (this.#open.size > 0) {
      const idle = new AbortController();
      this.#onIdle = () => idle.abort();
      await sleep(this.#modules.clock, graceMs, idle.signal);
    }
    const isCutting = this.#open.size > 0;
    // A client that still waits gets a refusal, and asks elsewhere; an answer that has begun must not look like a whole one.
    if (isCutting) await this.#modules.proxy.close(0);
    await this.#listener.stop(isCutting ? CUT_GRACE_MS : 0);
  }

  #addRoutes(): void {
    for (const api of APIS)
      this.#routes.add('POST', api.path, (request, response) => this.#take(api, request, response));
    const kept = (rest: string) => (request: IncomingMessage, response: ServerResponse, id: string) =>
      this.#take(KEPT_RESPONSE, request, response, { id, rest });
    this.#routes.add('GET', `${RESPONSES.path}/*`, kept(''));
    this.#routes.add('DELETE', `${RESPONSES.path}/*`, kept(''));
    this.#routes.add('POST', `${RESPONSES.path}/*/cancel`, kept('/cancel'));
    const { registry, metricsPage: metrics = MetricsPage.of(registry) } = this.#modules;
    const open = (
      path: string,
      answer: (request: IncomingMessage, rest: string) => HttpAnswer | Promise<HttpAnswer>,
    ): void =>
      this.#routes.add('GET', path, (request, response, rest) => {
        // As a function of its own, so that what is thrown immediately is refused too.
        const answering = async (): Promise<HttpAnswer> => answer(request, rest);
        answering().then(
          (found) => sendAnswer(response, found),
          (reason: unknown) => this.#refuse(request, response, reason),
        );
      });
    const keyed: typeof open = (path, answer) =>
      open(path, (request, rest) => {
        const problem = this.#findCallerProblem(request);
        if (problem !== undefined) throw problem;
        return answer(request, rest);
      });
    const probe = (name: Probe) => (request: IncomingMessage) => this.#pages.answerProbe(name, request);
    open('/livez', probe('livez'));
    open('/readyz', probe('readyz'));
    open('/health', () => this.#pages.health());
    keyed('/', ({ headers }) =>
      welcomePage(headers.accept, { ...this.#options, routerPage: this.#modules.statusPage?.() }),
    );
    keyed('/metrics', ({ headers }) => metrics.answer(headers.accept));
    keyed('/v1/models', () => this.#pages.listModels());
    // Names have slashes in them, which not every client encodes.
    keyed('/v1/models/*', (_request, name) => this.#pages.showModel(name));
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isDraining) letConnectionEnd(response);
    if (this.#cors.apply(request, response)) return;
    const { method = '', url = '' } = request;
    const found = this.#routes.find(method, url);
    switch (found.kind) {
      case 'handler':
        found.handler(request, response, found.rest);
        return;
      case 'other_methods':
        this.#refuse(request, response, otherMethodError(method, pathOf(url), found.allow));
        return;
      case 'unreadable':
        this.#refuse(request, response, new OpenAiError(400, 'The path cannot be read.'));
        return;
      case 'nothing':
        this.#refuse(request, response, notFoundError(method, pathOf(url)));
    }
  }

  /** Takes a request for something to be computed, unless it is refused before its body is read. */
  #take(
    api: Api,
    request: IncomingMessage,
    response: ServerResponse,
    kept?: { readonly id: string; readonly rest: string },
  ): void {
    const open = new OpenRequest(api, response, this.#modules.clock.monotonicMs());
    const problem =
      this.#findStateProblem(response) ??
      this.#findCallerProblem(request) ??
      (passesOf(request.headers) > MAX_PASSES ? loopError() : undefined) ??
      this.#bodies.findHeaderProblem(request, api.reads);
    if (problem !== undefined) {
      this.#inference.refuse(open, request, problem);
      this.#followRefusal(response);
      return;
    }
    this.#open.add(open);
    response.on('close', () => this.#onOver(open));
    this.#bodies.read(request, open, (error, body) => {
      if (body === undefined) this.#inference.refuse(open, request, error);
      else if (kept === undefined) void this.#inference.answer(open, request, body);
      else void this.#inference.answerKept(open, request, { ...kept, body: body.bytes });
    });
  }

  #onOver(open: OpenRequest): void {
    this.#open.delete(open);
    this.#bodies.release(open);
    if (this.#open.size === 0) this.#onIdle?.();
  }

  #findStateProblem(response: ServerResponse): OpenAiError | undefined {
    if (this.#isDraining) return drainingError();
    // Node does not report when such a client leaves, and no client sends what costs so much before the answer to what went before.
    if (response.socket === null) return pipelinedError();
    if (this.#open.size >= this.#options.maxConnections) return overloadedError();
    return this.#modules.findProblem?.();
  }

  #findCallerProblem(request: IncomingMessage): OpenAiError | undefined {
    const { tls, apiKeys } = this.#modules;
    if (tls?.clientAuth === 'require' && !hasVerifiedCertificate(request)) return certificateError();
    // Anthropic's clients show their key in a header of its own.
    const { authorization, 'x-api-key': key } = request.headers;
    const shown = authorization ?? (typeof key === 'string' ? `Bearer ${key}` : undefined);
    const problem = apiKeys?.().findProblem(shown);
    return problem === undefined ? undefined : apiKeyError(problem);
  }

  /** Whether a part of an answer was written to a connection, and the request is not over. */
  #isAnswering(socket: Socket): boolean {
    const isUsed = (response: ServerResponse): boolean => response.socket === socket && response.headersSent;
    for (const response of this.#refusing) if (isUsed(response)) return true;
    for (const { response } of this.#open.snapshot()) if (isUsed(response)) return true;
    return false;
  }

  /** How the API that is asked on a connection refuses; undefined where none is. */
  #shapeOn(socket: Socket): ApiShape | undefined {
    const { api } = this.#open.snapshot().find(({ response }) => response.socket === socket) ?? {};
    return api?.shape;
  }

  #followRefusal(response: ServerResponse): void {
    if (response.writableEnded || response.destroyed) return;
    this.#refusing.add(response);
    response.once('close', () => this.#refusing.delete(response));
  }

  #refuse(request: IncomingMessage, response: ServerResponse, reason: unknown): void {
    const path = pathOf(request.url ?? '');
    const isKnown = reason instanceof OpenAiError;
    if (!isKnown) this.#modules.logger.error({ error: reason, path }, 'A request could not be answered');
    refuse(request, response, isKnown ? reason : internalError(), shapeFor(request));
    this.#followRefusal(response);
  }
}

/** No further request comes over its connection, which a client or a load balancer would otherwise keep for the next. */
function letConnectionEnd(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

function shapeFor({ url = '', headers }: IncomingMessage): ApiShape {
  return shapeOf(pathOf(url), headers);
}
