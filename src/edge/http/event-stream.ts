import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, Timer } from '../platform/clock.js';
import { type HttpAnswer, sendAnswer } from './answer.js';
import { errorAnswer } from './api.js';

/** Streams at a time: some pages of some people; each may hold `MAX_BUFFERED_BYTES`. */
const MAX_STREAMS = 64;

/** What may wait in a socket before its reader counts as too slow: a few snapshots of 1,000 workers. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** A comment is sent so often, so that proxies and the idle time-out of this server keep a quiet stream. */
const HEARTBEAT_MS = 15_000;

/** How soon a browser comes back after a stream has ended. */
const RETRY_MS = 2_000;

/** One event: its parts are on one line each. */
export interface StreamEvent {
  readonly name: string;
  readonly id: string;
  /** JSON on one line. */
  readonly json: string;
}

/** One client of a stream. */
export interface StreamClient {
  /** True while it has not read what was sent before. */
  readonly isBehind: boolean;
  send(event: StreamEvent): void;
}

/** A stream of server-sent events, below `/api/v1`. */
export interface EventStreamRoute {
  readonly path: string;
  /** One line for people. */
  readonly summary: string;
  /** A client has come; the function that comes back is called when it has gone. */
  open(client: StreamClient): () => void;
  /** A client has read what was sent. */
  drained(client: StreamClient): void;
}

/** Bytes of the events that were encoded last: ten pages that read the same event share them. */
const FRAMES = new WeakMap<StreamEvent, Buffer>();

function frameOf(event: StreamEvent): Buffer {
  const known = FRAMES.get(event);
  if (known !== undefined) return known;
  const frame = Buffer.from(`event: ${event.name}\nid: ${event.id}\ndata: ${event.json}\n\n`);
  FRAMES.set(event, frame);
  return frame;
}

/** Serves streams of server-sent events, bounded in number and memory. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #routes: readonly EventStreamRoute[];
  readonly #open = new Map<ServerResponse, () => void>();
  #heartbeat: Timer | undefined;
  #isClosed = false;

  constructor(routes: readonly EventStreamRoute[], modules: { readonly clock: Clock }) {
    this.#routes = routes;
    this.#clock = modules.clock;
  }

  /** The stream at a path below `/api/v1`; undefined where there is none. */
  find(path: string): EventStreamRoute | undefined {
    return this.#routes.find((route) => `/api/v1${route.path}` === path);
  }

  /** Answers with a stream, or with why not. */
  serve(route: EventStreamRoute, request: IncomingMessage, response: ServerResponse): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      sendAnswer(response, refusal);
      return;
    }
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // What nginx would collect would come too late.
      'x-accel-buffering': 'no',
    });
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    let isWaiting = false;
    const client: StreamClient = {
      get isBehind() {
        return isWaiting;
      },
      send: (event) => {
        if (response.writableEnded || response.destroyed) return;
        response.write(frameOf(event));
        if (response.writableLength > MAX_BUFFERED_BYTES) isWaiting = true;
      },
    };
    response.on('drain', () => {
      if (!isWaiting) return;
      isWaiting = false;
      route.drained(client);
    });
    response.write(`retry: ${RETRY_MS}\n\n`);
    const leave = route.open(client);
    this.#open.set(response, leave);
    response.once('close', () => {
      this.#open.delete(response);
      leave();
      if (this.#open.size > 0) return;
      this.#heartbeat?.clear();
      this.#heartbeat = undefined;
    });
    this.#beat();
  }

  /** Ends all of them: the process stops. */
  close(): void {
    this.#isClosed = true;
    this.#heartbeat?.clear();
    for (const [response, leave] of this.#open) {
      leave();
      response.end('event: end\ndata: {"reason":"this process stops"}\n\n');
    }
    this.#open.clear();
  }

  #refusal(): HttpAnswer | undefined {
    const isFull = this.#open.size >= MAX_STREAMS;
    if (!isFull && !this.#isClosed) return undefined;
    const answer = isFull
      ? errorAnswer(
          503,
          'too_many_streams',
          `${MAX_STREAMS} streams are open, which is the most; ask /api/v1/view from time to time instead`,
        )
      : errorAnswer(503, 'stopping', 'this process stops');
    return { ...answer, headers: { 'retry-after': '5' } };
  }

  #beat(): void {
    this.#heartbeat ??= this.#clock.setTimer(HEARTBEAT_MS, () => {
      this.#heartbeat = undefined;
      // One that does not read is ended by the idle time-out of the server.
      for (const response of this.#open.keys())
        if (response.writableLength === 0) response.write(': heartbeat\n\n');
      if (this.#open.size > 0) this.#beat();
    });
  }
}
