import { counted } from '../counted.js';
import { cachingFix, publishingFixes } from '../fixes/events.js';
import type { Picture } from '../picture.js';
import { isFalse } from '../setting-words.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { workingRouter } from './shared-clues.js';
import { noStores, publishers } from './store-clues.js';

/** Workers publish no KV events, or cache nothing. */
export const eventsOff: Cause = {
  id: 'events_off',
  suspect(picture: Picture): Suspicion | undefined {
    const noStore = noStores(picture);
    const [uncached] = picture.toldSettings('prefix_caching').filter(isOfWorkerAndOff);
    const isFound = picture.evidence.findings.some(({ ruleId }) => ruleId === 'prefix-caching-off');
    const told = toldOff(picture, noStore.length > 0);
    const cluesFor: readonly ClueFor[] = [
      ...told,
      ...noStore.map((clue) => ({ ...clue, weight: told.length > 0 ? ('sign' as const) : clue.weight })),
    ];
    if (cluesFor.length === 0) return undefined;
    const isCaching = uncached !== undefined || isFound;
    return {
      headline: isCaching
        ? 'Prefix caching is off: engines keep no blocks, so there is nothing to route by'
        : told.length > 0
          ? 'KV events are off: workers publish nothing, and the router knows of no block'
          : 'No KV event reaches the router: workers seem to publish none',
      explanation:
        'The router learns from KV events alone what a worker holds. Without them its picture of the workers stays empty, there is no warning, and requests go by load.',
      cluesFor,
      cluesAgainst: [...workingRouter(picture), ...arriving(picture), ...toldOn(picture, told.length > 0)],
      // Silence alone does not tell whether nobody speaks or nobody hears.
      explains: [
        ...(told.length > 0 ? (['no_stores'] as const) : []),
        'empty_tree',
        'router_blind',
        'nothing_cached',
      ],
      fixes: isCaching ? [cachingFix(picture), ...publishingFixes(picture)] : publishingFixes(picture),
    };
  },
};

function isOfWorkerAndOff({ side, value }: { side: string; value: string }): boolean {
  return side === 'worker' && isFalse(value);
}

function toldOff(picture: Picture, isWithoutStores: boolean): readonly ClueFor[] {
  const weight = isWithoutStores ? 'proof' : 'signature';
  const disabled = picture.signal('events_disabled');
  const silent = picture.toldSettings('publishes_kv_events').filter(isOfWorkerAndOff);
  const uncached = picture.toldSettings('prefix_caching').filter(isOfWorkerAndOff);
  const usesEvents = !picture.toldSettings('router_uses_events').some(({ value }) => isFalse(value));
  return [
    ...(disabled === undefined
      ? []
      : [
          {
            says: `A worker says that KV events or prefix caching are switched off (${counted(disabled.count, 'line')}).`,
            origin: disabled.first,
            weight: weight as ClueFor['weight'],
          },
        ]),
    ...(usesEvents ? silent : []).slice(0, 3).map(({ who, isDefault, origin }) => ({
      says: `${who === '' ? 'A worker' : `Worker ${who}`} publishes no KV events${isDefault ? ' (nothing is set, and off is its default)' : ''}.`,
      origin,
      weight: weight as ClueFor['weight'],
    })),
    ...uncached.slice(0, 3).map(({ who, origin }) => ({
      says: `${who === '' ? 'A worker' : `Worker ${who}`} has prefix caching off.`,
      origin,
      weight: weight as ClueFor['weight'],
    })),
    ...picture.evidence.findings
      .filter(({ ruleId }) => ruleId === 'kv-events-off' || ruleId === 'prefix-caching-off')
      .map(({ message, severity, file, line, column }) => ({
        says: `${message}.`,
        origin: { place: `${file}:${line}:${column}`, text: '' },
        weight: isWithoutStores
          ? ('proof' as const)
          : severity === 'error'
            ? ('signature' as const)
            : ('sign' as const),
      })),
  ];
}

/** Workers that are told to publish: silence then has another reason, as long as none of them is told otherwise. */
function toldOn(picture: Picture, isToldOff: boolean): readonly ClueAgainst[] {
  const [on] = publishers(picture);
  return on === undefined || isToldOff
    ? []
    : [{ says: 'Workers are told to publish KV events.', origin: on.origin, weight: 'weakens' }];
}

/** Where stores come, somebody publishes. */
function arriving(picture: Picture): readonly ClueAgainst[] {
  const { stores, published } = picture;
  const missing = picture.signal('parent_block_not_found');
  return [
    ...(stores !== undefined && stores.applied + stores.parentMissing > 0
      ? [
          {
            says: `${counted(stores.applied + stores.parentMissing, 'store')} reached the router.`,
            origin: stores.origin,
            weight: 'refutes' as const,
          },
        ]
      : []),
    ...(missing === undefined
      ? []
      : [
          {
            says: 'Warnings of missing parents: stores do arrive.',
            origin: missing.first,
            weight: 'refutes' as const,
          },
        ]),
    ...(published !== undefined && published.received > 0
      ? [
          {
            says: `A worker's publisher got ${counted(published.received, 'event')} from its engine.`,
            origin: published.origin,
            weight: 'refutes' as const,
          },
        ]
      : []),
  ];
}
