import type { IncomingMessage, ServerResponse } from 'node:http';

/** One day: browsers cut it to two hours or less. */
const PREFLIGHT_SECONDS = 86_400;

const METHODS = 'GET, HEAD, POST, DELETE';

const EXPOSED_HEADERS = [
  'retry-after',
  'x-kv-accord-cached-blocks',
  'x-kv-accord-routing-mode',
  'x-kv-accord-worker',
  'x-kv-accord-worker-address',
].join(', ');

/** Says to browsers which pages may ask (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export class Cors {
  readonly #origins: ReadonlySet<string>;
  readonly #isForAll: boolean;

  /** Origins as browsers write them; `*` for all of them, none for nobody. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
    this.#isForAll = this.#origins.has('*');
  }

  /** Sets its headers, which go with whatever is answered. True where the answer is sent already: a preflight. */
  apply({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
    if (this.#origins.size === 0) return false;
    const isPreflight = method === 'OPTIONS';
    const wanted = headers['access-control-request-headers'];
    if (!this.#isForAll)
      response.setHeader('vary', isPreflight ? 'Origin, Access-Control-Request-Headers' : 'Origin');
    else if (isPreflight) response.setHeader('vary', 'Access-Control-Request-Headers');
    // Without this header a browser keeps the answer from the page that asked.
    const allowed = this.#allowed(headers.origin);
    if (allowed !== undefined) response.setHeader('access-control-allow-origin', allowed);
    response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
    if (!isPreflight) return false;
    response.setHeader('access-control-allow-methods', METHODS);
    if (typeof wanted === 'string') response.setHeader('access-control-allow-headers', wanted);
    response.setHeader('access-control-max-age', String(PREFLIGHT_SECONDS));
    response.writeHead(204, { 'content-length': '0' }).end();
    return true;
  }

  #allowed(origin: string | undefined): string | undefined {
    if (this.#isForAll) return '*';
    return origin !== undefined && this.#origins.has(origin) ? origin : undefined;
  }
}
