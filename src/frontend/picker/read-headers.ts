import type { IncomingHttpHeaders } from 'node:http';
import type { HeaderMap } from '../../gen/envoy/config/core/v3/base.js';

/** Headers of one message that are read; gateways take 100 by default. */
const MAX_HEADERS = 1_000;

/** Fields that stand once in a message: of several the first counts, as in Node's own parser. */
const SINGLE = new Set(['authorization', 'content-encoding', 'content-length', 'content-type', 'host']);

/**
 * The headers of a message, with its pseudo headers (`:path`), by lower-case
 * name; several of one name are joined by commas.
 */
export function readHeaders(map: HeaderMap | undefined): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = Object.create(null);
  const { length } = map?.headers ?? [];
  for (let at = 0; at < Math.min(length, MAX_HEADERS); at += 1) {
    const { key, value, rawValue } = (map as HeaderMap).headers[at] as HeaderMap['headers'][number];
    const name = key.toLowerCase();
    const text = rawValue.length > 0 ? rawValue.toString('latin1') : value;
    const before = headers[name] as string | undefined;
    if (before === undefined) headers[name] = text;
    else if (!SINGLE.has(name)) headers[name] = `${before}, ${text}`;
  }
  return headers;
}

/** One header of a message that was read. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
