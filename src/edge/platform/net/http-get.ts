import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Clock, systemClock } from '../clock.js';
import { GatheredBytes } from '../data/gathered-bytes.js';
import { excerpt, ProbeError } from '../probe-error.js';
import { watchDeadline } from '../time/deadline.js';
import { explainTlsFailure } from './explain-tls-failure.js';
import { withOpenSslReasons } from './openssl-reason.js';

/** A body that an engine answered, already bounded in size and time. */
export interface HttpAnswer {
  readonly status: number;
  /** Lower case, without parameters: `application/json`. Empty when not sent. */
  readonly contentType: string;
  readonly body: string;
}

/**
 * Asks one engine endpoint. Rejects with a `ProbeError` when the engine cannot
 * be reached, takes too long or answers more than the limit; an HTTP error
 * status is an answer.
 */
export type HttpGet = (
  url: string,
  options: {
    readonly signal: AbortSignal;
    /** Largest body, in bytes; default the client's own. */
    readonly maxBodyBytes?: number;
  },
) => Promise<HttpAnswer>;

/**
 * Largest body that is read, in bytes, unless a caller says otherwise. The
 * largest recorded answer in JSON, SGLang's `/server_info`, has 43 KiB.
 */
const MAX_BODY_BYTES = 1024 * 1024;

/** Milliseconds until the connection stands: an engine is on this host or in this rack. */
const CONNECT_TIMEOUT_MS = 2_000;

/** Milliseconds for the whole exchange. SGLang's `/server_info` asks every scheduler, which may be busy. */
const TOTAL_TIMEOUT_MS = 5_000;

/** Redirects in a row: `/metrics` to `/metrics/` is one. */
const MAX_REDIRECTS = 2;

export interface HttpGetOptions {
  /** Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** Default 2,000. Range 1 to `totalTimeoutMs`. */
  readonly connectTimeoutMs?: number;
  /** Default 5,000; redirects are inside it. */
  readonly totalTimeoutMs?: number;
  /** Sent as `authorization: Bearer …`, for engines started with `--api-key`. Never in a message. */
  readonly bearerKey?: string;
  /**
   * PEM certificates of the authorities that servers' certificates are checked
   * against, asked for at each connection; where it gives none, Node's own list.
   */
  readonly ca?: () => string | undefined;
}

/**
 * Makes the one HTTP client of the engine probes.
 *
 * It stands on `node:http` and not on the global `fetch`: loading undici costs
 * the sidecar about as much memory as all its gRPC, for a handful of small GETs
 * a minute. Each call has a connection of its own that is closed after the
 * answer, so nothing stays open between probe rounds.
 *
 * A redirect is followed only to the same origin and the same path with or
 * without a slash at the end, which is what mounted metrics applications do.
 * Any other is refused: it could lead the bearer key to another host, or a
 * harmless request to an endpoint that loses data when it is read.
 *
 * Throws a `RangeError` for a bearer key that no header can hold.
 */
export function createHttpGet(
  options: HttpGetOptions = {},
  modules: { readonly clock: Clock } = { clock: systemClock },
): HttpGet {
  const totalTimeoutMs = options.totalTimeoutMs ?? TOTAL_TIMEOUT_MS;
  if (options.bearerKey !== undefined && !/^[\x21-\x7e]+$/.test(options.bearerKey)) {
    throw new RangeError('the key of the engine must be printable ASCII without spaces');
  }
  return async (address, { signal, maxBodyBytes = options.maxBodyBytes }) => {
    const deadlineMs = modules.clock.monotonicMs() + totalTimeoutMs;
    let url = checkedUrl(address);
    for (let redirects = 0; ; redirects += 1) {
      const remainingMs = Math.max(1, deadlineMs - modules.clock.monotonicMs());
      const limits = { remainingMs, totalTimeoutMs, maxBodyBytes };
      const answer = await exchange(url, options, limits, modules.clock, signal);
      if (answer.location === undefined) return answer;
      const next = sameResource(url, answer.location);
      if (next === undefined || redirects === MAX_REDIRECTS) {
        throw new ProbeError(
          'bad_answer',
          askedUrl(url),
          `redirects to ${excerpt(answer.location)}, which is not followed; give the address where the engine answers itself`,
        );
      }
      url = next;
    }
  };
}

/**
 * Makes a client that posts nothing and takes the answer's text, for an
 * endpoint that loses what it answers. Rejects with a `ProbeError` for anything
 * but a success: a redirect might lead where something else is lost.
 */
