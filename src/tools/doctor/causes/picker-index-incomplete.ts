import { countOf } from '../../../core/text/lists.js';
import { indexFixes } from '../fixes/picker.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** llm-d's picker gets stores that build on blocks which its index does not have. */
export const pickerIndexIncomplete: Cause = {
  id: 'picker_index_incomplete',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const unknown = measurements.signal('picker_parent_unknown');
    if (unknown === undefined) return undefined;
    return {
      headline: `llm-d's picker does not know the parents of stored blocks: its index is incomplete (${countOf(unknown.count, 'event')})`,
      explanation:
        "A store names the block that it continues. The picker's index lacks that block because the picker started after the engine, because its block size differs from the engine's, or because a hybrid model publishes groups of layers with sizes of their own. What follows in the same sequence is dropped as well, and prompts get too low a score.",
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(unknown.count, 'event')} whose parent block the index of the picker does not have.`,
          unknown.first,
          'parents_missing',
        ),
      ],
      cluesAgainst: workingRouter(measurements),
      explains: ['router_blind'],
      fixes: indexFixes(measurements),
    };
  },
};
