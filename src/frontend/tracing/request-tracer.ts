import type { IncomingHttpHeaders } from 'node:http';
import type { Decision, Usage } from '../../fleet/router/routing.js';

/** Where a request was sent, beside the decision itself. */
export interface SentTo {
  /** The model as the request names it. Default: the group. */
  readonly model?: string;
  /** Base URL of the worker's OpenAI server. */
  readonly baseUrl?: string;
}

/** How a request ended. */
export interface RequestOutcome {
  /** The HTTP status that the client got; 0 when it left before it got any. */
  readonly status: number;
  /** What went wrong, as a short word that does not differ from request to request: `worker_lost`. */
  readonly error?: string;
  /** What the engine said of it. */
  readonly usage?: Usage;
}

/** The trace's part of one request. */
export interface RequestSpan {
  /** W3C `traceparent` for the worker, in place of the client's. */
  readonly traceparent: string;
  /** Whether it goes on with the client's trace; only then the client's `tracestate` goes with it. */
  readonly isContinued: boolean;
  /** A worker was chosen; called again when another one is tried. */
  decided(decision: Decision, sent?: SentTo): void;
  /** It is over; may be called again. A span that never ends is never exported. */
  end(outcome: RequestOutcome): void;
}

/** Reports requests to a tracing backend. */
export interface RequestTracer {
  /**
   * Begins the span of a request, as a part of the client's trace where it has one. `path` is
   * that of the request, without its query.
   */
  start(headers: IncomingHttpHeaders, path: string): RequestSpan | undefined;
  /** Sends what is still held, for a bounded time. Never rejects. */
  close(): Promise<void>;
}
