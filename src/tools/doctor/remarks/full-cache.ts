import { uncapitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import { isFullForOthers, memoryOptions } from '../fixes/memory.js';
import { percent } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Remark } from './remark.js';

/** Requests that wait for room in a KV cache that is full: a load that somebody may want, and what delays first tokens. Undefined where none waited, or where they waited for a turn and not for room. */
export function fullCacheIn(measurements: Measurements): Remark | undefined {
  const { usageWhileWaiting: usage, concurrency } = measurements;
  const waiting = Math.round(concurrency?.waiting ?? 0);
  if (usage === undefined || waiting < 1 || !isFullForOthers(measurements)) return undefined;
  const why = `${countOf(waiting, 'request')} waited for room in a KV cache that was ${percent(usage.value)} full`;
  const [option] = memoryOptions(measurements);
  return {
    headline: `Nothing wrong was seen with caches and routing: ${why}`,
    says: `Whether the load is meant: ${why} (${usage.origin.place}), so that first tokens come late.`,
    ask: `Leave it as it is in a test of the most that fits${option === undefined ? '' : `; else: ${uncapitalised(option.says)}`}`,
  };
}