export function createHttpPost(
  options: HttpGetOptions,
  modules: { readonly clock: Clock },
): (url: string, signal: AbortSignal) => Promise<string> {
  const totalTimeoutMs = options.totalTimeoutMs ?? TOTAL_TIMEOUT_MS;
  return async (address, signal) => {
    const url = checkedUrl(address);
    const { maxBodyBytes } = options;
    const limits = { remainingMs: totalTimeoutMs, totalTimeoutMs, maxBodyBytes, method: 'POST' } as const;
    const { status, body } = await exchange(url, options, limits, modules.clock, signal);
    if (status < 200 || status > 299) {
      const message = `answers with status ${status}: ${excerpt(body)}`;
      throw new ProbeError('bad_answer', askedUrl(url, 'POST'), message);
    }
    return body;
  };
}

/** What is posted to an engine. */
export interface JsonPost {
  readonly signal: AbortSignal;
  /** Milliseconds for the whole exchange. */
  readonly timeoutMs: number;
  /** Sent beside those of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Posts JSON to one engine endpoint; an HTTP error status is an answer, and so is a redirect, which is not followed. */
export type HttpPostJson = (url: string, body: unknown, post: JsonPost) => Promise<HttpAnswer>;

/** Makes a client that posts JSON with the engine's key. Rejects with a `ProbeError` when there is no whole answer. */
export function createHttpPostJson(
  options: HttpGetOptions,
  modules: { readonly clock: Clock },
): HttpPostJson {
  return async (address, body, { signal, timeoutMs, headers }) => {
    const limits = {
      remainingMs: timeoutMs,
      totalTimeoutMs: timeoutMs,
      maxBodyBytes: options.maxBodyBytes,
      method: 'POST',
      json: JSON.stringify(body),
      headers,
    } as const;
    const {
      status,
      contentType,
      body: text,
    } = await exchange(checkedUrl(address), options, limits, modules.clock, signal);
    return { status, contentType, body: text };
  };
}

/** `GET http://127.0.0.1:8000/metrics`: an address as reports and messages name it, without credentials. */
export function askedUrl(url: URL | string, method: 'GET' | 'POST' = 'GET'): string {
  if (typeof url === 'string') {
    if (!URL.canParse(url)) return `${method} ${excerpt(url)}`;
    url = new URL(url);
  }
  return `${method} ${url.origin}${url.pathname}${url.search}`;
}

function checkedUrl(address: string): URL {
  const origin = askedUrl(address);
  if (!URL.canParse(address))
    throw new ProbeError('unreachable', origin, 'not a URL; expected http://HOST:PORT');
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new ProbeError(
      'unreachable',
      origin,
      `cannot ask over ${url.protocol.slice(0, -1)}; expected http or https`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new ProbeError(
      'unreachable',
      origin,
      'a user name in the address is not supported; give the key apart',
    );
  }
  return url;
}

/** Where a redirect leads, when it is the same resource with or without a slash at the end. */
function sameResource(from: URL, location: string): URL | undefined {
  if (!URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  const bare = (url: URL): string => url.origin + url.pathname.replace(/\/$/, '');
  if (bare(to) !== bare(from) || to.username !== '' || to.password !== '') return undefined;
  to.search = from.search;
  return to;
}

interface Exchange extends HttpAnswer {
  /** Where it redirects to; undefined when it is an answer. */
  readonly location?: string;
}

function exchange(
  url: URL,
  options: HttpGetOptions,
  limits: {
    readonly remainingMs: number;
    readonly totalTimeoutMs: number;
    readonly maxBodyBytes: number | undefined;
    readonly method?: 'POST';
    /** A body. */
    readonly json?: string;
    readonly headers?: Readonly<Record<string, string>> | undefined;
  },
  clock: Clock,
  signal: AbortSignal,
): Promise<Exchange> {
  const origin = askedUrl(url, limits.method);
  const maxBodyBytes = limits.maxBodyBytes ?? MAX_BODY_BYTES;
  const connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new ProbeError('timeout', origin, 'given up before it was asked'));
    const ca = options.ca?.();
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      ...(ca === undefined ? {} : { ca }),
      // No agent: a connection for this request alone, closed after it.
      agent: false,
      method: limits.method ?? 'GET',
      headers: {
        accept: 'application/json, text/plain;q=0.9, */*;q=0.1',
        // A compressed body could unpack to any size.
        'accept-encoding': 'identity',
        connection: 'close',
        'user-agent': 'kv-accord',
        ...limits.headers,
        ...(limits.json === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(limits.json) }),
        ...(options.bearerKey === undefined ? {} : { authorization: `Bearer ${options.bearerKey}` }),
      },
    });

    const finish = (outcome: Exchange | ProbeError): void => {
      connectTimer.clear();
      stopWatching();
      // After the outcome the socket is of no use; late errors of a destroyed request have no reader.
      request.removeListener('error', onError);
      request.on('error', () => {});
      request.destroy();
      if (outcome instanceof ProbeError) reject(outcome);
      else resolve(outcome);
    };
    const onError = (cause: Error): void => finish(fromSocketError(cause, origin));
    const connectTimer = clock.setTimer(Math.min(connectTimeoutMs, limits.remainingMs), () => {
      // Who accepts a connection and says nothing over TLS is there, and late.
      const code = request.socket?.connecting === false ? 'timeout' : 'no_connection';
      finish(new ProbeError(code, origin, `no connection within ${connectTimeoutMs} ms`));
    });
    const stopWatching = watchDeadline({ timeoutMs: limits.remainingMs, signal }, { clock }, (why) => {
      const message =
        why === 'aborted'
          ? 'given up: the time of this probe round is over'
          : `no complete answer within ${limits.totalTimeoutMs} ms`;
      finish(new ProbeError('timeout', origin, message));
    });

    request.on('socket', (socket) => {
      const established = url.protocol === 'https:' ? 'secureConnect' : 'connect';
      if (socket.connecting) socket.once(established, () => connectTimer.clear());
      else connectTimer.clear();
    });
    request.on('error', onError);
    request.on('response', (response) => {
      connectTimer.clear();
      readAnswer(response, origin, maxBodyBytes, finish);
    });
    request.end(limits.json);
  });
}

