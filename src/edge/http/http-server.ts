import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Address } from '../platform/address.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import type { ServedTls } from '../security/served-tls.js';
import { type HttpAnswer, sendAnswer, textAnswer } from './answer.js';
import { Api, type ApiRoute, errorAnswer } from './api.js';
import { type EventStreamRoute, EventStreams } from './event-stream.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './limits.js';
import { hasVerifiedCertificate, Listener } from './listener.js';
import { MetricsPage } from './metrics-page.js';
import type { PageFiles } from './page-files.js';
import { PROBES, type Probe, type ProbeBoard } from './probe-board.js';
import { type PageApp, renderSignIn, renderStatusPage, type StatusContent } from './status-page.js';

/** Who may see the status page and ask the API. Probes and metrics are for everybody who reaches the port. */
export interface HttpAccess {
  /**
   * Why a caller may not ask, in words for it; undefined when it may.
   * `authorization` is the header as it came; `hasVerifiedCertificate` says
   * whether the caller showed one that an authority of ours vouches for.
   */
  findCallerProblem(authorization: string | undefined, hasVerifiedCertificate: boolean): string | undefined;
}

export interface HttpServerOptions {
  /** Where to listen; port 0 picks a free one. */
  readonly listen: Address;
  /** The setting that `listen` came from, for messages. Default `--http-listen`. */
  readonly listenField?: string;
  /** For the OpenAPI document: `kv-accord aggregator`. */
  readonly title: string;
  readonly version: string;
  /** Bounds other than `DEFAULT_HTTP_LIMITS`. */
  readonly limits?: Partial<HttpLimits>;
}

export interface HttpServerModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly probes: ProbeBoard;
  readonly registry: Registry;
  /** What the status page shows now. */
  readonly status: () => StatusContent;
  /** What can be asked below `/api/v1`. */
  readonly api: readonly ApiRoute[];
  /** Streams of events below `/api/v1`. Default none. */
  readonly streams?: readonly EventStreamRoute[];
  /** The web app that takes the status page over in a browser. Absent: the page stays as it is rendered here. */
  readonly page?: PageFiles;
  /** Absent: everybody who reaches the port may see everything. */
  readonly access?: HttpAccess;
  /** Absent: plain HTTP. */
  readonly tls?: ServedTls;
}

/**
 * Serves probes, metrics, the status page and the JSON API: GET and HEAD only,
 * bounded in everything. It is `node:http` without a framework, since a dozen
 * fixed paths need none and the process beside every worker must stay small.
 */
export class HttpServer {
  readonly #modules: HttpServerModules;
  readonly #metrics: MetricsPage;
  readonly #api: Api;
  readonly #streams: EventStreams;
  readonly #listener: Listener;
  readonly #title: string;

  constructor(options: HttpServerOptions, modules: HttpServerModules) {
    this.#modules = modules;
    this.#title = options.title;
    this.#metrics = MetricsPage.of(modules.registry);
    this.#api = new Api(modules.api, { title: options.title, version: options.version });
    this.#streams = new EventStreams(modules.streams ?? [], modules);
    this.#listener = new Listener(
      {
        listen: options.listen,
        listenField: options.listenField ?? '--http-listen',
        limits: { ...DEFAULT_HTTP_LIMITS, ...options.limits },
      },
      modules,
      {
        onRequest: (request, response) => void this.#respond(request, response),
        onRefused: ({ status, text }, _request, response) => {
          response.setHeader('connection', 'close');
          sendAnswer(response, textAnswer(status, text));
        },
        onConnect: (socket) =>
          socket.end(
            'HTTP/1.1 405 Method Not Allowed\r\nallow: GET, HEAD\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
          ),
      },
    );
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
   * Ends in order: no new connections, idle ones are closed, running answers
   * finish. What is left after `graceMs` is cut. Calling it again waits for
   * the same end.
   */
  stop(graceMs: number): Promise<void> {
    this.#streams.close();
    return this.#listener.stop(graceMs);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: HttpAnswer;
    try {
      if (this.#stream(request, response)) return;
      answer = await this.#answer(request);
    } catch (error) {
      // The caller does not see it: what went wrong inside is for the log.
      this.#modules.logger.error({ error, path: request.url }, 'An HTTP request could not be answered');
      // Of a stream that has begun nothing more can be said.
      if (response.headersSent) {
        response.destroy();
        return;
      }
      answer = errorAnswer(500, 'internal', 'something went wrong here; the log of this process says what');
    }
    if (this.#listener.isStopping) response.setHeader('connection', 'close');
    sendAnswer(response, answer);
    // A body was never asked for; reading on would be work for nothing.
    if (hasBody(request)) request.socket.destroySoon();
  }

  /** Whether a stream was asked for, which is then open. */
  #stream(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    const path = parseUrl(request.url)?.pathname ?? '';
    const route = this.#streams.find(path);
    if (route === undefined || this.#findCallerProblem(request) !== undefined) return false;
    this.#streams.serve(route, request, response);
    return true;
  }

  async #answer(request: IncomingMessage): Promise<HttpAnswer> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return textAnswer(405, 'only GET and HEAD are answered here', { allow: 'GET, HEAD' });
    }
    const url = parseUrl(request.url);
    if (url === undefined) return textAnswer(400, 'the path cannot be read');
    const path = url.pathname;
    const probe = PROBES.find((name) => path === `/${name}`);
    if (probe !== undefined) return this.#answerProbe(probe, url);
    if (path === '/metrics') return this.#metrics.answer(request.headers.accept);
    const file = this.#modules.page?.answer(path, request.headers['accept-encoding']);
    if (file !== undefined) return file;
    if (path !== '/' && !path.startsWith('/api/')) return textAnswer(404, NOT_FOUND);
    const app = path === '/' ? this.#app() : undefined;
    const problem = this.#findCallerProblem(request);
    if (problem !== undefined) {
      if (app !== undefined && request.headers.accept?.includes('text/html') === true)
        return renderSignIn(this.#title, problem, app);
      return { ...errorAnswer(401, 'unauthenticated', problem), headers: { 'www-authenticate': 'Bearer' } };
    }
    return path === '/' ? renderStatusPage(this.#modules.status(), app) : this.#api.answer(url);
  }

  #findCallerProblem(request: IncomingMessage): string | undefined {
    const { access, tls } = this.#modules;
    const isVerified = hasVerifiedCertificate(request);
    if (tls?.clientAuth === 'require' && !isVerified) return 'a client certificate must be shown here';
    return access?.findCallerProblem(request.headers.authorization, isVerified);
  }

  #app(): PageApp | undefined {
    const script = this.#modules.page?.address('app.js');
    const style = this.#modules.page?.address('app.css');
    return script === undefined || style === undefined ? undefined : { script, style };
  }

  #answerProbe(probe: Probe, url: URL): HttpAnswer {
    const { searchParams } = url;
    return this.#modules.probes.answer(probe, searchParams.has('verbose'), searchParams.has('offered'));
  }
}

const NOT_FOUND =
  'nothing is here; there are /livez, /readyz, /startupz (each with ?verbose), /metrics, / and /api/v1/openapi.json';

/** The path and query of a request line; the host that it may name means nothing here. */
function parseUrl(target: string | undefined): URL | undefined {
  if (target === undefined || !target.startsWith('/')) return undefined;
  const url = `http://localhost${target}`;
  return URL.canParse(url) ? new URL(url) : undefined;
}

function hasBody(request: IncomingMessage): boolean {
  return (
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  );
}
