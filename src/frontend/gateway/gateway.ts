import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { AnswerBudget } from '../../core/agreement/readiness.js';
import type { Reason } from '../../core/agreement/snapshot.js';
import { type HttpAnswer, jsonAnswer, sendAnswer, textAnswer } from '../../edge/http/answer.js';
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
import {
  answerableError,
  apiKeyError,
  certificateError,
  drainingError,
  internalError,
  loopError,
  notFoundError,
  overloadedError,
  pipelinedError,
} from '../errors/gateway-errors.js';
import { notRoutedError, OpenAiError } from '../errors/openai-error.js';
import { passesOf } from '../proxy/headers.js';
import type { Prompt, TokenSource } from '../tokens/prompt-tokens.js';
import type { RequestTracer } from '../tracing/request-tracer.js';
import type { ApiKeys } from './api-keys.js';
import { GatewayMetrics } from './gateway-metrics.js';
import { type Forwarding, Inference } from './inference.js';
import { cardOf, Models } from './models.js';
import { OpenRequest } from './open-request.js';
import { answerConnect, answerParserError } from './parser-error.js';
import { isServable } from './readiness.js';
import { refuse } from './refusal.js';
import { BodyReader } from './request-body.js';
import { welcomePage } from './welcome-page.js';

export interface GatewayOptions {
  /** Where to listen; port 0 picks a free one. */
  readonly listen: Address;
  /** The setting that `listen` came from, for messages. */
  readonly listenField: string;
  /** Whether prompts' tokens are asked for, because workers are chosen by them. */
  readonly wantsTokens: boolean;
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
  /** Why no request can be taken at present. Absent: there is no such reason. */
  readonly findProblem?: () => OpenAiError | undefined;
  /** Answers `/livez` and `/readyz`. */
  readonly probes: ProbeBoard;
  /** Answers `/metrics`. Absent: with what `registry` holds. */
  readonly metricsPage?: Pick<MetricsPage, 'answer'>;
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

/** What is computed, and what a body holds for which a worker's cache can help. */
const INFERENCE_PATHS: readonly (readonly [path: string, kind: Prompt['kind'] | undefined])[] = [
  ['/v1/chat/completions', 'chat'],
  ['/v1/completions', 'completion'],
  ['/v1/embeddings', undefined],
];

/** The OpenAI-compatible HTTP server: all that happens to a request before a worker is chosen. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #modules: GatewayModules;
  readonly #app: FastifyInstance;
  readonly #listener: Listener;
  readonly #bodies: BodyReader;
  readonly #inference: Inference;
  readonly #startedSeconds: number;
  readonly #open = new UnorderedSet<OpenRequest>();
  /** Answers of refused requests whose bodies still come. */
  readonly #refusing = new Set<ServerResponse>();
  #models: Models | undefined;
  #catalogue: Catalogue | undefined;
  #isDraining = false;
  /** Called when the last open request is over. */
  #onIdle: (() => void) | undefined;

