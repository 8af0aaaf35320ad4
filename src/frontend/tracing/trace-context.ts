import type { IncomingHttpHeaders } from 'node:http';

/** What a `traceparent` header says. */
export interface TraceParent {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 of them. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Longest header of a later version that is looked at. */
const MAX_CHARS = 256;
const SAMPLED = 1;

/**
 * Reads a request's W3C trace context (https://www.w3.org/TR/trace-context/);
 * undefined when there is none, or none that is well formed: a new trace then
 * begins. Later versions may have more behind what version 00 has.
 */
export function readTraceParent({ traceparent }: IncomingHttpHeaders): TraceParent | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_CHARS) return undefined;
  const [, version, traceId, spanId, flags, more] = FORM.exec(traceparent.trim()) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** The header of version 00. */
export function writeTraceParent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
