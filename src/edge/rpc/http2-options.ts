import type { Http2Server } from 'node:http2';
import type { Server } from '@grpc/grpc-js';

/** Where grpc-js (1.14.7) keeps what it has no options of its own for. */
interface Internals {
  /** Options of Node's `http2.createServer`. */
  readonly commonServerOptions?: Record<string, unknown>;
  readonly http2Servers?: ReadonlyMap<Http2Server, unknown>;
}

/** Resets of streams at a time, and a second, that end no connection: no bound, since calls themselves are bounded. */
const MANY_RESETS = 1_000_000_000;

/** Has a server end no connection for the streams that are reset on it. Before it takes connections. */
export function allowResets(server: Server): void {
  const options = optionsOf(server);
  options['streamResetBurst'] = MANY_RESETS;
  options['streamResetRate'] = MANY_RESETS;
}

/** Has a server let callers send so many bytes ahead on each stream. Before it takes connections. */
export function widenStreams(server: Server, windowBytes: number): void {
  const options = optionsOf(server);
  options['settings'] = { ...(options['settings'] as object | undefined), initialWindowSize: windowBytes };
}

/** How many streams may use all of their windows before others on their connection wait. */
const STREAMS_AT_A_TIME = 4;

/** The same for the connections of a server that takes them already; the settings of HTTP/2 say nothing of these. */
export function widenConnections(server: Server, windowBytes: number): void {
  const { http2Servers } = server as unknown as Internals;
  if (http2Servers === undefined) throw new Error('grpc-js keeps its HTTP/2 servers elsewhere');
  for (const one of http2Servers.keys())
    one.on('session', (session) => session.setLocalWindowSize(STREAMS_AT_A_TIME * windowBytes));
}

function optionsOf(server: Server): Record<string, unknown> {
  const { commonServerOptions } = server as unknown as Internals;
  if (commonServerOptions === undefined) throw new Error('grpc-js keeps the options of HTTP/2 elsewhere');
  return commonServerOptions;
}
