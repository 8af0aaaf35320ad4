import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Address } from '../platform/address.js';
import { type Clock, sleep } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import { HandshakeWatch } from '../platform/net/handshake-watch.js';
import { listen } from '../platform/net/listen.js';
import { type ServedTls, withTlsVersion } from '../security/served-tls.js';
import { BAD_EXPECT, findHeadProblem, type HeadProblem } from './head-problem.js';
import { CONNECTION_CHECK_MS, type HttpLimits } from './limits.js';

export interface ListenerOptions {
  /** Where to listen; port 0 picks a free one. */
  readonly listen: Address;
  /** The setting that `listen` came from, for messages. */
  readonly listenField: string;
  readonly limits: HttpLimits;
  /** Whether other processes of this program listen there too. Default false. */
  readonly sharesPort?: boolean;
}

export interface ListenerModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Absent: plain HTTP. Even `require` is not asked of probes and metrics: a
   * kubelet has no certificate to show, and a handshake that fails would take
   * the whole pod away.
   */
  readonly tls?: ServedTls;
}

/** The handlers of requests to a port. */
export interface ListenerHandlers {
  readonly onRequest: RequestListener;
  /** A request whose head alone is refused. */
  onRefused(problem: HeadProblem, request: IncomingMessage, response: ServerResponse): void;
  /** A client that wants a tunnel, which is never opened: the connection is to be ended. */
  onConnect(socket: Socket): void;
}

/**
 * A port on which HTTP or HTTPS is spoken, bounded in everything: who answers
 * the requests is another's business. Certificates rotate under it, and it
 * knows its connections, so that it can end without leaving one open.
 */
export class Listener {
  /** Only for those who have to hand it to a framework; it is started and stopped here. */
  readonly server: Server | TlsServer;
  readonly #options: ListenerOptions;
  readonly #modules: ListenerModules;
  readonly #sockets = new Set<Socket>();
  #stopped: Promise<void> | undefined;

  constructor(options: ListenerOptions, modules: ListenerModules, handlers: ListenerHandlers) {
    this.#options = options;
    this.#modules = modules;
    const { limits, sharesPort = false } = options;
    const bounds = {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: CONNECTION_CHECK_MS,
      noDelay: true,
      // Node refuses it without a body; it is looked for below.
      requireHostHeader: false,
    };
    const onRequest: RequestListener = (request, response) => {
      const problem = findHeadProblem(request, limits.maxHeaders);
      if (problem === undefined) handlers.onRequest(request, response);
      else handlers.onRefused(problem, request, response);
    };
    const { tls } = modules;
    this.server =
      tls === undefined ? createServer(bounds, onRequest) : this.#createTls(tls, bounds, onRequest);
    // A shared port hands a connection that one process does not take to the next, and so on without an end.
    if (!sharesPort) this.server.maxConnections = limits.maxConnections;
    // Node leaves out what is beyond; all are counted, and their bytes are bounded.
    this.server.maxHeadersCount = 0;
    this.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
      handlers.onRefused(BAD_EXPECT, request, response),
    );
    this.server.on('connect', (_request: IncomingMessage, socket: Socket) => handlers.onConnect(socket));
    this.server.setTimeout(limits.idleTimeoutMs);
    this.server.on('connection', (socket: Socket) => {
      if (sharesPort && this.#sockets.size >= limits.maxConnections) {
        socket.destroy();
        return;
      }
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Whether it was asked to end: answers from here on should say that the connection closes. */
  get isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  /** Listens. Resolves with the address that was taken; rejects with a `ListenError`. */
  async start(): Promise<Address> {
    const { listen: address, listenField, sharesPort } = this.#options;
    const { logger } = this.#modules;
    const bound = await listen(this.server, address, listenField, sharesPort);
    this.server.on('error', (error) => logger.warn({ error }, 'The HTTP server had an error and goes on'));
    return bound;
  }

  /**
   * Ends in order: no new connections, idle ones are closed, running answers
   * finish. What is left after `graceMs` is cut. Calling it again waits for
   * the same end.
   */
  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#drain(graceMs);
    return this.#stopped;
  }

  async #drain(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      // Also called, with an error that says nothing new, when it never listened.
      this.server.close(() => resolve());
    });
    this.server.closeIdleConnections();
    // Node counts who has never asked anything (a browser that connected ahead) as busy.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    const done = new AbortController();
    await Promise.race([closed, sleep(this.#modules.clock, graceMs, done.signal)]);
    done.abort();
    const open = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([closed, ...open]);
  }

  #createTls(tls: ServedTls, bounds: ServerOptions, onRequest: RequestListener): TlsServer {
    let material = tls.current();
    const fixed = {
      requestCert: tls.clientAuth !== 'none',
      rejectUnauthorized: false,
    };
    const handshakes = new HandshakeWatch(this.#modules);
    const server = createTlsServer({ ...bounds, ...fixed, ...withTlsVersion(material) }, onRequest);
    // Before the server's own listener, which begins the handshake.
    server.on('secureConnection', (socket) => handshakes.end(socket));
    server.prependListener('connection', (socket: Socket) => {
      handshakes.begin(socket);
      const current = tls.current();
      if (current === material) return;
      material = current;
      try {
        server.setSecureContext(withTlsVersion(current));
      } catch (error) {
        this.#modules.logger.error({ error }, 'The new certificate cannot be used; the old one stays in use');
      }
    });
    return server;
  }
}

/** Whether the caller showed a certificate that an authority of ours vouches for. */
export function hasVerifiedCertificate({ socket }: Pick<IncomingMessage, 'socket'>): boolean {
  return socket instanceof TLSSocket && socket.authorized;
}