function readAnswer(
  response: IncomingMessage,
  origin: string,
  maxBodyBytes: number,
  finish: (outcome: Exchange | ProbeError) => void,
): void {
  const status = response.statusCode ?? 0;
  const { location, 'content-encoding': encoding = 'identity', 'content-type': type = '' } = response.headers;
  const announced = Number(response.headers['content-length']);
  const tooLarge = (): ProbeError =>
    new ProbeError('too_large', origin, `answers more than ${maxBodyBytes} bytes; the rest was not read`);
  if (status >= 300 && status < 400 && location !== undefined) {
    finish({ status, contentType: '', body: '', location });
    return;
  }
  if (encoding !== 'identity') {
    const message = `answers with content-encoding ${excerpt(encoding)} although identity was asked for`;
    finish(new ProbeError('bad_answer', origin, message));
    return;
  }
  if (announced > maxBodyBytes) {
    finish(tooLarge());
    return;
  }

  const gathered = new GatheredBytes();
  response.on('data', (chunk: Buffer) => {
    if (gathered.bytes + chunk.length > maxBodyBytes) finish(tooLarge());
    else gathered.add(chunk);
  });
  response.on('end', () => {
    const contentType = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
    finish({ status, contentType, body: new TextDecoder().decode(gathered.whole()) });
  });
  response.on('error', () => {
    const of = Number.isFinite(announced) ? ` of ${announced}` : '';
    const message = `the connection ended after ${gathered.bytes}${of} bytes of the body`;
    finish(new ProbeError('bad_answer', origin, message));
  });
}

function fromSocketError(cause: Error, origin: string): ProbeError {
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  // The parser's errors: something answers on that port, and it is no HTTP.
  if (code.startsWith('HPE_'))
    return new ProbeError('bad_answer', origin, `does not answer HTTP (${cause.message})`);
  if (code === 'ECONNRESET') {
    return new ProbeError(
      'unreachable',
      origin,
      `the connection was closed without an answer (${cause.message}); where it serves TLS, its address begins with https://`,
    );
  }
  const tls = explainTlsFailure(code);
  if (tls !== undefined)
    return new ProbeError('unreachable', origin, `${tls} (${withOpenSslReasons(cause.message)})`);
  // `localhost` has two addresses; Node then packs both failures into one error with an empty message.
  const message = cause.message !== '' ? cause.message : code !== '' ? code : 'the connection failed';
  return new ProbeError('unreachable', origin, message);
}
