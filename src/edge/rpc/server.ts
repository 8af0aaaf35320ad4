import { createServer, type Socket } from 'node:net';
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { HealthService } from '../../gen/grpc/health/v1/health.js';
import { ServerReflectionService } from '../../gen/grpc/reflection/v1/reflection.js';
import { ServerReflectionService as ServerReflectionServiceAlpha } from '../../gen/grpc/reflection/v1alpha/reflection.js';
import type { Address } from '../platform/address.js';
import { type Clock, sleep } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import { HandshakeWatch } from '../platform/net/handshake-watch.js';
import { listen } from '../platform/net/listen.js';
import type { Random } from '../platform/random.js';
import { refuseExposure, type Security } from '../security/security.js';
import { Admission } from './admission.js';
import { Connections } from './connections.js';
import type { RpcEdge } from './handlers.js';
import { Health } from './health.js';
import { allowResets, widenConnections, widenStreams } from './http2-options.js';
import { DEFAULT_RPC_LIMITS, type RpcLimits, STREAM_MARGIN } from './limits.js';
import { quietenResets } from './quiet-resets.js';
import { Reflection } from './reflection.js';
import { OpenStreams } from './server-stream.js';
import { type OnHandshakeError, TlsFront } from './tls-front.js';

export interface RpcServerOptions {
  /** Where to listen; port 0 picks a free one. */
  readonly listen: Address;
  /** The setting that `listen` came from, for messages. Default `--listen`. */
  readonly listenField?: string;
  /** Bounds other than `DEFAULT_RPC_LIMITS`. */
  readonly limits?: Partial<RpcLimits>;
  /** For callers that say nothing themselves of a handshake that failed. Default: nobody looks. */
  readonly onHandshakeError?: OnHandshakeError;
}

export interface RpcServerModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  readonly security: Security;
}

/**
 * Pings that find a peer whose cable was pulled: without them its streams
 * would be kept for the kernel's quarter of an hour. Servers may ping as they
 * like; only clients are refused for it.
 */
const KEEPALIVE_TIME_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

/** How long a connection with no call on it is kept; clients come back by themselves. */
const MAX_CONNECTION_IDLE_MS = 30 * 60_000;

/** After the last call of a drain: time for the last frames to leave before sockets are cut. */
const FLUSH_MS = 200;

/**
 * A gRPC server with health and reflection on it, bounded in everything, that ends in order.
 * It listens by itself and hands connections to grpc-js, so that a port that
 * is taken is one clear error and connections can be counted and limited.
 */
export class RpcServer {
  /** What is reported of the services by grpc.health.v1. */
  readonly health: Health = new Health();
  /** What `wrapUnary` and `wrapServerStream` need. */
  readonly edge: RpcEdge;
  readonly #options: RpcServerOptions;
  readonly #modules: RpcServerModules;
  readonly #limits: RpcLimits;
  readonly #connections: Connections;
  readonly #admission: Admission;
  readonly #grpc: Server;
  readonly #listener = createServer({ noDelay: true });
  readonly #serviceNames: string[] = [];
  #stopped: Promise<void> | undefined;

