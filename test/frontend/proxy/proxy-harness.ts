import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import type { WorkerFault } from '../../../src/core/health/worker-fault.js';
import { type Clock, systemClock } from '../../../src/edge/platform/clock.js';
import { type Decision, type Route, RoutingError, type Usage } from '../../../src/fleet/router/routing.js';
import { APIS, type Api, CHAT } from '../../../src/frontend/apis/api.js';
import type { ProxiedRequest, ProxyOutcome } from '../../../src/frontend/proxy/proxied-request.js';
import type { ProxyOptions } from '../../../src/frontend/proxy/proxy-options.js';
import { WorkerProxy } from '../../../src/frontend/proxy/worker-proxy.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns } from '../../support/turns.js';

/** A route that records its calls. */
export class RecordedRoute implements Route {
  readonly decision: Decision;
  releases = 0;
  usage: Usage | undefined;
  /** The calls, in order: `prefill`, then numbers of tokens, then `release`. */
  readonly reported: (string | number)[] = [];

  constructor(target: string, more: Partial<Decision> = {}) {
    this.decision = {
      group: 'model',
      target,
      workerId: `worker-of-${target}`,
      instanceId: `instance-of-${target}`,
      rank: 0,
      rankCount: 1,
      epoch: 1,
      tokensPerBlock: 16,
      promptTokens: 32,
      promptBlocks: 2,
      cachedBlocks: 1,
      isExact: true,
      routingMode: 'exact',
      ...more,
    };
  }

  prefillDone(): void {
    this.reported.push('prefill');
  }

  progress(outputTokens: number): void {
    this.reported.push(outputTokens);
  }

  /** What was seen of its worker, by kind. */
  readonly faults: string[] = [];

  failed({ kind }: WorkerFault): void {
    this.faults.push(kind);
  }

  release(usage?: Usage): void {
    this.releases += 1;
    this.usage = usage;
    this.reported.push('release');
  }
}

export interface HarnessOptions {
  /** Base URLs of workers, in the order in which they are chosen; targets are their positions. */
  readonly workers?: readonly string[];
  readonly proxy?: Partial<ProxyOptions>;
  readonly clock?: Clock;
  readonly decision?: Partial<Decision>;
  /** Of each request. */
  readonly mayBeRefused?: boolean;
  /** Instead of the choice in order. */
  readonly pick?: ProxiedRequest['pick'];
  /** The bodies of each request for two workers. */
  readonly split?: ProxiedRequest['split'];
}

/** A small HTTP server with the proxy behind it, and all that reached it. */
export class ProxyHarness {
  readonly proxy: WorkerProxy;
  readonly logger: RecordingLogger = new RecordingLogger();
  readonly routes: RecordedRoute[] = [];
  readonly outcomes: ProxyOutcome[] = [];
  /** Where the answers are written. */
  readonly responses: ServerResponse[] = [];
  /** The arguments of `pick`, call by call. */
  readonly excluded: (readonly string[])[] = [];
  readonly #server: Server;
  readonly #served: Promise<unknown>[] = [];
  readonly #options: HarnessOptions;
  readonly #sockets = new Set<Socket>();

