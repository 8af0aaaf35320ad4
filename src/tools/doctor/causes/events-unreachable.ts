import { counted } from '../counted.js';
import { reachingFix } from '../fixes/events.js';
import { MIN_DECISIONS, type Picture } from '../picture.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { workingRouter } from './shared-clues.js';
import { isDeaf, noStores, publishers } from './store-clues.js';

/** Events are published and do not arrive. */
export const eventsUnreachable: Cause = {
  id: 'events_unreachable',
  suspect(picture: Picture): Suspicion | undefined {
    const unreachable = picture.signal('events_unreachable');
    const noStore = noStores(picture);
    const [publisher] = publishers(picture);
    const cluesFor: readonly ClueFor[] = [
      ...(isDeaf(picture) ? [] : sentAndNotCome(picture)),
      ...(unreachable === undefined
        ? []
        : [
            {
              says: `${counted(unreachable.count, 'line')} of sockets of KV events that cannot be reached or ended.`,
              origin: unreachable.first,
              weight:
                noStore.length > 0 || picture.stores === undefined
                  ? ('signature' as const)
                  : ('sign' as const),
            },
          ]),
      ...noStore.map((clue) => ({
        ...clue,
        weight:
          publisher !== undefined && picture.stores !== undefined
            ? ('signature' as const)
            : ('sign' as const),
      })),
      ...(publisher !== undefined && noStore.length > 0
        ? [
            {
              says: 'Workers are told to publish KV events.',
              origin: publisher.origin,
              weight: 'sign' as const,
            },
          ]
        : []),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline:
        unreachable === undefined && picture.published === undefined && publisher === undefined
          ? 'No KV event reaches the router: it may not get at the sockets of the workers'
          : 'KV events do not reach the router: workers publish, and nothing arrives',
      explanation:
        'Workers publish what they store over sockets of their own or a broker; the router waits for it and cannot tell silence from a network that lets nothing through. Requests are served, by load.',
      cluesFor,
      cluesAgainst: [...workingRouter(picture), ...arriving(picture)],
      explains: ['no_stores', 'empty_tree', 'router_blind'],
      fixes: [reachingFix()],
    };
  },
};

function sentAndNotCome({ published, stores, routerHits }: Picture): readonly ClueFor[] {
  const served = Math.max(0, ...routerHits.map(({ count }) => count));
  const isLost =
    published !== undefined &&
    stores !== undefined &&
    published.received > published.emptied &&
    stores.applied + stores.parentMissing === 0 &&
    served >= MIN_DECISIONS;
  return isLost
    ? [
        {
          says: `Workers published ${counted(published.received, 'event')}, and the router got none of them.`,
          origin: published.origin,
          weight: 'proof',
        },
        { says: 'The router counts 0 stores.', origin: stores.origin, weight: 'proof', symptom: 'no_stores' },
      ]
    : [];
}

function arriving({ stores }: Picture): readonly ClueAgainst[] {
  return stores !== undefined && stores.applied + stores.parentMissing > 0
    ? [
        {
          says: `${counted(stores.applied + stores.parentMissing, 'store')} reached the router.`,
          origin: stores.origin,
          weight: 'weakens',
        },
      ]
    : [];
}
