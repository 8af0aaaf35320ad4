import { countOf } from '../../../core/text/lists.js';
import { acceptableSettings } from '../fixes/refused-settings.js';
import { refusedKeyIn } from '../logs/general/parser-errors.js';
import { wordsOfSglang } from '../logs/general/sglang-checks.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { transfersArrive } from './transfer-clues.js';

/** A program refuses the settings that it was started with. */
export const settingsRefused: Cause = {
  id: 'settings_refused',
  concerns: () => true,
  contradictedBy: (measurements) => [...findsWhatEnginesHave(measurements), ...transfersArrive(measurements)],
  suspect(measurements: Measurements): Suspicion | undefined {
    const refused = measurements.signal('settings_refused');
    if (refused === undefined) return undefined;
    const [sentence = 'settings that do not fit together'] = refused.values.keys();
    return {
      headline: `${whoRefuses(sentence)}: ${wordsOfSglang(sentence) ?? sentence}`,
      explanation:
        'The program ends at its start, or goes on without the part that was set wrongly. Its sentence names the setting; combinations that one version refuses another may accept.',
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(refused.count, 'line')} that ${refused.count === 1 ? 'refuses' : 'refuse'} settings.`,
          refused.first,
        ),
      ],
      cluesAgainst: [],
      explains: ['no_stores', 'transfers_fail', 'prompts_recomputed'],
      fixes: [acceptableSettings(measurements, sentence)],
    };
  },
};

/** Kubernetes and Helm refuse what no program has seen yet. */
function whoRefuses(sentence: string): string {
  if (wordsOfSglang(sentence) !== undefined) return 'SGLang refuses its arguments';
  const place = refusedKeyIn(sentence)?.place;
  if (place === 'object') return 'Kubernetes refuses an object';
  return place === 'values' ? 'Helm refuses the values of a chart' : 'A program refuses its settings';
}