  private constructor(options: HarnessOptions) {
    this.#options = options;
    this.proxy = new WorkerProxy(
      { mayHaveKeys: () => true, ...options.proxy },
      {
        clock: options.clock ?? systemClock,
        logger: this.logger,
      },
    );
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(options: HarnessOptions): Promise<ProxyHarness> {
    const made = new ProxyHarness(options);
    made.#server.listen(0, '127.0.0.1');
    await once(made.#server, 'listening');
    return made;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Waits until every request that came is over. */
  async settled(): Promise<void> {
    await Promise.all(this.#served);
  }

  /** Makes one more route, as `pick` does. */
  pickInOrder(excluded: readonly string[]): ReturnType<ProxiedRequest['pick']> {
    this.excluded.push(excluded);
    const workers = this.#options.workers ?? [];
    const index = workers.findIndex((_, at) => !excluded.includes(String(at)));
    const baseUrl = workers[index];
    if (baseUrl === undefined) return Promise.reject(new RoutingError('no_worker', 'nobody is left'));
    const route = new RecordedRoute(String(index), this.#options.decision);
    this.routes.push(route);
    return Promise.resolve({ route, baseUrl });
  }

  async stop(graceMs = 0): Promise<void> {
    await this.proxy.close(graceMs);
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await this.settled();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      // The client left before its request was whole.
      return;
    }
    const served = this.proxy.serve(
      {
        method: request.method ?? 'POST',
        api: apiOf(request.url),
        ...(this.#options.mayBeRefused === true ? { mayBeRefused: true } : {}),
        path: request.url ?? '/',
        headers: request.headers,
        body: Buffer.concat(pieces),
        group: 'model',
        split: this.#options.split,
        pick: this.#options.pick ?? ((excluded) => this.pickInOrder(excluded)),
      },
      response,
    );
    this.responses.push(response);
    this.#served.push(served);
    this.outcomes.push(await served);
  }
}

/** That of the path; chats where it is none. */
function apiOf(url = ''): Api {
  return APIS.find(({ path }) => path === url) ?? CHAT;
}

/** A worker that is scripted byte by byte, or as a Node server. */
export class ScriptedWorker {
  readonly #server: ReturnType<typeof createTcpServer> | Server;
  /** Connections that are open now. */
  readonly sockets: Set<Socket> = new Set<Socket>();
  connections = 0;
  /** Connections that have ended. */
  closed = 0;

  private constructor(server: ReturnType<typeof createTcpServer> | Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.closed += 1;
        this.sockets.delete(socket);
      });
    });
  }

  /** Answers as `handle` does. */
  static async http(
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<ScriptedWorker> {
    return new ScriptedWorker(createServer(handle)).#listen();
  }

  /** Calls `handle` when the head and the body of a request have come, with all that came. */
  static async raw(handle: (socket: Socket, request: string, nth: number) => void): Promise<ScriptedWorker> {
    let nth = 0;
    return new ScriptedWorker(
      createTcpServer({ allowHalfOpen: false }, (socket) => {
        let got = '';
        socket.on('data', (piece) => {
          got += piece.toString('latin1');
          const head = got.indexOf('\r\n\r\n');
          if (head === -1) return;
          const length = Number(/content-length: (\d+)/i.exec(got)?.[1] ?? 0);
          if (got.length < head + 4 + length) return;
          const request = got;
          got = '';
          handle(socket, request, nth++);
        });
      }),
    ).#listen();
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  async #listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }
}

/** Where nobody listens: no system hands this port out, so that it cannot be another test's. */
export const CLOSED_URL = 'http://127.0.0.1:1';

/** An answer as it came over the socket. */
export interface RawAnswer {
  readonly bytes: Buffer;
  readonly head: string;
  readonly body: string;
  /** Whether the connection ended with an error. */
  readonly wasReset: boolean;
}

/** Sends bytes to a port and reads until the other side closes. */
export async function exchangeRaw(port: number, bytes: string): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1');
  let wasReset = false;
  socket.on('error', () => {
    wasReset = true;
  });
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  socket.write(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  const all = Buffer.concat(pieces);
  const at = all.indexOf('\r\n\r\n');
  return {
    bytes: all,
    head: all.subarray(0, at === -1 ? all.length : at).toString('latin1'),
    body: at === -1 ? '' : all.subarray(at + 4).toString('latin1'),
    wasReset,
  };
}

/** A request of a client that wants its connection closed after the answer. */
export function post(body: string, headers: readonly string[] = []): string {
  return [
    'POST /v1/chat/completions?x=1 HTTP/1.1',
    'Host: gateway.example',
    'Content-Type: application/json',
    ...headers,
    'Connection: close',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** A promise and its handles. */
export function defer<T = void>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Waits until nothing moves: neither a writer's bytes nor what a client has yet to read. */
export async function stalled(harness: ProxyHarness, writer: Socket): Promise<void> {
  let before = -1;
  for (let still = 0; still < 200; ) {
    await turns();
    const now = writer.bytesWritten;
    const isFull = harness.responses.some(({ writableNeedDrain }) => writableNeedDrain);
    still = now === before && isFull ? still + 1 : 0;
    before = now;
  }
}

/** Resets a connection without ending it in order before, as Node does. */
export function reset(socket: Socket): void {
  socket.destroySoon = () => socket.destroy();
  socket.resetAndDestroy();
}
