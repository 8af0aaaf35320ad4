import type { Reason } from '../../core/agreement/snapshot.js';
import type { HttpAnswer } from '../../edge/http/answer.js';
import type { ProbeCheck } from '../../edge/http/probe-board.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';
import type { Decision, RouteRequest, RoutingErrorCode, Usage } from '../../fleet/router/routing.js';
import type { MetricsSnapshot } from './metrics-snapshot.js';

/*
 * What the processes of `--threads` say to each other, in batches (`Outbox`).
 * A process that serves HTTP numbers its routes and questions itself, from 1 on.
 */

/** Of one route: from the process that serves HTTP to the one that routes. */
export type RouteMessage =
  | { readonly type: 'route'; readonly id: number; readonly request: RouteRequest }
  | { readonly type: 'prefill_done'; readonly id: number }
  | { readonly type: 'progress'; readonly id: number; readonly outputTokens: number }
  | { readonly type: 'release'; readonly id: number; readonly usage: Usage | undefined };

/** Of one route: the way back. */
export type RouteAnswer =
  | { readonly type: 'routed'; readonly id: number; readonly decision: Decision }
  | {
      readonly type: 'not_routed';
      readonly id: number;
      readonly code: RoutingErrorCode;
      readonly message: string;
      readonly reasons: readonly Reason[];
    }
  /** Something went wrong there; the log says what. */
  | { readonly type: 'failed'; readonly id: number };

/** All that a process that serves HTTP says. */
export type ThreadMessage =
  | RouteMessage
  /** It is there, and wants to be told what to do. */
  | { readonly type: 'hello' }
  /** It serves there: `127.0.0.1:8000`. */
  | { readonly type: 'listening'; readonly address: string }
  /** It cannot serve, and ends. `isSetting`: it is the fault of a setting. */
  | { readonly type: 'unable'; readonly message: string; readonly isSetting: boolean }
  /** Its own metrics. */
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: MetricsSnapshot }
  /** It wants the page of `/metrics`, in the form that `accept` names. */
  | { readonly type: 'ask_page'; readonly id: number; readonly accept: string };

/** All that a process that serves HTTP is told. */
export type ThreadOrder =
  | RouteAnswer
  /** `served` is the JSON of a `Served`. `port` is that of the OpenAI server, `statusAddress` that of the status page. */
  | {
      readonly type: 'start';
      readonly thread: number;
      readonly port: number;
      readonly statusAddress: string;
      readonly served: string;
    }
  | { readonly type: 'served'; readonly served: string }
  | { readonly type: 'ask_metrics'; readonly id: number }
  | { readonly type: 'page'; readonly id: number; readonly answer: HttpAnswer }
  /** No new requests; the process ends when those that run have ended. */
  | { readonly type: 'drain' };

/** What is served, and whether: what a process that serves HTTP has to know of the fleet. */
export interface Served {
  readonly catalogue: Catalogue;
  /** Of `/readyz`. */
  readonly checks: readonly ProbeCheck[];
}

/** Longest prompt in tokens that is asked about, as the router's own bound. */
const MAX_TOKENS = 4 * 1024 * 1024;

/** Longest LoRA name, cache salt or group; the router takes less. */
const MAX_NAME_CHARS = 16_384;

/** Whether a request is within what is sent to another process. */
export function canBeSent({ group, tokens, loraName, cacheSalt }: RouteRequest): boolean {
  return (
    (tokens?.length ?? 0) <= MAX_TOKENS &&
    [group, loraName, cacheSalt].every((name) => name.length <= MAX_NAME_CHARS)
  );
}
