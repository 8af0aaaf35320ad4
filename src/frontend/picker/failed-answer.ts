import type { IncomingHttpHeaders } from 'node:http';
import type { FaultKind } from '../../core/health/worker-fault.js';
import { OVERLOADED, UPSTREAM_TIME } from './wire/names.js';

/** What a gateway shows of a worker that failed a request. */
export interface SeenFault {
  readonly kind: Extract<FaultKind, 'unreachable' | 'closed' | 'server_error'>;
  readonly detail: string;
}

/** What an answer with an error says of who failed. */
export type FailedAnswer =
  /** The worker failed. `isSure`: no request can be to blame. */
  | { readonly by: 'worker'; readonly fault: SeenFault; readonly isSure: boolean }
  /** The gateway itself: one of its bounds, or of its time-outs; it says nothing of the worker. */
  | { readonly by: 'gateway' };

/** Bytes at the beginning of an error that are looked at: Envoy's own have less. */
export const MAX_LOOKED_AT_BYTES = 512;

/** How Envoy (1.40) begins what it answers where it has no answer of an endpoint. */
const ENVOY = /^(?:upstream connect error|no healthy upstream|upstream request timeout)/;

/** What Envoy says of a connection: `reset reason: remote connection failure, transport failure reason: …`. */
const REASON = /reset reason: ([^,\n]{1,100})/;

/** What llm-d's routing sidecar answers with status 503 while it cannot connect to the engine beside it. */
const ENGINE_GONE = /"The decode node is not ready\b/;

/** What llm-d's routing sidecar answers with status 403 where its `--enable-ssrf-protection` does not know the prefill worker. */
const PREFILL_REFUSED = /^Forbidden: (prefill target not allowed\b.{0,100})/;

/** Whether an answer with this status may show a fault of its worker; `isSplit`: of the two that share the request. */
export function isFailure(status: number, isSplit: boolean): boolean {
  return status >= 500 || (isSplit && status === 403);
}

/** Why the two workers of a request cannot serve it together; undefined where an answer with status 403 is about the request. */
export function refusalOfPair(text: string): string | undefined {
  const refusal = PREFILL_REFUSED.exec(text)?.[1];
  return refusal === undefined
    ? undefined
    : `the routing sidecar of the decode worker says: ${refusal.trim()}`;
}

/**
 * Whose an answer with a status of 500 or more is, by its headers and the beginning of its body, empty where
 * the gateway does not show it.
 */
export function judgeFailure(status: number, headers: IncomingHttpHeaders, text: string): FailedAnswer {
  if (headers[OVERLOADED] !== undefined) return { by: 'gateway' };
  if (headers[UPSTREAM_TIME] === undefined && ENVOY.test(text)) {
    const reason = REASON.exec(text)?.[1] ?? '';
    const detail = `the gateway says: ${reason}`;
    if (/connection (?:failure|timeout)/.test(reason))
      return { by: 'worker', fault: { kind: 'unreachable', detail }, isSure: true };
    // An engine that ends by a request takes its connections with it.
    if (/termination|remote reset|protocol error/.test(reason))
      return { by: 'worker', fault: { kind: 'closed', detail }, isSure: false };
    return { by: 'gateway' };
  }
  // Of time-outs those of gateways are meant, which say nothing of a worker: a long answer takes long.
  if (status === 504 && headers[UPSTREAM_TIME] === undefined) return { by: 'gateway' };
  if (status === 503 && ENGINE_GONE.test(text)) {
    const detail = 'its routing sidecar cannot connect to its engine';
    return { by: 'worker', fault: { kind: 'unreachable', detail }, isSure: true };
  }
  return { by: 'worker', fault: { kind: 'server_error', detail: `status ${status}` }, isSure: false };
}
