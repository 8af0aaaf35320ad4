import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import { findsBlocksThrough } from '../../../engines/vllm/transfer.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import type { CauseId, Clue } from '../diagnosis.js';
import type { SettingSighting } from '../evidence.js';
import { cachingFix, publishingFixes } from '../fixes/events.js';
import { wereBusy } from '../measurements/busy-engines.js';
import { engineReuses, percent } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse } from '../measurements/setting-values.js';
import { ownerOf } from '../measurements/sizes.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, findingClue, when } from './clues.js';
import { arrivedStores, noStores, publishers, workingRouter } from './routing-clues.js';

/** Workers that are named one by one. */
const MAX_NAMED = 3;

/** Roles in which an engine hands blocks over or gets them, in the words of vLLM and SGLang. `kv_both` goes by its connector. */
const ROLE = /^(?:prefill|decode|kv_(?:producer|consumer))$/;

/** Causes of engines that do not start or have ended. */
const ENDS: readonly CauseId[] = [
  'settings_refused',
  'library_missing',
  'cache_memory_missing',
  'connector_crashed',
  'program_ended',
];

/** Workers publish no KV events, or cache nothing. */
export const eventsOff: Cause = {
  id: 'events_off',
  concerns: () => true,
  contradictedBy: measuredEvents,
  suspect(measurements: Measurements): Suspicion | undefined {
    const noStore = noStores(measurements);
    const isFound = measurements.evidence.findings.some(({ ruleId }) => ruleId === 'prefix-caching-off');
    const off = switchedOff(measurements, noStore.length > 0);
    const isOff = off.length > 0;
    const cluesFor: readonly ClueFor[] = [
      ...off,
      ...noStore.map((clue): ClueFor => ({ ...clue, weight: isOff ? 'sign' : clue.weight })),
    ];
    if (cluesFor.length === 0) return undefined;
    const isCaching = workersWithout(measurements, 'prefix_caching').length > 0 || isFound;
    const isLeft = isCaching && isLeftOff(measurements);
    return {
      headline: isCaching
        ? `Prefix caching is off${isLeft ? ', as vLLM leaves it for hybrid models' : ''}: engines keep no blocks${hasListener(measurements) ? ', so there is nothing to route by' : ''}`
        : isOff
          ? `KV events are off: workers publish nothing${measurements.seen.eventReader && measurements.seen.router ? ', and the router knows of no block' : ''}`
          : 'No KV event reaches the router: workers seem to publish none',
      explanation:
        'The router learns from KV events alone what a worker holds. Without them its view of the workers stays empty, there is no warning, and requests go by load.',
      cluesFor,
      cluesAgainst: [
        ...workingRouter(measurements),
        ...arriving(measurements),
        // Workers that publish: silence then has another reason, as long as none of them has it switched off.
        ...when(!isOff && publishers(measurements)[0], ({ origin }) =>
          clueAgainst('weakens', 'Workers are configured to publish KV events.', origin),
        ),
      ],
      // From silence alone it is not known whether nobody publishes or nobody receives.
      explains: [...(isOff ? (['no_stores'] as const) : []), 'empty_tree', 'router_blind', 'nothing_cached'],
      // An engine that ends does so for another reason.
      yieldsTo: ENDS,
      ...(isCaching && !isLeft && !hasListener(measurements) ? { mayBeMeant: true } : {}),
      fixes: isCaching
        ? [cachingFix(measurements), ...publishingFixes(measurements)]
        : publishingFixes(measurements),
    };
  },
};

/** Workers that run with a setting switched off. */
function workersWithout(
  measurements: Measurements,
  name: 'prefix_caching' | 'publishes_kv_events',
): readonly SettingSighting[] {
  return measurements
    .runtimeSettings(name)
    .filter(({ side, value }) => side === 'worker' && isFalse(value))
    .slice(0, MAX_NAMED);
}

/**
 * Workers that keep no blocks. One of a prefill and decode pair may well run so, and one whose connector stores blocks elsewhere: where no
 * router looks for its blocks it is none of them.
 */
