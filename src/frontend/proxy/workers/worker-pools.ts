import type { Socket } from 'node:net';
import { Pool } from 'undici';
import { engineConnector } from '../../engine-access/engine-connector.js';
import type { ProxyOptions } from '../proxy-options.js';
import { ReceivedTokens } from './received-tokens.js';
import { WorkerLife } from './worker-life.js';
import { WorkerWork } from './worker-work.js';

/** What reads from a connection, and waits with that. */
export interface PausedReader {
  resume(): void;
}

/** The connections to one worker. */
export interface WorkerPool {
  readonly pool: Pool;
  readonly life: WorkerLife;
  readonly work: WorkerWork;
  /** What it received from prefill workers. */
  readonly received: ReceivedTokens;
  /** Requests that undici has not answered or failed yet. */
  running: number;
  /** Those of its running requests whose clients do not keep up. */
  readonly paused: Set<PausedReader>;
}

/** A base URL, ready for use. */
export interface WorkerEndpoint {
  readonly worker: WorkerPool;
  /** As it was given. */
  readonly baseUrl: string;
  /** What goes before a request's path: empty unless the base URL has a path. */
  readonly pathPrefix: string;
}

type PoolOptions = Pick<
  ProxyOptions,
  'connectTimeoutMs' | 'engineCa' | 'keepAliveTimeoutMs' | 'maxAnswerHeaderBytes' | 'maxRequestsPerWorker'
>;

/** Connections beyond those of requests, by which a worker that has as many of them as it may is asked whether it is there. */
const CONNECTIONS_TO_ASK = 2;

/** One pool of connections for each origin of a worker, made when it is first asked for. */
export class WorkerPools {
  readonly #options: PoolOptions;
  readonly #byOrigin = new Map<string, WorkerPool>();
  readonly #byBaseUrl = new Map<string, WorkerEndpoint>();
  /** Pools of workers that left, while their last requests run. */
  readonly #leaving = new Set<Pool>();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Where a base URL leads. Throws when it is none. */
  of(baseUrl: string): WorkerEndpoint {
    const known = this.#byBaseUrl.get(baseUrl);
    if (known !== undefined) return known;
    const { origin, pathname } = new URL(baseUrl);
    let worker = this.#byOrigin.get(origin);
    if (worker === undefined) {
      const paused = new Set<PausedReader>();
      worker = {
        pool: this.#makePool(origin, paused),
        life: new WorkerLife(),
        work: new WorkerWork(),
        received: new ReceivedTokens(),
        running: 0,
        paused,
      };
      this.#byOrigin.set(origin, worker);
    }
    const endpoint = { worker, baseUrl, pathPrefix: pathname.replace(/\/+$/, '') };
    this.#byBaseUrl.set(baseUrl, endpoint);
    return endpoint;
  }

  /** Closes the pools of all others, each when its running requests have ended. */
  keep(baseUrls: ReadonlySet<string>): void {
    const origins = new Set<string>();
    for (const [baseUrl] of this.#byBaseUrl) {
      if (baseUrls.has(baseUrl)) origins.add(new URL(baseUrl).origin);
      else this.#byBaseUrl.delete(baseUrl);
    }
    for (const [origin, { pool }] of this.#byOrigin) {
      if (origins.has(origin)) continue;
      this.#byOrigin.delete(origin);
      this.#leaving.add(pool);
      void pool.close().finally(() => this.#leaving.delete(pool));
    }
  }

  /** Closes every connection; what still runs on them fails. */
  async destroy(): Promise<void> {
    const pools = [...this.#leaving, ...[...this.#byOrigin.values()].map(({ pool }) => pool)];
    this.#byOrigin.clear();
    this.#byBaseUrl.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #makePool(origin: string, paused: ReadonlySet<PausedReader>): Pool {
    const { connectTimeoutMs, engineCa, keepAliveTimeoutMs, maxAnswerHeaderBytes, maxRequestsPerWorker } =
      this.#options;
    const connect = engineConnector(connectTimeoutMs, engineCa);
    return new Pool(origin, {
      connections: maxRequestsPerWorker + CONNECTIONS_TO_ASK,
      pipelining: 1,
      connect: (options, callback) =>
        connect(options, (...made) => {
          if (made[0] === null) guardSocket(made[1], paused);
          callback(...made);
        }),
      keepAliveTimeout: keepAliveTimeoutMs,
      maxHeaderSize: maxAnswerHeaderBytes,
      // These are looked after for all requests together, on the clock that tests can move.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }
}

/**
 * Keeps undici 7.30 from an assertion that would end the process. While a
 * reader is paused, its parser is; but when the worker then ends the
 * connection after an answer that said `Connection: close`, undici asks the
 * parser to finish, which asserts that it is not paused (`Parser.finish` in
 * `client-h1.js`), in a listener of the socket, where no handler catches it. It
 * asks on `end`, and on an error with the code `ECONNRESET`.
 *
 * These listeners come before undici's own. On `end` the readers take what is
 * there, which is a piece at most; those that are not meant pause again at the
 * next one. A reset gets a code of its own, with which undici fails the
 * request, as it should. Once undici no longer asserts there, both do no harm.
 *
 * An error also gets the bytes that were read, as undici's own have them (see `isOfUsedConnection`).
 */
function guardSocket(socket: Socket, paused: ReadonlySet<PausedReader>): void {
  socket.on('end', () => {
    for (const reader of [...paused]) reader.resume();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET') error.code = 'WORKER_RESET';
    Object.assign(error, { bytesRead: socket.bytesRead });
  });
}
