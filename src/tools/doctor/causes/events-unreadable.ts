import { countOf } from '../../../core/text/lists.js';
import { readingFixes } from '../fixes/failing-events.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** KV events arrive, and the router cannot read them. */
export const eventsUnreadable: Cause = {
  id: 'events_unreadable',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const unread = measurements.signal('events_unreadable');
    if (unread === undefined) return undefined;
    const [error] = unread.values.keys();
    return {
      headline: `KV events arrive and cannot be read${error === undefined ? '' : ` (${error})`}`,
      explanation:
        'What an engine publishes has another form than the router expects: another version of the format, a topic of another form, hashes or tokens that are missing. Each such event is dropped, and the blocks in it are unknown to the router.',
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(unread.count, 'line')} of KV events that could not be read.`,
          unread.first,
        ),
      ],
      cluesAgainst: workingRouter(measurements),
      explains: ['no_stores', 'empty_tree', 'router_blind', 'parents_missing'],
      fixes: readingFixes(measurements, [...unread.values.keys()].join('\n')),
    };
  },
};
