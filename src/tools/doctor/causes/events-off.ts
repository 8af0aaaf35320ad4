import type { ClueAgainst, ClueFor } from '../confidence.js';
import { counted } from '../counted.js';
import { cachingFix, publishingFixes } from '../fixes/events.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse } from '../setting-values.js';
import type { Cause, Suspicion } from './cause.js';
import { workingRouter } from './shared-clues.js';
import { noStores, publishers } from './store-clues.js';

/** Workers publish no KV events, or cache nothing. */
export const eventsOff: Cause = {
  id: 'events_off',
  suspect(measurements: Measurements): Suspicion | undefined {
    const noStore = noStores(measurements);
    const [uncached] = measurements.runtimeSettings('prefix_caching').filter(isOfWorkerAndOff);
    const isFound = measurements.evidence.findings.some(({ ruleId }) => ruleId === 'prefix-caching-off');
    const told = switchedOff(measurements, noStore.length > 0);
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
        'The router learns from KV events alone what a worker holds. Without them its view of the workers stays empty, there is no warning, and requests go by load.',
      cluesFor,
      cluesAgainst: [
        ...workingRouter(measurements),
        ...arriving(measurements),
        ...switchedOn(measurements, told.length > 0),
      ],
      // Silence alone does not tell whether nobody speaks or nobody hears.
      explains: [
        ...(told.length > 0 ? (['no_stores'] as const) : []),
        'empty_tree',
        'router_blind',
        'nothing_cached',
      ],
      fixes: isCaching
        ? [cachingFix(measurements), ...publishingFixes(measurements)]
        : publishingFixes(measurements),
    };
  },
};

function isOfWorkerAndOff({ side, value }: { side: string; value: string }): boolean {
  return side === 'worker' && isFalse(value);
}

function switchedOff(measurements: Measurements, isWithoutStores: boolean): readonly ClueFor[] {
  const weight = isWithoutStores ? 'proof' : 'signature';
  const disabled = measurements.signal('events_disabled');
  const silent = measurements.runtimeSettings('publishes_kv_events').filter(isOfWorkerAndOff);
  const uncached = measurements.runtimeSettings('prefix_caching').filter(isOfWorkerAndOff);
  const usesEvents = !measurements.runtimeSettings('router_uses_events').some(({ value }) => isFalse(value));
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
    ...measurements.evidence.findings
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
function switchedOn(measurements: Measurements, isSwitchedOff: boolean): readonly ClueAgainst[] {
  const [on] = publishers(measurements);
  return on === undefined || isSwitchedOff
    ? []
    : [{ says: 'Workers are told to publish KV events.', origin: on.origin, weight: 'weakens' }];
}

/** Where stores come, somebody publishes. */
function arriving(measurements: Measurements): readonly ClueAgainst[] {
  const { stores, published } = measurements;
  const missing = measurements.signal('parent_block_not_found');
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