  constructor(options: RpcServerOptions, modules: RpcServerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#limits = { ...DEFAULT_RPC_LIMITS, ...options.limits };
    const limits = this.#limits;
    const { clock, logger, random, security } = modules;
    this.edge = { clock, logger, random, streams: new OpenStreams() };
    this.#connections = new Connections({ limits }, { clock });
    this.#admission = new Admission(
      { limits },
      { security, connections: this.#connections, isDraining: () => this.#stopped !== undefined },
    );
    this.#grpc = new Server({
      'grpc.max_receive_message_length': limits.maxMessageBytes,
      'grpc.max_send_message_length': limits.maxMessageBytes,
      'grpc.max_concurrent_streams': limits.maxOpenCallsPerConnection + STREAM_MARGIN,
      'grpc.enable_channelz': 0,
      'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
      'grpc.max_connection_idle_ms': MAX_CONNECTION_IDLE_MS,
      interceptors: [this.#admission.interceptor],
    });
    if (limits.takesResets === true) {
      allowResets(this.#grpc);
      quietenResets();
    }
    if (limits.windowBytes !== undefined) widenStreams(this.#grpc, limits.windowBytes);
    this.addService(HealthService, this.health.createHandlers(this.edge));
    const reflection = new Reflection({ serviceNames: () => this.#serviceNames }).createHandlers(this.edge);
    this.addService(ServerReflectionService, reflection);
    this.addService(ServerReflectionServiceAlpha, reflection);
  }

  /** Calls that are open now, streams included. */
  get openCalls(): number {
    return this.#admission.openCalls;
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.#connections.size;
  }

  /** Refused calls by reason, since the start. */
  get refusals(): Admission['refusals'] {
    return this.#admission.refusals;
  }

  /** Adds a service; its name is taken from the paths of its methods. Before `start`. */
  addService(definition: ServiceDefinition, implementation: UntypedServiceImplementation): void {
    this.#grpc.addService(definition, implementation);
    const path = Object.values(definition)[0]?.path ?? '';
    this.#serviceNames.push(path.slice(1, path.lastIndexOf('/')));
  }

  /**
   * Listens. Resolves with the address that was taken; rejects with a
   * `ListenError`, or with a `SecurityError` where plaintext would be open to
   * other machines and no setting allows it.
   */
  async start(): Promise<Address> {
    const field = this.#options.listenField ?? '--listen';
    refuseExposure(this.#options.listen, this.#modules.security, field);
    const begin = this.#protocol();
    this.#listener.maxConnections = this.#limits.maxConnections;
    this.#listener.on('connection', (socket) => {
      this.#connections.add(socket);
      begin(socket);
    });
    this.#logDrops();
    try {
      return await listen(this.#listener, this.#options.listen, field);
    } catch (error) {
      this.#grpc.forceShutdown();
      throw error;
    }
  }

  /**
   * Ends in order: health says NOT_SERVING, open streams are ended, running
   * calls finish, connections close. What is left after `graceMs` is cut.
   * Calling it again waits for the same end.
   */
  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#drain(graceMs);
    return this.#stopped;
  }

  /** Begins what is spoken on a new connection: HTTP/2, under TLS where there is a certificate. */
  #protocol(): (socket: Socket) => void {
    const { clock, logger, security } = this.#modules;
    // TLS ends before grpc-js, which sees plaintext in either case, and the certificate of its caller.
    const injector = this.#grpc.createConnectionInjector(ServerCredentials.createInsecure());
    const { windowBytes } = this.#limits;
    if (windowBytes !== undefined) widenConnections(this.#grpc, windowBytes);
    const speak = (socket: Socket): void => {
      this.#connections.expectFirstBytes(socket);
      injector.injectConnection(socket);
    };
    const served = security.servedTls();
    if (served === undefined) return speak;
    const handshakes = new HandshakeWatch({ clock });
    const front = new TlsFront(
      { current: () => security.servedTls() ?? served, clientAuth: security.clientAuth },
      {
        logger,
        onHandshakeError: this.#options.onHandshakeError,
        onSecured: (socket) => {
          handshakes.end(socket);
          speak(socket);
        },
      },
    );
    return (socket) => {
      handshakes.begin(socket);
      front.accept(socket);
    };
  }

  async #drain(graceMs: number): Promise<void> {
    const { clock } = this.#modules;
    const closed = new Promise<void>((resolve) => {
      // Also called, with an error that says nothing new, when it never listened.
      this.#listener.close(() => resolve());
    });
    this.health.shutDown();
    this.edge.streams.endAll();
    const idle = new Promise<void>((resolve) => {
      this.#grpc.tryShutdown(() => resolve());
    });
    const done = new AbortController();
    await Promise.race([idle, sleep(clock, graceMs, done.signal)]);
    await Promise.race([closed, sleep(clock, Math.min(FLUSH_MS, graceMs), done.signal)]);
    done.abort();
    this.#grpc.forceShutdown();
    this.#connections.destroyAll();
    await Promise.all([closed, this.#connections.whenEmpty()]);
  }

  #logDrops(): void {
    let isReported = false;
    this.#listener.on('drop', () => {
      // Once: a flood of connections must not become a flood of lines.
      if (isReported) return;
      isReported = true;
      this.#modules.logger.warn(
        { max_connections: this.#limits.maxConnections, listen: this.#options.listen.text },
        'More gRPC connections than allowed: further ones are closed immediately',
      );
    });
  }
}
