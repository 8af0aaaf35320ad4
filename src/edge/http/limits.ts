/** Bounds of an HTTP server. Every one has a default in `DEFAULT_HTTP_LIMITS`. */
export interface HttpLimits {
  /** Request line and headers together, in bytes; beyond it the answer is 431. */
  readonly maxHeaderBytes: number;
  /** Number of headers; beyond it the answer is 431. */
  readonly maxHeaders: number;
  /** Connections at a time; further ones are closed immediately. */
  readonly maxConnections: number;
  /** Longest time in which the headers must have come; never more than `requestTimeoutMs`. */
  readonly headersTimeoutMs: number;
  /** Longest time in which the request as a whole must have come. */
  readonly requestTimeoutMs: number;
  /** How long a connection stays open without a request. */
  readonly keepAliveTimeoutMs: number;
  /** How long a socket may stand still while it is written to; 0 is for ever. */
  readonly idleTimeoutMs: number;
}

/**
 * The bounds that a server has unless others are given:
 * - headers 8 KiB, 64 of them: a browser with a proxy in front sends 2 KiB;
 * - 256 connections: a kubelet, some scrapers and some people, with room;
 * - 5 s for a request: there are no bodies, so it is one packet;
 * - 65 s between requests: longer than the scrape intervals of 15 to 60 s, so that scrapers keep their connection;
 * - 30 s for a reader that stands still.
 */
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  maxHeaderBytes: 8 * 1024,
  maxHeaders: 64,
  maxConnections: 256,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 5_000,
  keepAliveTimeoutMs: 65_000,
  idleTimeoutMs: 30_000,
};

/** How often time-outs are looked after; the default of 30 s would make 5 s into 35. */
export const CONNECTION_CHECK_MS = 1_000;
