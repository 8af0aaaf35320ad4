import { countOf } from '../../../core/text/lists.js';
import { publisherFixes } from '../fixes/failing-events.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';
import { arrivedStores, noStores, workingRouter } from './routing-clues.js';

/** A worker has KV events, and fails to send them. */
export const publisherFailed: Cause = {
  id: 'publisher_failed',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const failed = measurements.signal('publisher_failed');
    if (failed === undefined) return undefined;
    const noStore = noStores(measurements);
    const [error] = failed.values.keys();
    return {
      headline: `A worker's publisher of KV events fails${error === undefined ? '' : ` (${error})`}: what it stores is not published`,
      explanation:
        'The engine serves requests and keeps its blocks, but the thread that publishes KV events ends or drops them. The router never learns of these blocks, and no request fails for it.',
      cluesFor: [
        clueFor(
          noStore.length > 0 ? 'proof' : 'signature',
          `${countOf(failed.count, 'line')} of a publisher of KV events that failed.`,
          failed.first,
        ),
        ...noStore,
        ...when(measurements.signal('events_lost'), ({ first }) =>
          clueFor('sign', 'Events are missing from the stream.', first),
        ),
      ],
      cluesAgainst: [...workingRouter(measurements), ...arrivedStores(measurements, 'noted')],
      explains: ['no_stores', 'empty_tree', 'router_blind', 'parents_missing'],
      fixes: publisherFixes(measurements, error ?? ''),
    };
  },
};
