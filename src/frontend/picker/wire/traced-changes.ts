import type { IncomingHttpHeaders } from 'node:http';
import type { RequestSpan } from '../../tracing/request-tracer.js';
import type { HeaderChanges } from './messages.js';

/** Changes with which the engine's part of the trace goes on below the picker's; without a span as they are. */
export function traced(
  changes: HeaderChanges,
  headers: IncomingHttpHeaders,
  span: RequestSpan | undefined,
): HeaderChanges {
  if (span === undefined) return changes;
  const isForeign = !span.isContinued && headers['tracestate'] !== undefined;
  return {
    ...changes,
    set: { ...changes.set, traceparent: span.traceparent },
    remove: isForeign ? [...changes.remove, 'tracestate'] : changes.remove,
  };
}
