import { Registry } from 'prom-client';
import type { EventStreamRoute } from '../../src/edge/http/event-stream.js';
import { type HttpAccess, HttpServer } from '../../src/edge/http/http-server.js';
import { ProbeBoard } from '../../src/edge/http/probe-board.js';
import { type Clock, systemClock } from '../../src/edge/platform/clock.js';
import { RecordingLogger } from './recording-logger.js';

/** A server with this stream of events alone, on a port of its own of this host; not started. */
export function streamingServer(
  route: EventStreamRoute,
  { clock = systemClock, access }: { readonly clock?: Clock; readonly access?: HttpAccess } = {},
): HttpServer {
  return new HttpServer(
    { listen: { type: 'tcp', host: '127.0.0.1', port: 0, text: '127.0.0.1:0' }, title: 't', version: '1' },
    {
      clock,
      logger: new RecordingLogger(),
      probes: new ProbeBoard(),
      registry: new Registry(),
      status: () => ({ title: '', headline: { text: '', tone: 'good' }, facts: [], tables: [] }),
      api: [],
      streams: [route],
      ...(access === undefined ? {} : { access }),
    },
  );
}
