import { countOf } from '../../../core/text/lists.js';
import { scoringFixes } from '../fixes/picker.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** llm-d's picker cannot give a prompt a score: it has no tokens of it, or no index. */
export const promptsNotScored: Cause = {
  id: 'prompts_not_scored',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const failed = measurements.signal('picker_scores_failed');
    if (failed === undefined) return undefined;
    const [error] = failed.values.keys();
    return {
      headline: `llm-d's picker cannot score prompts by their prefix${error === undefined ? '' : ` (${error})`}`,
      explanation:
        'The scorer needs the tokens of a prompt and an index to look them up. Where one of them fails, every endpoint gets the same score and requests go by load.',
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(failed.count, 'prompt')} without a score.`,
          failed.first,
          'router_blind',
        ),
      ],
      cluesAgainst: workingRouter(measurements),
      explains: ['router_blind'],
      fixes: scoringFixes([...failed.values.keys()].join('\n')),
    };
  },
};
