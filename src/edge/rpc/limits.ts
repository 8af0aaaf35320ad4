/** Bounds of one gRPC server. Every one has a default in `DEFAULT_RPC_LIMITS`. */
export interface RpcLimits {
  /** Largest message in either direction, in bytes. */
  readonly maxMessageBytes: number;
  /** Largest metadata of one call, names and values together, in bytes. */
  readonly maxMetadataBytes: number;
  /** TCP connections at a time; further ones are closed immediately. */
  readonly maxConnections: number;
  /** Calls that one connection may have open at a time, streams included. */
  readonly maxOpenCallsPerConnection: number;
  /** Calls that all connections together may have open at a time. */
  readonly maxOpenCalls: number;
  /** New calls per second on one connection, on average; as many again may come in one burst. */
  readonly maxCallsPerSecondPerConnection: number;
  /**
   * Whether callers reset their calls as a matter of course, as Envoy does at the end of each `ext_proc` stream. By default a
   * connection is ended for more than 33 a second, after 1,000 of them; Node before 22.10 cannot be asked for anything else.
   */
  readonly takesResets?: boolean;
  /**
   * Bytes that a caller may send ahead on one call before it waits for the server, and on a connection four times as many. For
   * servers that take large messages. Default HTTP/2's own 65,535 for both.
   */
  readonly windowBytes?: number;
}

/** Largest message: gRPC's own default for receiving, which no peer has to be sent. */
export const MAX_MESSAGE_BYTES: number = 4 * 1024 * 1024;

/**
 * The bounds that a server has unless others are given:
 * - metadata 16 KiB: what C-core takes at most by default;
 * - 8,192 connections: twice the largest fleet that is measured, at about 100 KB each;
 * - 100 open calls per connection: what HTTP/2 recommends as the least (RFC 9113, 6.5.2);
 * - 10,000 open calls: more than one per connection, and still under 1 GB;
 * - 1,000 calls per second per connection: a thousand times what a watch needs, a tenth of what the machine can do.
 */
export const DEFAULT_RPC_LIMITS: RpcLimits = {
  maxMessageBytes: MAX_MESSAGE_BYTES,
  maxMetadataBytes: 16 * 1024,
  maxConnections: 8_192,
  maxOpenCallsPerConnection: 100,
  maxOpenCalls: 10_000,
  maxCallsPerSecondPerConnection: 1_000,
};

/**
 * How many more streams HTTP/2 itself allows on a connection than
 * `maxOpenCallsPerConnection`. Past HTTP/2's own bound clients wait without a
 * word; with this margin they are refused with a reason first.
 */
export const STREAM_MARGIN = 28;
