import { countOf } from '../../../core/text/lists.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import { partOf, repairPart } from '../fixes/crashed-parts.js';
import { type Crash, crashPlace, readCrash } from '../logs/crash-text.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { endsForOtherReason } from './program-ended.js';
import { transfersArrive } from './transfer-clues.js';

/** Signs that say more of such an exception than its place. */
const EXPLAINED: readonly Signal[] = ['cache_memory_missing', 'settings_refused'];

/** A part of an engine that moves or keeps KV blocks fails with an exception that is of no class. */
export const connectorCrashed: Cause = {
  id: 'connector_crashed',
  concerns: () => true,
  contradictedBy: (measurements) => [...findsWhatEnginesHave(measurements), ...transfersArrive(measurements)],
  suspect(measurements: Measurements): Suspicion | undefined {
    const crashed = measurements.signal('connector_crashed');
    if (crashed === undefined || endsForOtherReason(measurements)) return undefined;
    if (EXPLAINED.some((sign) => measurements.signal(sign) !== undefined)) return undefined;
    const crashes = [...crashed.values.keys()].map(readCrash);
    const crash = crashes.find(({ sentence }) => sentence !== '') ??
      crashes[0] ?? { path: '', place: '', sentence: '' };
    const { name } = partOf(crash);
    const hasEnded = measurements.failures.some(({ ends }) => ends > 0);
    return {
      headline: `${name} ${hasEnded ? 'ends a program' : 'fails'} with an exception${said(crash)}${crashPlace(crash)}`,
      explanation: `Such an exception is a fault of that part, or of versions that do not belong together, far more often than one of the deployment. ${hasEnded ? 'What the program held of KV blocks is gone with it.' : 'Requests that need the part fail or are computed again, and the program goes on where no line says that it ended.'}`,
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(crashed.count, 'exception')} within ${name.replace(/^(?:The|A) /, (word) => word.toLowerCase())}${said(crash)}.`,
          crashed.first,
          'transfers_fail',
        ),
      ],
      cluesAgainst: [],
      explains: ['prompts_recomputed'],
      fixes: [repairPart(measurements, crash)],
    };
  },
};

function said({ sentence }: Crash): string {
  return sentence === '' ? '; its last line is not in what was given' : `: ${sentence.replace(/\.$/, '')}`;
}
