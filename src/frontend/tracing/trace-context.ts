import type { IncomingHttpHeaders } from 'node:http';
import { TraceFlags } from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';

/** What a `traceparent` header says. */
export interface TraceParent {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 of them. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Longest header of a later version that is looked at. */
const MAX_CHARS = 256;

/**
 * Reads a request's W3C trace context (https://www.w3.org/TR/trace-context/);
 * undefined when there is none, or none that is well formed: a new trace then
 * begins. Later versions may have more behind what version 00 has.
 */
export function readTraceParent({ traceparent }: IncomingHttpHeaders): TraceParent | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_CHARS) return undefined;
  const parsed = parseTraceParent(traceparent);
  if (parsed === null) return undefined;
  const { traceId, spanId, traceFlags } = parsed;
  return { traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 };
}

/** The header of version 00. */
export function writeTraceParent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
