import { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';
import type { Clock } from '../platform/clock.js';
import { type JsonBounds, JsonBoundsError, parseJson } from '../platform/data/bounded-json.js';
import { GatheredBytes } from '../platform/data/gathered-bytes.js';
import { withDeadline } from '../platform/time/deadline.js';
import { onAbort } from '../platform/time/on-abort.js';
import type { ApiRequest, StreamingApi } from './api.js';
import type { ClusterAccess } from './cluster-access.js';
import { placeOf, readContent } from './content.js';
import { exchange, type OpenAnswer } from './exchange.js';
import { type Asked, explainBreak, explainStatus } from './explain-failure.js';
import { KubernetesError } from './kubernetes-error.js';
import type { Credentials } from './login.js';

/** The head of an answer comes immediately; a server that takes longer is one that is stuck. */
const HEAD_TIMEOUT_MS = 30_000;

/** A page of 500 large objects over a slow line. */
const BODY_TIMEOUT_MS = 60_000;

const CONNECT_TIMEOUT_MS = 10_000;

/** Load balancers in front of API servers close idle connections after a minute or more. */
const KEEP_ALIVE_TIMEOUT_MS = 20_000;

/** Connections to one server: each watch holds one, and who asks needs another. */
const MAX_CONNECTIONS = 1_024;

/** Largest answer to `get`: a page of 500 pods of 100 KiB. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** A pod has some 1,000 values in 10 to 100 KiB. */
const BODY_BOUNDS: JsonBounds = {
  maxBytes: MAX_BODY_BYTES,
  maxDepth: 128,
  maxValues: 4_000_000,
  maxMemoryBytes: 320 * 1024 * 1024,
};

/** Largest part of a refusal that is read. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/** Largest object of a watch: etcd holds 1.5 MiB by default, and JSON is longer. */
const MAX_OBJECT_BYTES = 8 * 1024 * 1024;

const OBJECT_BOUNDS: JsonBounds = {
  maxBytes: MAX_OBJECT_BYTES,
  maxDepth: 128,
  maxValues: 500_000,
  maxMemoryBytes: 64 * 1024 * 1024,
};

/** The client of one API server, over connections that are kept. */
export class ApiClient implements StreamingApi {
  readonly name: string;
  readonly namespace: string;
  readonly #access: ClusterAccess;
  readonly #clock: Clock;
  /** Made at the first request, and again when what it was made from has changed. */
  #pool: { readonly pool: Pool; readonly madeFrom: string } | undefined;
  readonly #leaving = new Set<Pool>();
  /** Connections that are being made. */
  readonly #connecting = new Set<Socket>();
  #isClosed = false;

  constructor(access: ClusterAccess, modules: { readonly clock: Clock }) {
    this.#access = access;
    this.#clock = modules.clock;
    this.name = access.server.href.replace(/\/$/, '');
    this.namespace = access.namespace;
  }

  async get(request: ApiRequest): Promise<unknown> {
    const asked = this.#asked(request, false);
    const message = `${this.name}: no whole answer within ${BODY_TIMEOUT_MS / 1_000} s`;
    const bounds = {
      timeoutMs: BODY_TIMEOUT_MS,
      signal: request.signal,
      late: () => new KubernetesError('unreachable', message),
    };
    return withDeadline(bounds, { clock: this.#clock }, async (signal) => {
      const { body } = await this.#open({ ...request, signal }, asked);
      const text = await this.#gather(body, MAX_BODY_BYTES, asked);
      return this.#parse(text, BODY_BOUNDS, asked);
    });
  }

  async *watch(request: ApiRequest): AsyncGenerator<unknown, void, undefined> {
    const asked = this.#asked(request, true);
    const query = { ...request.query, watch: 'true' };
    const { body } = await this.#open({ ...request, query }, asked);
    let gathered = new GatheredBytes();
    try {
      for await (const piece of body) {
        let rest = piece;
        for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
          gathered.add(rest.subarray(0, end));
          const line = gathered.whole().toString('utf8');
          gathered = new GatheredBytes();
          rest = rest.subarray(end + 1);
          if (line.trim() !== '') yield this.#parse(line, OBJECT_BOUNDS, asked);
        }
        if (gathered.bytes + rest.length > MAX_OBJECT_BYTES)
          throw new KubernetesError(
            'bad_answer',
            `${this.name}: an object of the watch of ${request.path} has more than ${MAX_OBJECT_BYTES} bytes`,
          );
        gathered.add(rest);
      }
    } catch (error) {
      throw this.#explain(error, request.signal, asked);
    }
  }

  async *bytes(request: ApiRequest, maxBytes: number): AsyncGenerator<Buffer, void, undefined> {
    const asked = this.#asked(request, false);
    const { body } = await this.#open(request, asked, '*/*');
    let size = 0;
    try {
      for await (const piece of body) {
        yield piece.subarray(0, maxBytes - size);
        size += piece.length;
        if (size >= maxBytes) return;
      }
    } catch (error) {
      throw this.#explain(error, request.signal, asked);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#access.login.close();
    const pools = [...this.#leaving, ...(this.#pool === undefined ? [] : [this.#pool.pool])];
    this.#pool = undefined;
    await Promise.all(pools.map((pool) => pool.destroy()));
    // undici leaves them alone until their time is up, and the process would wait for that.
    for (const socket of this.#connecting) socket.destroy(new Error('the client is closed'));
  }

  #asked({ path }: ApiRequest, isWatch: boolean): Asked {
    const { login, ca } = this.#access;
    return {
      server: this.name,
      path,
      isWatch,
      loginFrom: login.from,
      caFrom: ca === undefined ? 'a public authority, and no certificate-authority is set' : placeOf(ca),
    };
  }

  /** The answer with a status of success. Credentials that are not taken are asked for once more: they may have been rotated. */
  async #open(request: ApiRequest, asked: Asked, accept = 'application/json'): Promise<OpenAnswer> {
    const { login, server } = this.#access;
    const query = new URLSearchParams(request.query).toString();
    const path = `${server.pathname === '/' ? '' : server.pathname}${request.path}${query === '' ? '' : `?${query}`}`;
    let shown: Credentials | undefined;
    for (;;) {
      const credentials = await this.#credentials(request.signal);
      let answer: OpenAnswer;
      try {
        answer = await exchange(
          await this.#poolFor(credentials),
          {
            path,
            headers: {
              accept,
              'user-agent': 'kv-accord',
              ...(credentials.token === undefined ? {} : { authorization: `Bearer ${credentials.token}` }),
            },
            signal: request.signal,
            headTimeoutMs: HEAD_TIMEOUT_MS,
            maxWaitingBytes: MAX_BODY_BYTES,
          },
          this.#clock,
        );
      } catch (error) {
        throw this.#explain(error, request.signal, asked);
      }
      if (answer.status >= 200 && answer.status < 300) return answer;
      // Without its words, a refusal is explained by its status alone.
      const words = await this.#gather(answer.body, MAX_REFUSAL_BYTES, asked).catch(() => '');
      request.signal.throwIfAborted();
      if (answer.status === 401 && shown === undefined) {
        shown = credentials;
        login.refused();
        const other = await this.#credentials(request.signal);
        if (other.token !== shown.token || other.certificate !== shown.certificate) continue;
      }
      throw explainStatus(answer.status, words, asked);
    }
  }

  /** What to show, unless `signal` aborts first: a program may take long to answer. */
  #credentials(signal: AbortSignal): Promise<Credentials> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const leave = onAbort(signal, () => reject(signal.reason));
      void this.#access.login.credentials().then(resolve, reject).finally(leave);
    });
  }

  async #gather(body: AsyncIterable<Buffer>, maxBytes: number, asked: Asked): Promise<string> {
    const gathered = new GatheredBytes();
    try {
      for await (const piece of body) {
        if (gathered.bytes + piece.length > maxBytes)
          throw new KubernetesError(
            'too_large',
            `${this.name}: answers ${asked.path} with more than ${maxBytes} bytes`,
          );
        gathered.add(piece);
      }
    } catch (error) {
      throw this.#explain(error, undefined, asked);
    }
    return gathered.whole().toString('utf8');
  }

  #parse(text: string, bounds: JsonBounds, asked: Asked): unknown {
    try {
      return parseJson(text, bounds);
    } catch (error) {
      if (error instanceof JsonBoundsError)
        throw new KubernetesError('too_large', `${this.name}: the answer to ${asked.path} ${error.message}`);
      throw new KubernetesError(
        'bad_answer',
        `${this.name}: answers ${asked.path} with something that is no JSON`,
        {
          cause: error,
        },
      );
    }
  }

  #explain(error: unknown, signal: AbortSignal | undefined, asked: Asked): unknown {
    if (signal?.aborted === true || error instanceof KubernetesError)
      return signal?.aborted === true ? signal.reason : error;
    return explainBreak(error, asked);
  }

  /** The pool whose TLS is made from the files as they are now. */
  async #poolFor({ certificate, key }: Credentials): Promise<Pool> {
    const { ca, server, serverName, skipsVerification } = this.#access;
    const authority = ca === undefined ? undefined : await readContent(ca);
    const madeFrom = JSON.stringify([authority, certificate, key]);
    if (this.#isClosed) throw new KubernetesError('unreachable', `${this.name}: the client is closed`);
    if (this.#pool?.madeFrom === madeFrom) return this.#pool.pool;
    const old = this.#pool?.pool;
    const pool = new Pool(server.origin, {
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      // Looked after for each request, on the clock that tests can move.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#connector({
        timeout: CONNECT_TIMEOUT_MS,
        rejectUnauthorized: !skipsVerification,
        ...(authority === undefined ? {} : { ca: authority }),
        ...(certificate === undefined ? {} : { cert: certificate, key }),
        ...(serverName === undefined ? {} : { servername: serverName }),
      }),
    });
    this.#pool = { pool, madeFrom };
    if (old !== undefined) {
      this.#leaving.add(old);
      void old.close().finally(() => this.#leaving.delete(old));
    }
    return pool;
  }

  /** undici's own, with an account of what it is at. */
  #connector(options: buildConnector.BuildOptions): buildConnector.connector {
    const connect = buildConnector(options);
    return (place, callback) => {
      // It hands the socket back, which its types leave out.
      const socket: unknown = connect(place, (...made) => {
        if (socket instanceof Socket) this.#connecting.delete(socket);
        callback(...made);
      });
      if (socket instanceof Socket) this.#connecting.add(socket);
    };
  }
}

const LINE_FEED = 0x0a;
