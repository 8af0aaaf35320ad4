import { countOf } from '../../../core/text/lists.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import { fittingVersions } from '../fixes/programs.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { endsForOtherReason } from './program-ended.js';
import { transfersArrive } from './transfer-clues.js';

/** Signs that the last line of such a traceback is the reason, and no fault of the connector. */
const EXPLAINED: readonly Signal[] = ['cache_memory_missing', 'settings_refused'];

/** The part of an engine that moves or keeps KV blocks ends with an exception. */
export const connectorCrashed: Cause = {
  id: 'connector_crashed',
  concerns: () => true,
  contradictedBy: (measurements) => [...findsWhatEnginesHave(measurements), ...transfersArrive(measurements)],
  suspect(measurements: Measurements): Suspicion | undefined {
    const crashed = measurements.signal('connector_crashed');
    if (crashed === undefined || endsForOtherReason(measurements)) return undefined;
    if (EXPLAINED.some((sign) => measurements.signal(sign) !== undefined)) return undefined;
    // The innermost place of a traceback is its last.
    const place = [...crashed.values.keys()].at(-1);
    return {
      headline: `The part of an engine that moves or keeps KV blocks ends with an exception${place === undefined ? '' : ` (${place})`}`,
      explanation:
        'A traceback goes through its files. Such an exception is a fault of the connector, or of versions that do not belong together, far more often than one of the deployment. The last line of the traceback has the reason.',
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(crashed.count, 'line')} of a traceback through a KV connector.`,
          crashed.first,
          'transfers_fail',
        ),
      ],
      cluesAgainst: [],
      explains: ['prompts_recomputed'],
      fixes: [fittingVersions()],
    };
  },
};