  constructor(options: GatewayOptions, modules: GatewayModules) {
    const { clock, registry } = modules;
    this.#options = options;
    this.#modules = modules;
    this.#startedSeconds = Math.floor(clock.wallMs() / 1_000);
    this.#bodies = new BodyReader({ limitBytes: options.bodyLimitBytes });
    this.#inference = new Inference(options, {
      ...modules,
      metrics: new GatewayMetrics(registry, {
        inFlight: () => this.#open.size,
        groups: () => modules.catalogue().groups.map(({ group }) => group),
      }),
      models: () => this.#currentModels(),
    });
    this.#listener = new Listener(
      {
        ...options,
        limits: { ...DEFAULT_GATEWAY_LIMITS, ...options.limits, maxConnections: options.maxConnections },
      },
      modules,
      {
        onRequest: (request, response) => this.#app.routing(request, response),
        onRefused: ({ status, text }, request, response) => {
          response.setHeader('connection', 'close');
          refuse(request, response, new OpenAiError(status, text));
          this.#followRefusal(response);
        },
        onConnect: (socket) => answerConnect(socket, this.#isAnswering(socket)),
      },
    );
    this.#app = this.#createApp();
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.#listener.openConnections;
  }

  /** Listens. Resolves with the address that was taken; rejects with a `ListenError`. */
  async start(): Promise<Address> {
    await this.#app.ready();
    return this.#listener.start();
  }

  /**
   * Takes no new requests and lets those that are open end; what is left after
   * `graceMs` is refused, or cut where its answer has begun. Until then the
   * port stays, so that a load balancer that does not know yet gets an answer.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#open.size > 0) {
      const idle = new AbortController();
      this.#onIdle = () => idle.abort();
      await sleep(this.#modules.clock, graceMs, idle.signal);
    }
    const isCutting = this.#open.size > 0;
    // A client that still waits gets a refusal, and asks elsewhere; an answer that has begun must not look like a whole one.
    if (isCutting) await this.#modules.proxy.close(0);
    await this.#listener.stop(isCutting ? CUT_GRACE_MS : 0);
    await this.#app.close();
  }

  #createApp(): FastifyInstance {
    const { corsOrigins } = this.#options;
    const app = fastify({
      // Bodies are read, requests logged and ports taken by others.
      logger: false,
      requestIdHeader: false,
      genReqId: () => '',
      routerOptions: { maxParamLength: 1_024 },
      serverFactory: () => this.#listener.server as Server,
      clientErrorHandler: (error, socket) =>
        answerParserError(error, socket as Socket, this.#isAnswering(socket as Socket)),
      frameworkErrors: (_error, request, reply) =>
        this.#refuse(request, reply, new OpenAiError(400, 'The path cannot be read.')),
    });
    if (corsOrigins.length > 0) void app.register(cors, corsOf(corsOrigins));
    app.removeAllContentTypeParsers();
    // Nobody reads what comes with a request that nobody answers; bodies that are wanted are read below.
    app.addContentTypeParser('*', (_request: FastifyRequest, _stream, done) => done(null));
    app.setErrorHandler((error, request, reply) => this.#refuse(request, reply, error));
    app.setNotFoundHandler((request, reply) =>
      this.#refuse(request, reply, notFoundError(request.method, request.url)),
    );
    // A plugin, since hooks hold for routes that are added after them.
    void app.register((routes, _options, done) => {
      this.#addRoutes(routes);
      done();
    });
    return app;
  }

  #addRoutes(app: FastifyInstance): void {
    for (const [path, kind] of INFERENCE_PATHS) {
      // Taken over in the first hook: what the framework does from there to a handler costs more than all that is done here.
      const onRequest = (request: FastifyRequest, reply: FastifyReply): void =>
        this.#take(path, kind, request, reply);
      app.post(path, { onRequest }, unreached);
    }
    const { registry, metricsPage: metrics = MetricsPage.of(registry) } = this.#modules;
    const keyed = {
      onRequest: (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
        const problem = this.#findCallerProblem(request);
        if (problem === undefined) done();
        else this.#refuse(request, reply, problem);
      },
    };
    const get = (
      path: string,
      hooks: typeof keyed | object,
      answer: (request: FastifyRequest) => HttpAnswer | Promise<HttpAnswer>,
    ): void => {
      app.get(path, hooks, async (request, reply) => {
        const found = await answer(request);
        sendAnswer(this.#takeOver(reply), found);
      });
    };
    const probe = (name: Probe) => (request: FastifyRequest) => this.#answerProbe(name, request);
    get('/livez', {}, probe('livez'));
    get('/readyz', {}, probe('readyz'));
    get('/health', {}, () => this.#health());
    get('/', keyed, ({ headers }) => welcomePage(headers.accept, this.#options));
    get('/metrics', keyed, ({ headers }) => metrics.answer(headers.accept));
    get('/v1/models', keyed, () => this.#listModels());
    // Names have slashes in them, which not every client encodes.
    get('/v1/models/*', keyed, ({ params }) => this.#showModel((params as { '*': string })['*']));
  }

  /** Takes a request for something to be computed, unless it is refused before its body is read. */
  #take(path: string, kind: Prompt['kind'] | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request;
    const response = this.#takeOver(reply);
    const open = new OpenRequest(path, response, this.#modules.clock.monotonicMs());
    const problem =
      this.#findStateProblem(response) ??
      this.#findCallerProblem(request) ??
      (passesOf(raw.headers) > MAX_PASSES ? loopError() : undefined) ??
      this.#bodies.findHeaderProblem(raw);
    if (problem !== undefined) {
      this.#inference.refuse(open, raw, problem);
      this.#followRefusal(response);
      return;
    }
    this.#open.add(open);
    response.on('close', () => this.#onOver(open));
    this.#bodies.read(raw, open, (error, body) => {
      if (body === undefined) this.#inference.refuse(open, raw, error);
      else void this.#inference.answer(open, kind, raw, body);
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

  #findCallerProblem({ raw }: FastifyRequest): OpenAiError | undefined {
    const { tls, apiKeys } = this.#modules;
    if (tls?.clientAuth === 'require' && !hasVerifiedCertificate(raw)) return certificateError();
    const problem = apiKeys?.().findProblem(raw.headers.authorization);
    return problem === undefined ? undefined : apiKeyError(problem);
  }

  #answerProbe(name: Probe, { query }: FastifyRequest): HttpAnswer {
    if (name === 'readyz' && this.#isDraining)
      return textAnswer(503, '[-]drain shutting down\nreadyz check failed');
    return this.#modules.probes.answer(name, Object.hasOwn(query as object, 'verbose'));
  }

  #health(): HttpAnswer {
    const { groups, reasons } = this.#modules.catalogue();
    const isReady = !this.#isDraining && groups.some(isServable);
    const budget = new AnswerBudget();
    const texts = (all: readonly Reason[]): string[] => budget.clipAll(all.map(({ text }) => text));
    return jsonAnswer(isReady ? 200 : 503, {
      status: isReady ? 'ready' : this.#isDraining ? 'draining' : 'not_ready',
      reasons: texts(reasons),
      models: groups.map((group) => ({
        model: group.group,
        ready: isServable(group),
        workers: group.workers.filter(({ isOffered }) => isOffered).length,
        reasons: texts(group.reasons),
      })),
    });
  }

  #listModels(): HttpAnswer {
    return jsonAnswer(200, { object: 'list', data: this.#currentModels().cards(this.#startedSeconds) });
  }

  #showModel(name: string): HttpAnswer {
    const problem = this.#modules.findProblem?.();
    if (problem !== undefined) throw problem;
    const { model, group } = this.#currentModels().find(name);
    if (!group.isReady) throw notRoutedError({ code: 'gate_shut', reasons: group.reasons });
    return jsonAnswer(200, cardOf(model, this.#startedSeconds));
  }

  #currentModels(): Models {
    const catalogue = this.#modules.catalogue();
    if (this.#models === undefined || catalogue !== this.#catalogue) {
      this.#catalogue = catalogue;
      this.#models = new Models(catalogue);
    }
    return this.#models;
  }

  /** Whether a part of an answer was written to a connection, and the request is not over. */
  #isAnswering(socket: Socket): boolean {
    const isUsed = (response: ServerResponse): boolean => response.socket === socket && response.headersSent;
    for (const response of this.#refusing) if (isUsed(response)) return true;
    for (const { response } of this.#open.snapshot()) if (isUsed(response)) return true;
    return false;
  }

  #followRefusal(response: ServerResponse): void {
    if (response.writableEnded || response.destroyed) return;
    this.#refusing.add(response);
    response.once('close', () => this.#refusing.delete(response));
  }

  #refuse(request: FastifyRequest, reply: FastifyReply, reason: unknown): void {
    this.#takeOver(reply);
    const error = answerableError(reason);
    if (error === undefined)
      this.#modules.logger.error({ error: reason, path: request.url }, 'A request could not be answered');
    refuse(request.raw, reply.raw, error ?? internalError());
    this.#followRefusal(reply.raw);
  }

  /** From here on the answer is written by hand; what was set before (CORS) goes with it. */
  #takeOver(reply: FastifyReply): ServerResponse {
    reply.hijack();
    const response = reply.raw;
    if (this.#options.corsOrigins.length === 0 || response.headersSent) return response;
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) response.setHeader(name, value);
    return response;
  }
}

/** Stands where a handler must be. */
function unreached(): void {
  throw new Error('its requests are taken over before');
}

/** One day: browsers cut it to two hours or less. */
const PREFLIGHT_SECONDS = 86_400;

function corsOf(origins: readonly string[]): FastifyCorsOptions {
  return {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: [
      'retry-after',
      'x-kv-accord-cached-blocks',
      'x-kv-accord-routing-mode',
      'x-kv-accord-worker',
    ],
    maxAge: PREFLIGHT_SECONDS,
    // Its refusal of other OPTIONS is not in the shape of OpenAI's errors.
    strictPreflight: false,
  };
}
