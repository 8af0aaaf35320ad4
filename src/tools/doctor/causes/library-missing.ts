import { countOf } from '../../../core/text/lists.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import { installLibrary } from '../fixes/programs.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { transfersArrive } from './transfer-clues.js';

/** Of a program above the engine: the sentence says all. */
const OF_A_WORKER = "Dynamo's worker ";

/** What makes a UCX of another version matter: programs that only load it run with it. */
const TROUBLE: readonly Signal[] = [
  'transfer_path_broken',
  'transfer_failed',
  'transfer_unreachable',
  'transfer_recomputed',
  'connector_crashed',
];

/** A library that moves or keeps KV blocks is missing, or of a version that does not fit. */
export const libraryMissing: Cause = {
  id: 'library_missing',
  concerns: () => true,
  contradictedBy: (measurements) => [...findsWhatEnginesHave(measurements), ...transfersArrive(measurements)],
  suspect(measurements: Measurements): Suspicion | undefined {
    const isTrouble = TROUBLE.some((sign) => measurements.signal(sign) !== undefined);
    const missing =
      measurements.signal('library_missing') ?? (isTrouble ? measurements.signal('ucx_differs') : undefined);
    if (missing === undefined) return undefined;
    const [sentence = 'a library that moves or keeps KV blocks'] = missing.values.keys();
    return {
      headline: sentence.startsWith(OF_A_WORKER)
        ? sentence
        : `A library below the engine is missing or does not fit its version: ${sentence}`,
      explanation:
        'NIXL, Mooncake, LMCache and their like are installed beside an engine, and each is built for some versions of it, of CUDA and of Python. Where one cannot be loaded, the connector that needs it does not start.',
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(missing.count, 'line')} of a library that cannot be used.`,
          missing.first,
        ),
      ],
      cluesAgainst: [],
      explains: ['no_stores', 'transfers_fail', 'prompts_recomputed'],
      fixes: [installLibrary(sentence)],
    };
  },
};
