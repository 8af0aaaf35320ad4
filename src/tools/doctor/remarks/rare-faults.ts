import { uncapitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import { filled } from '../known-faults/known-fault.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Remark } from './remark.js';

/** A known fault that an excerpt shows too seldom to be one: waits and retries of its kind pass. Undefined where there is none. */
export function rareFaultIn({ rareFaults }: Measurements): Remark | undefined {
  const [rare] = rareFaults;
  if (rare === undefined) return undefined;
  const { fault, values, count, first } = rare;
  const says = filled(fault.says, values);
  const cure = filled(fault.cure, values);
  return {
    headline: `Nothing lasting was seen, but ${count === 1 ? 'once' : `${count} times`}: ${says}`,
    says: `Whether it passed: ${says} (${countOf(count, 'line')}, the first at ${first.place}). It is a fault where it goes on.`,
    ask: `Where it goes on: ${uncapitalised(cure)}`,
  };
}
