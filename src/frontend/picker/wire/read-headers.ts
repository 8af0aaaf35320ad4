import type { IncomingHttpHeaders } from 'node:http';

/** Headers of one message that are read; gateways take 100 by default. */
const MAX_HEADERS = 1_000;

/** Fields that stand once in a message: of several the first counts, as in Node's own parser. */
const SINGLE = new Set(['authorization', 'content-encoding', 'content-length', 'content-type', 'host']);

/**
 * The headers of a message while they come, with its pseudo headers (`:path`), by lower-case
 * name; several of one name are joined by commas.
 */
export class HeaderReading {
  readonly headers: IncomingHttpHeaders = Object.create(null);
  readonly #wanted: ReadonlySet<string> | undefined;
  #count = 0;

  /** `wanted`: names of those that are kept. Default: all. */
  constructor(wanted?: ReadonlySet<string>) {
    this.#wanted = wanted;
  }

  add(key: string, value: string): void {
    this.#count += 1;
    if (this.#count > MAX_HEADERS) return;
    const name = key.toLowerCase();
    if (this.#wanted?.has(name) === false) return;
    const before = this.headers[name];
    if (before === undefined) this.headers[name] = value;
    else if (!SINGLE.has(name)) this.headers[name] = `${before}, ${value}`;
  }
}

/** One header of a message that was read. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
