import { engineReuses } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse } from '../measurements/setting-values.js';
import type { Remark } from './remark.js';
import { LARGE_BLOCK } from './unfound-prompts.js';

/** An engine that sized its own blocks so large that what prompts have in common may be shorter. Undefined where something was found, or where nothing is to be found. */
export function largeBlocksIn(measurements: Measurements): Remark | undefined {
  const changed = measurements.signal('block_size_changed_by_engine');
  const size = Math.max(0, ...[...(changed?.values.keys() ?? [])].map(Number));
  const isOff = measurements.runtimeSettings('prefix_caching').some(({ value }) => isFalse(value));
  if (changed === undefined || !(size >= LARGE_BLOCK) || isOff) return undefined;
  if (engineReuses(measurements) !== undefined || measurements.routerHits.length > 0) return undefined;
  const why = `the engine made its blocks ${size} tokens long for this model`;
  return {
    headline: `Nothing wrong was seen: ${why}, and prompts that have less than that in common find nothing`,
    says: `Whether prompts have a whole block in common: ${why} (${changed.first.place}), and only whole blocks are kept.`,
    ask: `Where prompts begin alike, send an engine two equal prompts of more than ${size} tokens, one after the other: the second has to be found. Shorter ones are found with smaller blocks alone (--mamba-block-size where this vLLM has it), or with a model of full attention`,
  };
}
