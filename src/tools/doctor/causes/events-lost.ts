import { countOf } from '../../../core/text/lists.js';
import type { ClueFor } from '../confidence.js';
import { lossFixes } from '../fixes/events.js';
import { percent } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, when } from './clues.js';
import { closeRouter, missingParentsClue, missingShare } from './routing-clues.js';

/** Share of missing parents from which on gaps do harm. */
const HARMFUL = 0.005;

/** A router that finds this part of what engines have has lost nothing that matters. */
const CLOSED = 0.8;
/** The same where some stores could not be placed. */
const WHOLE = 0.98;

/** Events arrive with gaps. */
export const eventsLost: Cause = {
  id: 'events_lost',
  concerns: () => true,
  contradictedBy: (measurements) => {
    // Stores that lack their parents are an effect too: then only a router that misses nothing contradicts it.
    const isFelt = (missingShare(measurements) ?? 0) > HARMFUL;
    return measurements.engineHits === undefined
      ? []
      : findsWhatEnginesHave(measurements, { part: isFelt ? WHOLE : CLOSED });
  },
  suspect(measurements: Measurements): Suspicion | undefined {
    const { gaps, stores, engineHits } = measurements;
    const lost = measurements.signal('events_lost');
    const share = missingShare(measurements) ?? 0;
    const isHurt = share > HARMFUL || measurements.signal('parent_block_not_found') !== undefined;
    const weight = isHurt ? 'proof' : 'signature';
    const dropped = gaps?.value ?? 0;
    const certain: readonly ClueFor[] = [
      ...when(dropped > 0 && gaps, ({ origin }) =>
        clueFor(
          weight,
          origin.text.includes('missed')
            ? `The gateway missed ${countOf(dropped, 'event')}.`
            : `Publishers dropped ${countOf(dropped, 'event')}.`,
          origin,
        ),
      ),
      ...when(lost, ({ count, values, first }) =>
        clueFor(
          weight,
          `${countOf(count, 'line')} of gaps in the numbers of KV events${valuesOf(values)}.`,
          first,
        ),
      ),
    ];
    if (certain.length === 0) return undefined;
    return {
      headline: `KV events get lost: ${lost === undefined ? `${countOf(dropped, 'event')} dropped` : `${countOf(lost.count, 'gap')} reported`}, and the stores that build on them cannot be placed`,
      explanation:
        'Each store names its parent. When one is lost, all that follows it in the same sequence finds no parent and is skipped, and a removal that is lost leaves the router believing in blocks that are gone.',
      cluesFor: [
        ...certain,
        // Parents that are missing now and then, while most stores are applied.
        ...when(share > HARMFUL && share < 0.5 && stores, (counts) =>
          missingParentsClue(counts, 'sign', ', and applied the others'),
        ),
      ],
      // Gaps that were closed by a replay do no harm.
      cluesAgainst: when(closeRouter(measurements, 0.8), (found) =>
        clueAgainst(
          // Without what engines had, a router that finds something may find half of it.
          engineHits === undefined || share > HARMFUL ? 'weakens' : 'refutes',
          `The router finds about what engines have (${percent(found.share)}${engineHits === undefined ? '' : ` against ${percent(engineHits.share)}`}): gaps seem to have been closed.`,
          found.origin,
        ),
      ),
      explains: ['parents_missing'],
      fixes: lossFixes(measurements),
    };
  },
};

function valuesOf(values: ReadonlyMap<string, number>): string {
  const names = [...values.keys()].sort().slice(0, 3);
  return names.length === 0 ? '' : ` (${names.join(', ')})`;
}
