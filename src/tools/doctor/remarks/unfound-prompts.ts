import { wereBusy } from '../measurements/busy-engines.js';
import { engineReuses } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Remark } from './remark.js';

/** Tokens of a block from which on prompts that begin alike may still have no whole one in common. */
export const LARGE_BLOCK = 128;

/** Engines that found nothing of what they were asked, which prompts without a common beginning make as well as a fault. Undefined where engines found something, computed too little to tell, or where a router was seen, whose findings say more. */
export function unfoundPromptsIn(measurements: Measurements): Remark | undefined {
  const { engineHits, routerHits, short, sizes } = measurements;
  if (engineHits === undefined || engineReuses(measurements) !== undefined || routerHits.length > 0) return;
  if (!wereBusy(measurements) || short !== undefined) return;
  const size = Math.max(
    0,
    ...sizes.rows.filter(({ side }) => side === 'worker').map((row) => row.tokensPerBlock),
  );
  const whole =
    size >= LARGE_BLOCK ? ` or in less than the ${size} tokens of a block, as this engine sized it` : '';
  return {
    headline: `Nothing wrong was seen: engines found nearly nothing in their caches, as happens where prompts begin differently${whole}`,
    says: `Whether there was anything to find: ${engineHits.origin.place} reports no hits, and prompts that have no whole block in common make that too.`,
    ask: `Where prompts begin alike, send an engine two equal prompts that are longer than a block${size >= LARGE_BLOCK ? ` (${size} tokens)` : ''}, one after the other and nothing beside them, and run this command again: the second has to be found`,
  };
}
