import { excerpt } from '../../edge/platform/probe-error.js';
import { ProbeError } from './probe.js';

/**
 * Throws a `ProbeError` when a text cannot be metrics: a wrong port answers web
 * pages or JSON with status 200 too.
 */
export function refuseOtherFormats(text: string, origin: string): void {
  const start = text.slice(0, 64).trimStart();
  if (/^[<{[]/.test(start) || start === '') {
    throw new ProbeError('bad_answer', origin, `expected metrics in Prometheus text, got ${excerpt(text)}`);
  }
}
