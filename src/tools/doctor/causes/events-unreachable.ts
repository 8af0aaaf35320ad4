import { countOf } from '../../../core/text/lists.js';
import type { ClueFor } from '../confidence.js';
import { reachingFix } from '../fixes/events.js';
import { MIN_DECISIONS } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';
import {
  allStores,
  arrivedStores,
  isDeaf,
  mostDecisions,
  noStores,
  publishers,
  workingRouter,
} from './routing-clues.js';

/** Events are published and do not arrive. */
export const eventsUnreachable: Cause = {
  id: 'events_unreachable',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const { stores, published } = measurements;
    const unreachable = measurements.signal('events_unreachable');
    const noStore = noStores(measurements);
    const [publisher] = publishers(measurements);
    const isCounted = stores !== undefined;
    const cluesFor: readonly ClueFor[] = [
      ...sentAndNotReceived(measurements),
      ...when(unreachable, ({ count, first }) =>
        clueFor(
          noStore.length > 0 || !isCounted ? 'signature' : 'sign',
          `${countOf(count, 'line')} of sockets of KV events that cannot be reached or ended.`,
          first,
        ),
      ),
      ...noStore.map(
        (clue): ClueFor => ({
          ...clue,
          weight: publisher !== undefined && isCounted ? 'signature' : 'sign',
        }),
      ),
      ...when(noStore.length > 0 && publisher, ({ origin }) =>
        clueFor('sign', 'Workers are configured to publish KV events.', origin),
      ),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline: !measurements.seen.router
        ? 'KV events do not leave their worker, or do not reach who reads them: sockets fail'
        : unreachable === undefined && published === undefined && publisher === undefined
          ? 'No KV event reaches the router: it may not be able to connect to the sockets of the workers'
          : 'KV events do not reach the router: workers publish, and nothing arrives',
      explanation:
        'Workers publish what they store over sockets of their own or a broker; the router waits for it and cannot distinguish silence from a network that lets nothing through. Requests are served, by load.',
      cluesFor,
      cluesAgainst: [...workingRouter(measurements), ...arrivedStores(measurements, 'weakens')],
      explains: ['no_stores', 'empty_tree', 'router_blind'],
      fixes: [reachingFix(measurements)],
    };
  },
};

function sentAndNotReceived(measurements: Measurements): readonly ClueFor[] {
  const { published, stores } = measurements;
  if (isDeaf(measurements) || published === undefined || stores === undefined) return [];
  const isLost =
    published.received > published.emptied &&
    allStores(stores) === 0 &&
    mostDecisions(measurements) >= MIN_DECISIONS;
  return when(isLost, () => [
    clueFor(
      'proof',
      `Workers published ${countOf(published.received, 'event')}, and the router got none of them.`,
      published.origin,
    ),
    clueFor('proof', 'The router counts 0 stores.', stores.origin, 'no_stores'),
  ]);
}