function cachingOff(measurements: Measurements): readonly SettingSighting[] {
  const findsElsewhere =
    measurements.settings('kv_role').some(({ value }) => ROLE.test(value)) ||
    measurements.settings('kv_connector').some(({ value }) => findsBlocksThrough(value));
  return findsElsewhere && !measurements.seen.eventReader
    ? []
    : workersWithout(measurements, 'prefix_caching');
}

/** Whether vLLM itself left prefix caching off, as it does for hybrid models, and nothing was found while it served. */
function isLeftOff(measurements: Measurements): boolean {
  const { signal, settings, engineHits } = measurements;
  return (
    signal('block_size_changed_by_engine') !== undefined &&
    settings('prefix_caching_left_out').length > 0 &&
    engineHits?.share === 0 &&
    wereBusy(measurements)
  );
}

/** Whether somebody is there to whom events matter: an engine by itself may well publish none. */
function hasListener({ seen }: Measurements): boolean {
  return seen.eventReader || seen.dynamo;
}

/** Blocks that were found, or events that came. */
function measuredEvents(measurements: Measurements): readonly Clue[] {
  const { stores, published } = measurements;
  const caching = workersWithout(measurements, 'prefix_caching');
  return [
    ...findsWhatEnginesHave(measurements),
    ...when(stores !== undefined && stores.applied > 0 && stores, ({ applied, origin }) => ({
      says: `The router applied ${countOf(applied, 'store')}.`,
      origin,
    })),
    ...when(published !== undefined && published.received > 0 && published, ({ received, origin }) => ({
      says: `Publishers got ${countOf(received, 'event')} from their engines.`,
      origin,
    })),
    ...when(caching.length > 0 && engineReuses(measurements), ({ share, origin }) => ({
      says: `Engines had ${percent(share)} of prompts in their caches: they do keep blocks.`,
      origin,
    })),
  ];
}

function switchedOff(measurements: Measurements, isWithoutStores: boolean): readonly ClueFor[] {
  const isHeard = hasListener(measurements);
  const weight = isWithoutStores ? 'proof' : 'signature';
  const usesEvents = !measurements.runtimeSettings('router_uses_events').some(({ value }) => isFalse(value));
  const silent =
    usesEvents && measurements.seen.eventReader ? workersWithout(measurements, 'publishes_kv_events') : [];
  return [
    ...when(isHeard && measurements.signal('events_disabled'), ({ count, first }) =>
      clueFor(
        weight,
        `A worker reports that KV events or prefix caching are switched off (${countOf(count, 'line')}).`,
        first,
      ),
    ),
    ...silent.map((sighting) =>
      clueFor(
        weight,
        `${capitalised(ownerOf(sighting))} publishes no KV events${sighting.isDefault ? ' (nothing is set, and off is its default)' : ''}.`,
        sighting.origin,
      ),
    ),
    ...cachingOff(measurements).map((sighting) =>
      clueFor(
        isHeard ? weight : 'sign',
        `${capitalised(ownerOf(sighting))} has prefix caching off.`,
        sighting.origin,
      ),
    ),
    ...measurements.evidence.findings
      .filter(({ ruleId }) => ruleId === 'kv-events-off' || ruleId === 'prefix-caching-off')
      .map((finding) =>
        findingClue(finding, isWithoutStores ? 'proof' : finding.severity === 'error' ? 'signature' : 'sign'),
      ),
  ];
}

/** Where stores arrive, an engine publishes. */
function arriving(measurements: Measurements): readonly ClueAgainst[] {
  const { published } = measurements;
  return [
    ...arrivedStores(measurements, 'refutes'),
    ...when(measurements.signal('parent_block_not_found'), ({ first }) =>
      clueAgainst('refutes', 'Warnings of missing parents: stores do arrive.', first),
    ),
    ...when(published !== undefined && published.received > 0 && published, ({ received, origin }) =>
      clueAgainst(
        'refutes',
        `A worker's publisher got ${countOf(received, 'event')} from its engine.`,
        origin,
      ),
    ),
  ];
}
